"""What is learned as it happens: once, under one lock, and the same in memory and in the database."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from core_kit import MAP, NO_MAP, Clock, Tools, call, key, known, memory_of, recounted, stored
from hypothesis import given, settings
from hypothesis import strategies as st

from btm.learning.posterior import Decay, Priors, pooled
from btm.memory import ToolMemory
from btm.model import Effect, ErrorKind, ToolCall
from btm.runtime import conversations
from btm.runtime.drivers import Reply
from btm.runtime.ledger import Ledger
from btm.store import CallEvent, Event, IncidentEvent, Snapshot

SLOW = Reply(error=TimeoutError("timed out"))


class Watched:
    """A ledger with everything that it handed to the writer."""

    def __init__(self, half_life_s: float = float("inf"), **options: Any) -> None:
        self.clock = Clock()
        self.events: list[Event] = []
        self.ledger = Ledger(
            Snapshot(Decay(half_life_s, self.clock.now), Priors(), b"key"),
            options.pop("fallback_map", MAP),
            clock=self.clock,
            emit=self.events.append,
            believe=pooled,
            **options,
        )

    def __call__(self, made: ToolCall, reply: Reply = Reply("ok")) -> Any:  # noqa: B008 - frozen
        begun = self.ledger.begin(made)
        self.clock.now += 1.0
        return self.ledger.finish(begun, reply.result, reply.error)

    @property
    def calls(self) -> list[CallEvent]:
        return [event for event in self.events if isinstance(event, CallEvent)]


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_a_finished_call_is_handed_over_with_what_it_taught(watched: Watched) -> None:
    failed = watched(call("get_order", "talk", "c1", order_id="o1"), SLOW)
    assert failed.outcome.kind is ErrorKind.TIMEOUT
    assert failed.incident is not None
    watched(call("get_order", "talk", "c2", order_id="o1"))
    first, second = watched.calls
    assert (first.attempts, first.latency_s) == ((), 1.0)
    assert [i.state for i in first.incidents] == ["open"]
    assert [a.key for a in second.attempts] == [key("get_order", "timeout", "retry")]
    assert [i.state for i in second.incidents] == ["resolved"]
    assert first.fingerprint == second.fingerprint


def test_the_same_id_in_one_conversation_counts_once(watched: Watched) -> None:
    watched(call("get_order", "talk", "c1", order_id="o1"), SLOW)
    watched(call("get_order", "talk", "c2", order_id="o1"), SLOW)
    again = watched(call("get_order", "talk", "c2", order_id="o1"), SLOW)
    assert again.outcome.kind is ErrorKind.TIMEOUT
    assert again.incident is not None, "a replay still gets its context"
    assert len(watched.calls) == 2
    assert [b.n for _, b in watched.ledger.beliefs()] == [1.0]
    watched(call("get_order", "other talk", "c2", order_id="o1"), SLOW)
    assert len(watched.calls) == 3


def test_two_watchers_of_one_call_teach_once(watched: Watched) -> None:
    watched(call("get_order", "talk", "c1", order_id="o1"), SLOW)
    same = call("get_order", "talk", "c2", order_id="o1")
    one, two = watched.ledger.begin(same), watched.ledger.begin(same)
    watched.ledger.finish(one, error=SLOW.error)
    watched.ledger.finish(two, error=SLOW.error)
    assert len(watched.calls) == 2
    assert [b.n for _, b in watched.ledger.beliefs()] == [1.0]


def test_a_replayed_call_does_not_move_the_order_of_calls() -> None:
    watched = Watched(fallback_map=NO_MAP)
    watched(ToolCall("seen", {}, Effect.READ, "talk", "c0"))
    watched(ToolCall("get_order", {}, Effect.READ, "talk", "c1"), SLOW)
    watched(ToolCall("seen", {}, Effect.READ, "talk", "c0"))  # a resumed run comes by again
    watched(ToolCall("list_orders", {}, Effect.READ, "talk", "c2"))
    assert [b.n for _, b in watched.ledger.beliefs()] == [1.0], "it is still the very next call"


def test_arguments_are_kept_as_a_keyed_hash_only(watched: Watched) -> None:
    watched(call("get_order", "talk", "c1", order_id="secret-order"))
    (event,) = watched.calls
    assert event.arguments is None
    assert "secret" not in event.fingerprint
    assert len(event.fingerprint) == 32


def test_stored_arguments_are_redacted_and_bounded() -> None:
    watched = Watched(store_arguments=True)
    watched(call("get_order", "talk", "c1", order_id="o1", password="hunter22", note="x" * 100_000))
    kept = watched.calls[0].arguments
    assert kept is not None
    assert "o1" in kept
    assert "hunter22" not in kept
    assert len(kept) <= 4_000


def test_details_are_redacted(watched: Watched) -> None:
    watched(call("get_order", "talk", "c1"), Reply(error=RuntimeError("login failed: password=hunter22")))
    assert "hunter22" not in watched.calls[0].outcome.detail


def test_ending_a_conversation_abandons_its_incidents_and_forgets_its_facts(watched: Watched) -> None:
    watched(call("find_user", "talk", "c1"), Reply({"user_id": "u1"}))
    watched(call("get_order", "talk", "c2", order_id="o1"), SLOW)
    assert watched.ledger.known("talk")["user_id"] == "u1"
    watched.ledger.conversations.end("talk")
    ended = watched.events[-1]
    assert isinstance(ended, IncidentEvent)
    assert [i.state for i in ended.incidents] == ["abandoned"]
    assert dict(watched.ledger.known("talk")) == {}
    watched.ledger.conversations.end("never seen")
    assert watched.events[-1] is ended


def test_the_conversation_longest_unused_makes_room(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "MAX_CONVERSATIONS", 3)
    watched(call("get_order", "old", "c1", order_id="o1"), SLOW)
    for n in range(2):
        watched(call("get_order", f"talk{n}", "c1"))
    watched(call("get_order", "old", "c2", order_id="o2"), SLOW)  # used again
    watched(call("get_order", "talk2", "c1"))
    assert [e for e in watched.events if isinstance(e, IncidentEvent)] == [], "talk0 had nothing open"
    for n in range(3, 6):
        watched(call("get_order", f"talk{n}", "c1"))
    (ended,) = [e for e in watched.events if isinstance(e, IncidentEvent)]
    assert {i.conversation for i in ended.incidents} == {"old"}
    assert {i.state for i in ended.incidents} == {"abandoned"}


def test_a_call_in_flight_when_its_conversation_ends_is_still_taken_in(watched: Watched) -> None:
    begun = watched.ledger.begin(call("get_order", "talk", "c1", order_id="o1"))
    watched.ledger.conversations.end("talk")
    assert watched.ledger.finish(begun, error=SLOW.error).incident is not None
    assert len(watched.calls) == 1


def test_looking_at_a_conversation_that_is_not_followed_does_no_harm(watched: Watched) -> None:
    assert watched.ledger.would_answer(call("get_order", "nobody", "c1")) is None
    assert watched.ledger.incident("nobody", "i") is None


def test_weights_are_rebased_in_a_process_that_runs_for_long() -> None:
    watched = Watched(half_life_s=60.0)
    for n in range(2_000):  # 1,000 half-lives: 2^1000 would be next to overflow
        watched(call("get_order", "talk", f"a{n}", order_id="o1"), SLOW if n % 2 == 0 else Reply("ok"))
        watched.clock.now += 30.0
    ((_, belief),) = watched.ledger.beliefs()
    assert belief.worked == pytest.approx(2.0 ** (-30 / 60) / (1 - 2.0 ** (-62 / 60)), rel=0.01)


def test_health_is_over_all_conversations(watched: Watched) -> None:
    for n in range(4):
        watched(call("get_order", f"talk{n}", "c1", order_id="o1"), SLOW)
    assert watched.ledger.conditions.lately("get_order", watched.ledger.now())[0].startswith(
        "failed 4 of its last 4 calls"
    )


def test_an_event_is_handed_over_in_the_order_in_which_it_was_learned() -> None:
    watched = Watched()
    order: list[str] = []
    learned: list[str] = []
    original = watched.ledger._credit.give

    def give(attempts: Any, now: float) -> None:
        learned.append(threading.current_thread().name)
        original(attempts, now)

    watched.ledger._credit.give = give  # type: ignore[method-assign]
    watched.ledger._emit = lambda event: order.append(threading.current_thread().name)

    def work(number: int) -> None:
        for n in range(200):
            watched(
                call("get_order", f"talk{number}", f"c{n}", order_id=str(n % 3)),
                SLOW if n % 2 else Reply("ok"),
            )

    threads = [threading.Thread(target=work, args=(n,), name=str(n)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert order == learned


# -- the same in memory, in the database, and counted by hand ------------------------------------------------------

ANSWERS = st.sampled_from(
    ("ok", "ok", "timed out", "401 Unauthorized", "404 not found", "503 unavailable", "odd")
)
MOVES = st.lists(
    st.tuples(
        st.sampled_from(("get_order", "list_orders", "find_user", "cancel", "void", "log_in", "human", "stranger")),
        st.sampled_from(("o1", "o2")),
        ANSWERS,
        st.sampled_from(("talk", "other talk")),
        st.integers(0, 400_000),
        st.integers(0, 12),
    ),
    max_size=30,
)  # fmt: skip
Moves = list[tuple[str, str, str, str, int, int]]


def play(memory: ToolMemory, clock: Clock, moves: Moves, ids: str = "c") -> None:
    """Make calls; now and then one comes again with the id of an earlier one."""
    for number, (tool, argument, answer, conversation, pause, back) in enumerate(moves):
        clock.now += pause
        call_id = f"{ids}{number - 1 if back == 0 and number else number}"
        reply: Any = {"status": "cancelled"} if answer == "ok" else RuntimeError(answer)
        memory.call(call(tool, conversation, call_id, order_id=argument), Tools(**{tool: [reply]}))


def approx(counts: dict[Any, tuple[float, float]]) -> dict[Any, Any]:
    return {k: pytest.approx(v, abs=1e-9) for k, v in counts.items() if max(v) > 1e-12}


@settings(max_examples=60)
@given(MOVES, st.sampled_from((float("inf"), 86_400.0)), st.sampled_from(("observe", "act")))
def test_evidence_is_the_same_in_memory_in_the_database_and_recounted(
    moves: Moves, half_life: float, mode: str
) -> None:
    clock = Clock()
    memory = memory_of(clock, half_life_s=half_life, mode=mode)
    play(memory, clock, moves)
    assert memory.flush()
    store: Any = memory._store
    now = store.decay.scale(clock())
    table = stored(store)
    assert {k: approx({k: v})[k] for k, v in table.items() if max(v) > 1e-12} == {
        k: v for k, v in recounted(store).items() if max(v) > 1e-12
    }
    in_table = {k: (s * now, f * now) for k, (s, f) in table.items()}
    assert approx(in_table) == {k: v for k, v in known(memory).items() if max(v) > 1e-12}
    memory.close()


@settings(max_examples=30)
@given(MOVES)
def test_the_same_run_twice_leaves_the_same_bytes(moves: Moves) -> None:
    def run() -> str:
        clock = Clock()
        memory = memory_of(clock, half_life_s=3_600.0, mode="act", explore=random.Random(3))
        contexts = []
        for number, (tool, argument, answer, conversation, pause, _) in enumerate(moves):
            clock.now += pause / 1_000
            reply: Any = {"user_id": "u1"} if answer == "ok" else RuntimeError(answer)
            handled = memory.call(
                call(tool, conversation, f"c{number}", order_id=argument),
                Tools(
                    get_order=[reply],
                    list_orders=[reply],
                    find_user=[reply],
                    cancel=[reply],
                    void=[reply],
                    log_in=[reply],
                    human=[reply],
                    stranger=[reply],
                ),
            )
            contexts.append(handled.context.text if handled.context else "")
            if number % 7 == 3:
                memory.flush()
        memory._ledger.conversations.end_all()
        assert memory.flush()
        store: Any = memory._store
        rows = [store.log(table) for table in ("calls", "attempts", "incidents")]
        text = json.dumps([contexts, rows, [(list(k), s, f) for k, s, f in store.evidence()]])
        memory.close()
        return text

    assert run() == run()


def test_a_clock_that_is_set_back_does_not_make_evidence_count_more_than_once(tmp_path: Path) -> None:
    clock, tools = Clock(), Tools(get_order=[TimeoutError("timed out"), {"order_id": "o1"}])
    path = tmp_path / "btm.db"
    with memory_of(clock, path=path, half_life_s=86_400.0) as memory:
        memory.call(call("get_order", order_id="o1"), tools)
        memory.call(call("get_order", order_id="o1"), tools)
        clock.now -= 60 * 86_400.0
        ((_, belief),) = memory.beliefs()
    assert belief.n == pytest.approx(1.0)
    with memory_of(clock, path=path, half_life_s=86_400.0) as memory:
        ((_, belief),) = memory.beliefs()
    assert belief.n == pytest.approx(1.0)


# -- the same call again -------------------------------------------------------------------------------------------


def test_a_call_replayed_after_its_conversation_ended_teaches_nothing(watched: Watched) -> None:
    watched(call("get_order", "talk", "c1", order_id="o1"), SLOW)
    watched(call("get_order", "talk", "c2", order_id="o1"))
    watched.ledger.conversations.end("talk")
    events = len(watched.events)
    for call_id, reply in (("c1", SLOW), ("c2", Reply("ok"))):
        again = watched(call("get_order", "talk", call_id, order_id="o1"), reply)
        assert again.outcome.ok is (call_id == "c2")
        assert again.incident is None
    watched(call("get_order", "talk", "c3", order_id="o1"))  # new, and no answer to what was settled before
    watched.ledger.conversations.end("talk")
    assert len(watched.events) == events + 1
    assert [b.n for _, b in watched.ledger.beliefs()] == [1.0]


def test_a_conversation_may_go_on_under_its_name_with_new_calls(watched: Watched) -> None:
    watched(call("get_order", "talk", "c1", order_id="o1"), SLOW)
    watched.ledger.conversations.end("talk")
    assert watched(call("get_order", "talk", "c2", order_id="o1"), SLOW).incident is not None
    watched(call("get_order", "talk", "c3", order_id="o1"))
    assert [b.n for _, b in watched.ledger.beliefs()] == [1.0]
