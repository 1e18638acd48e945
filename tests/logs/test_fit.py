from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from shared_data import shared

from btm import ToolMemory
from btm.fallback import FallbackMap
from btm.learning.posterior import Decay
from btm.logs.conversation import NO_RESULT, Conversation, RecordedCall, Skipped
from btm.logs.fit import fit
from btm.logs.identity import Beginnings
from btm.logs.learned import MOST, LearnedFrom
from btm.logs.listening import Listener
from btm.logs.reading import read_conversations
from btm.model import Action, Effect, ErrorKind, ToolCall

MAP = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  get_order:
    effect: read
    fallbacks:
      - {tool: list_orders, coverage: full, arguments: {user_id: "{{ known.user_id }}"}}
  list_orders: {effect: read}
  cancel_order:
    effect: write
    verify: {tool: get_order, arguments: {order_id: "{{ call.order_id }}"}, done_when: "result.status == 'cancelled'"}
  human: {role: escalation}
""")


def recorded(number: int, tool: str, result: Any, **arguments: Any) -> RecordedCall:
    return RecordedCall(ToolCall(tool, arguments, call_id=f"call_{number}"), result)


def conversation(*batches: tuple[RecordedCall, ...], name: str = "c1", digest: str = "") -> Conversation:
    return Conversation(name, f"log:{name}", batches, digest=digest or name)


def learned(*conversations: Conversation | Skipped, fallback_map: FallbackMap = MAP, **options: Any) -> Any:
    return fit(conversations, fallback_map, decay=Decay(), now=1_000.0, **options)


TIMEOUT = "Error: the request timed out after 30 s"
STORY = conversation(
    (recorded(1, "get_order", TIMEOUT, order_id="O1"),),
    (recorded(2, "get_order", TIMEOUT, order_id="O1"),),
    (recorded(3, "list_orders", '[{"order_id": "O1", "status": "pending"}]', user_id="u1"),),
    (recorded(4, "cancel_order", TIMEOUT, order_id="O1"),),
    (recorded(5, "get_order", '{"order_id": "O1", "status": "cancelled"}', order_id="O1"),),
)


def test_a_conversation_teaches_its_attempts_in_order() -> None:
    done = learned(STORY)
    assert {tuple(key): tuple(sums) for key, sums in done.sums.items()} == {
        ("get_order", ErrorKind.TIMEOUT, Action.RETRY, "", 1): (0.0, 1.0),
        ("get_order", ErrorKind.TIMEOUT, Action.SWITCH, "list_orders", 1): (1.0, 0.0),
        ("cancel_order", ErrorKind.TIMEOUT, Action.VERIFY, "get_order", 1): (1.0, 0.0),
    }
    assert (done.conversations, done.calls, done.incidents, done.attempts) == (1, 5, 2, 3)
    assert done.errors == {ErrorKind.TIMEOUT: 3}


def test_fitting_a_log_learns_what_living_through_it_would_have_taught() -> None:
    memory = ToolMemory.open(fallback_map=MAP, mode="observe", half_life_s=math.inf, clock=lambda: 1_000.0)
    answers = {r.call.call_id: r.result for r in STORY.calls}
    with memory:
        for item in STORY.calls:
            call = ToolCall(
                item.call.tool, item.call.arguments, memory.effect_of(item.call.tool), "c1", item.call.call_id
            )
            memory.call(call, lambda tool, arguments, given=answers[item.call.call_id]: given)
        live = {key: (round(b.worked, 9), round(b.n - b.worked, 9)) for key, b in memory.beliefs()}
    assert live == {key: tuple(sums) for key, sums in learned(STORY).sums.items()}


def test_calls_of_one_turn_are_not_answers_to_each_other() -> None:
    done = learned(
        conversation(
            (recorded(1, "get_order", TIMEOUT, order_id="O1"), recorded(2, "get_order", "ok", order_id="O1"))
        )
    )
    assert not done.sums
    assert done.incidents == 1


def test_a_call_without_an_answer_teaches_nothing_and_is_counted() -> None:
    done = learned(
        conversation(
            (recorded(1, "get_order", TIMEOUT, order_id="O1"),),
            (recorded(2, "get_order", NO_RESULT, order_id="O1"),),
        )
    )
    assert (done.unanswered, done.calls, done.attempts) == (1, 2, 0)


def test_the_same_call_id_told_twice_counts_once() -> None:
    failed = (recorded(1, "get_order", TIMEOUT, order_id="O1"),)
    retried = (recorded(2, "get_order", "ok", order_id="O1"),)
    assert learned(conversation(failed, retried, retried)).attempts == 1


def test_ids_that_start_anew_in_every_turn_are_not_taken_for_replays() -> None:
    turns = [
        (RecordedCall(ToolCall("sql", {"q": n}, call_id="0"), "Error: no such column: x"),) for n in range(3)
    ]
    assert learned(conversation(*turns)).calls == 3


def test_an_id_that_comes_again_with_true_where_one_was_is_another_call() -> None:
    calls = [recorded(1, "get_order", "Error: timed out", full=full) for full in (1, True, 1)]
    assert learned(conversation(*((call,) for call in calls))).calls == 2


def test_a_conversation_counts_once_whatever_its_file_is_called() -> None:
    again = STORY._replace(source="copy:1")
    done = learned(STORY, again)
    assert (done.conversations, done.already_fitted) == (1, 1)
    assert learned(STORY, fitted_before=frozenset({STORY.digest})).conversations == 0


def test_effects_come_from_the_map_and_else_from_the_name() -> None:
    ambiguous: Counter[str] = Counter()
    for tool in ("cancel_order", "charge_card", "get_weather"):
        done = learned(
            conversation((recorded(1, tool, TIMEOUT, x=1),), (recorded(2, tool, "ok", x=1),), name=tool)
        )
        ambiguous[tool] = done.incidents
    assert MAP.effect("cancel_order") is Effect.WRITE
    assert ambiguous == {"cancel_order": 1, "charge_card": 1, "get_weather": 1}


def test_what_cannot_be_read_is_kept_for_the_report() -> None:
    done = learned(Skipped("log", 7, "not JSON"), STORY)
    assert [str(s) for s in done.skipped] == ["log:7: not JSON"]
    assert done.conversations == 1


DAY = 86_400.0
MAY = 1_777_600_000.0  # seconds since the epoch


def test_weights_follow_the_time_of_the_attempt() -> None:
    call = ToolCall("get_order", {"order_id": "O1"}, call_id="1", at=MAY)
    again = ToolCall("get_order", {"order_id": "O1"}, call_id="2", at=MAY + DAY)
    told = Conversation(
        "c", "log:1", ((RecordedCall(call, TIMEOUT),), (RecordedCall(again, "fine"),)), digest="d"
    )
    done = fit([told], MAP, decay=Decay(half_life_s=DAY, landmark=MAY), now=MAY + 2 * DAY)
    ((worked, failed),) = done.sums.values()
    assert (worked, failed) == (pytest.approx(2.0), 0.0)


def test_an_attempt_counts_from_when_its_call_ended() -> None:
    call = ToolCall("get_order", {"order_id": "O1"}, call_id="1", at=MAY)
    again = ToolCall("get_order", {"order_id": "O1"}, call_id="2", at=MAY)
    slow = RecordedCall(again, "fine", latency_s=DAY)
    told = Conversation("c", "log:1", ((RecordedCall(call, TIMEOUT),), (slow,)), digest="d")
    done = fit([told], MAP, decay=Decay(half_life_s=DAY, landmark=MAY), now=MAY + 2 * DAY)
    assert [sums[0] for sums in done.sums.values()] == [pytest.approx(2.0)]


def test_what_a_log_dates_after_now_counts_as_of_now() -> None:
    first = ToolCall("get_order", {"order_id": "O1"}, call_id="1", at=MAY + 700 * DAY)
    again = ToolCall("get_order", {"order_id": "O1"}, call_id="2", at=MAY + 700 * DAY)
    slow = RecordedCall(again, "fine", latency_s=1e300)
    told = Conversation("c", "log:1", ((RecordedCall(first, TIMEOUT),), (slow,)), digest="d")
    done = fit([told], MAP, decay=Decay(half_life_s=DAY, landmark=MAY), now=MAY)
    assert list(done.sums.values()) == [[1.0, 0.0]]


def test_calls_of_a_log_without_times_are_taken_to_be_made_now() -> None:
    turns = [
        (RecordedCall(ToolCall("get_order", {"order_id": "O1"}, call_id=str(n), at=float(n)), answer),)
        for n, answer in enumerate([TIMEOUT, TIMEOUT, "fine"])
    ]
    done = fit([conversation(*turns)], MAP, decay=Decay(half_life_s=DAY, landmark=MAY), now=MAY)
    assert all(max(sums) == pytest.approx(1.0, abs=1e-3) for sums in done.sums.values())


def test_what_went_well_before_the_first_failure_changes_nothing() -> None:
    before = [
        (RecordedCall(ToolCall("list_orders", {"user_id": f"u{n}"}, call_id=f"b{n}"), "[1]"),)
        for n in range(30)
    ]
    longer = conversation(*before, *STORY.batches)
    assert learned(longer).sums == learned(STORY).sums


def test_fits_of_parts_merge_into_the_fit_of_the_whole() -> None:
    others = [STORY._replace(conversation_id=f"c{n}", digest=f"d{n}") for n in range(4)]
    whole = learned(Skipped("log", 3, "not JSON"), *others)
    merged = learned(Skipped("log", 3, "not JSON"), *others[:1])
    merged.merge(learned(*others[1:]))
    for name in ("conversations", "calls", "errors", "tool_errors", "actions", "formats", "skipped", "sums"):
        assert getattr(merged, name) == getattr(whole, name)
    assert list(merged.fitted) == list(whole.fitted)


@pytest.mark.parametrize("most", [MOST, 3])
def test_conversations_that_were_learned_from_keep_their_names_and_places_in_memory_and_on_disk(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("btm.logs.learned.MOST", most)
    sources = [
        "a.jsonl:1",
        "a.jsonl:2",
        "b.json#0",
        "b.json#17",
        "odd",
        "x:007",
        "y:",
        "z#12 copy",
        "C:\\log",
    ]

    def note(place: LearnedFrom, digest: str, source: str, calls: int, *begun: str) -> None:
        heard = Listener(MAP, now=1.0).listen(STORY)
        told = replace(heard, turns=(heard.turns[0][:1] * calls,))
        place.note(Conversation("c", source, (), digest=digest), Beginnings([*begun], sure=True), told)

    found = LearnedFrom()
    for number, source in enumerate(sources):
        note(found, f"{number:x}" * 32, source, number)
    note(found, "0" * 32, "another:9", 5)
    assert [(f.digest, f.source, f.calls) for f in found] == [
        (f"{n:x}" * 32, s, n) for n, s in enumerate(sources)
    ]
    assert "3" * 32 in found
    assert "9" * 32 not in found
    more = LearnedFrom()
    note(more, "f" * 32, "a.jsonl:1", 1, "b" * 32, "e" * 32)
    more.extend(found)
    more.extend(found)
    assert [f.source for f in more] == ["a.jsonl:1", "a.jsonl:1", *sources]
    assert "b" * 32 in more
    note(found, "a" * 32, "b:1", 1)
    found.extend(more)
    assert "b" * 32 in found
    assert [f.digest for f in found][-2:] == ["f" * 32, "e" * 32]


@pytest.mark.parametrize(
    "name", ["tau1", "tau2", "intercode/bash-gpt-3.5.jsonl.gz", "intercode/sql-gpt-4.jsonl.gz"]
)
def test_an_answer_that_was_heard_before_comes_to_what_it_comes_to_on_its_own(name: str) -> None:
    listener = Listener(MAP, now=1.0)
    for told in map(listener.listen, conversations(shared(f"data/traces/{name}"))):
        for turn in told.turns:
            for call, outcome, answer in turn:
                fresh = Listener(MAP, now=1.0)
                alone = Conversation("c", "log:1", ((answer._replace(call=call),),))
                ((_, again),) = fresh.listen(alone).outcomes
                assert again == outcome


def test_the_same_words_count_as_an_error_only_where_the_log_marks_them_as_one() -> None:
    words = "The order was shipped on Monday."
    plain = recorded(1, "get_order", words, order_id="O1")
    marked = recorded(2, "get_order", words, order_id="O1")._replace(is_error=True)
    listener = Listener(MAP, now=1.0)
    told = [listener.listen(conversation((answer,))) for answer in (plain, marked, plain, marked)]
    assert [outcome.ok for one in told for _, outcome in one.outcomes] == [True, False, True, False]


def conversations(path: Any) -> Iterator[Conversation]:
    return (found for found in read_conversations([path]) if isinstance(found, Conversation))
