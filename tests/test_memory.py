"""ToolMemory: the whole path, plain functions, conversations, late reports, and many callers at once."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from core_kit import MAP, NO_MAP, Clock, Tools, call, key, known, memory_of, raising, recounted, stored

from btm import ToolMemory
from btm.errors import FallbackMapError, PolicyError, RefusedCallError, StoreError
from btm.model import SUCCESS, Action, Effect, ErrorKind, Mode, Outcome, ToolCall
from btm.planning.context import Format
from btm.planning.policy import Policies
from btm.runtime import conversations

SLOW = TimeoutError("timed out")
RETRY = key("get_order", "timeout", "retry")


def failing(tool: str, arguments: Mapping[str, Any]) -> Any:
    raise TimeoutError("timed out")


def works(tool: str, arguments: Mapping[str, Any]) -> Any:
    return {"order_id": "o1"}


# -- opening -------------------------------------------------------------------------------------------------------


def test_a_memory_remembers_across_runs(tmp_path: Path) -> None:
    with memory_of(path=tmp_path / "btm.db") as first:
        first.call(call("get_order", "talk", "c1", order_id="o1"), failing)
        first.call(call("get_order", "talk", "c2", order_id="o1"), works)
    with memory_of(path=tmp_path / "btm.db") as second:
        assert known(second) == {RETRY: (1.0, 0.0)}
        assert second.belief(RETRY).worked == 1.0
        assert second.belief(key("get_order", "timeout", "retry", ordinal=2)).n == 0.0


def test_a_memory_opens_with_shipped_and_with_given_files(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("- {id: a, when: 'true', say: always said}\n")
    with ToolMemory.open(None, policies=path, mode="guard") as memory:
        assert memory.mode is Mode.GUARD
        assert "always said" in memory.context("search", "timeout").text
    with ToolMemory.open(None, policies=Policies(), fallback_map=NO_MAP) as memory:
        assert memory.policies.rules == ()


def test_what_is_wrong_at_the_start_is_said_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(FallbackMapError, match="no shipped one"):
        ToolMemory.open(None, fallback_map="nobody")
    with pytest.raises(PolicyError):
        ToolMemory.open(None, policies="nobody")
    with pytest.raises(StoreError):
        ToolMemory.open(tmp_path / "missing" / "btm.db")
    with pytest.raises(ValueError, match="loud"):
        ToolMemory.open(None, mode="loud")
    with pytest.raises(ValueError, match="half_life_s"):
        ToolMemory.open(None, half_life_s=0.0)


def test_closing_twice_is_harmless_and_calls_still_pass_afterwards(tmp_path: Path) -> None:
    memory = memory_of(path=tmp_path / "btm.db")
    memory.close()
    memory.close()
    assert memory.call(call("get_order", order_id="o1"), works).result == {"order_id": "o1"}
    assert not memory.flush()


@pytest.mark.parametrize("beliefs", ["pooled", "flat", "none"])
def test_beliefs_can_be_formed_in_three_ways(beliefs: str) -> None:
    with memory_of(beliefs=beliefs) as memory:
        memory.call(call("get_order", order_id="o1"), failing)
        memory.call(call("get_order", order_id="o1"), works)
        found = memory.belief(RETRY)
    if beliefs == "pooled":  # one success more, on top of what is believed without any
        assert found.alpha / found.mean - found.alpha == pytest.approx(0.35 * (found.alpha - 1) / 0.65)
        assert found.mean > 0.65
    else:
        assert found.mean == pytest.approx({"flat": 2 / 3, "none": 0.65}[beliefs])


# -- plain functions -----------------------------------------------------------------------------------------------


def test_a_wrapped_function_behaves_like_itself() -> None:
    with memory_of(fallback_map=NO_MAP) as memory:

        @memory.wrap
        def add(a: int, b: int = 2) -> int:
            """Add."""
            return a + b

        assert (add.__name__, add.__doc__) == ("add", "Add.")
        assert (add(1), add(1, b=3), add(b=1, a=1)) == (3, 4, 2)
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
            add()  # type: ignore[call-arg]


def test_a_failed_function_raises_its_own_exception_with_the_context_as_a_note() -> None:
    error = TimeoutError("slow")
    with memory_of(fallback_map=NO_MAP) as memory:
        search = memory.wrap(raising(error), name="search", effect="read")
        for _ in range(3):
            with pytest.raises(TimeoutError) as raised:
                search()
            assert raised.value is error
            assert len(error.__notes__) == 1, "one and the same exception does not gather notes"
            assert error.__notes__[0].startswith("<recovery")


def test_a_note_does_not_push_out_the_tools_own() -> None:
    error = TimeoutError("slow")
    error.add_note("look at the cable")
    with memory_of(fallback_map=NO_MAP) as memory, pytest.raises(TimeoutError):
        memory.wrap(raising(error), name="search", effect="read")()
    assert error.__notes__[0] == "look at the cable"
    assert len(error.__notes__) == 2


def test_in_act_mode_wrapped_functions_stand_in_for_each_other() -> None:
    with memory_of(mode="act") as memory:

        @memory.wrap
        def find_user(email: str) -> dict[str, str]:
            return {"user_id": "u1"}

        @memory.wrap
        def get_order(order_id: str) -> dict[str, str]:
            raise PermissionError("403 Forbidden")

        @memory.wrap
        def list_orders(user_id: str) -> list[dict[str, str]]:
            return [{"order_id": "o1", "of": user_id}]

        find_user("a@example.com")
        assert get_order("o1") == {"order_id": "o1", "of": "u1"}


def test_a_refused_function_raises_a_refusal() -> None:
    with memory_of(mode="guard") as memory:
        memory.wrap(lambda order_id: {"status": "open"}, name="get_order")
        cancel = memory.wrap(lambda order_id: failing("", {}), name="cancel")
        with pytest.raises(TimeoutError):
            cancel("o1")
        with pytest.raises(RefusedCallError, match="verify with get_order"):
            cancel("o1")


async def test_async_functions_and_async_callables_are_awaited() -> None:
    class Searcher:
        async def __call__(self, text: str) -> str:
            await asyncio.sleep(0)
            raise TimeoutError(text)

    with memory_of(fallback_map=NO_MAP) as memory:

        @memory.wrap
        async def add(a: int) -> int:
            return a + 1

        assert await add(1) == 2
        search = memory.wrap(Searcher(), effect="read")
        with pytest.raises(TimeoutError) as raised:
            await search("words")
        assert "<recovery" in raised.value.__notes__[0]


def test_partials_and_callable_objects_can_be_wrapped() -> None:
    with memory_of(fallback_map=NO_MAP) as memory:
        assert memory.wrap(partial(lambda a, b: a + b, 1), name="add")(2) == 3
        assert memory.wrap(partial(lambda a, b: a + b, 1))(2) == 3


def test_effects_are_stated_mapped_or_guessed() -> None:
    with memory_of() as memory:
        assert memory.effect_of("cancel") is Effect.WRITE
        assert memory.effect_of("get_weather") is Effect.READ
        assert memory.effect_of("frobnicate") is Effect.WRITE
        assert memory.effect_of("frobnicate", Effect.READ) is Effect.READ


# -- conversations -------------------------------------------------------------------------------------------------


def test_calls_inside_a_conversation_belong_to_it_and_it_ends_with_the_block() -> None:
    with memory_of() as memory:
        with memory.conversation("morning"):
            memory.call(call("get_order", "", order_id="o1"), failing)
        with memory.conversation("evening"):
            memory.call(call("get_order", "", order_id="o1"), works)
        assert memory.flush()
        store: Any = memory._store
        assert [row["conversation"] for row in store.log("calls")] == ["morning", "evening"]
        assert [row["state"] for row in store.log("incidents")] == ["abandoned"]
        assert memory.beliefs() == [], "an answer in another conversation is no attempt"


async def test_tasks_have_conversations_of_their_own() -> None:
    with memory_of() as memory:

        async def talk(name: str) -> None:
            with memory.conversation(name):
                for _ in range(3):
                    await memory.acall(call("get_order", "", order_id="o1"), Tools(get_order=[SLOW]).run)
                    await asyncio.sleep(0)

        await asyncio.gather(*(talk(f"talk{n}") for n in range(5)))
        assert memory.flush()
        store: Any = memory._store
        counts = {
            name: [r["conversation"] for r in store.log("calls")].count(name) for name in ("talk0", "talk4")
        }
        assert counts == {"talk0": 3, "talk4": 3}
        assert sum(b.n for _, b in memory.beliefs()) == 10


def test_calls_without_names_share_this_runs_conversation() -> None:
    with memory_of() as memory:
        memory.call(call("get_order", "", order_id="o1"), failing)
        memory.call(call("get_order", "", order_id="o1"), works)
        assert known(memory) == {RETRY: (1.0, 0.0)}


@pytest.mark.parametrize("same_process", [True, False])
def test_a_conversation_replayed_after_its_end_changes_nothing_that_was_learned(
    same_process: bool, tmp_path: Path
) -> None:
    def talk(memory: ToolMemory) -> None:
        with memory.conversation("talk"):
            for number, invoke in enumerate((failing, works, failing)):
                order = "o1" if number < 2 else "o2"
                memory.call(call("get_order", "", f"c{number}", order_id=order), invoke)

    clock, path = Clock(), tmp_path / "btm.db"
    memory = memory_of(clock, path=path)
    talk(memory)
    assert memory.flush()
    store: Any = memory._store
    learned, rows = stored(store), [store.log(table) for table in ("calls", "attempts", "incidents")]
    assert [row["state"] for row in rows[2]] == ["resolved", "abandoned"]
    if not same_process:
        memory.close()
        memory = memory_of(clock, path=path)
        store = memory._store
    clock.now += 100.0
    talk(memory)
    assert memory.flush()
    assert [store.log(table) for table in ("calls", "attempts", "incidents")] == rows
    assert stored(store) == learned
    assert known(memory) == {RETRY: (1.0, 0.0)}
    memory.close()


def test_an_incident_that_was_left_open_can_be_settled_when_its_conversation_goes_on(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "btm.db"
    with memory_of(clock, path=path) as first:
        first.call(call("get_order", "talk", "c1", order_id="o1"), failing)
    with memory_of(clock, path=path) as second:  # a run that is resumed from before the failed call
        second.call(call("get_order", "talk", "c1", order_id="o1"), failing)
        second.call(call("get_order", "talk", "c2", order_id="o1"), works)
        assert second.flush()
        store: Any = second._store
        assert [row["state"] for row in store.log("incidents")] == ["resolved"]
        assert stored(store) == {RETRY: (1.0, 0.0)} == recounted(store)


# -- watching ------------------------------------------------------------------------------------------------------


def test_a_call_that_something_else_makes_is_watched() -> None:
    with memory_of() as memory:
        begun = memory.begin(call("get_order", order_id="o1"))
        assert begun is not None
        outcome = memory.finish(begun, error=SLOW)
        assert outcome is not None
        assert outcome.kind is ErrorKind.TIMEOUT
        begun = memory.begin(call("get_order", order_id="o1"))
        assert begun is not None
        memory.finish(begun, result="ok")
        assert known(memory) == {RETRY: (1.0, 0.0)}


# -- what the model would see --------------------------------------------------------------------------------------


def test_a_context_can_be_had_without_a_failure() -> None:
    with memory_of() as memory:
        assert "next: retry get_order" in memory.context("get_order", "timeout").text
        assert memory.beliefs() == []
        text = memory.context("cancel", ErrorKind.TIMEOUT, call("cancel", order_id="o1")).text
        assert 'next: verify with get_order {"order_id":"o1"}' in text
        with pytest.raises(ValueError, match="nonsense"):
            memory.context("get_order", "nonsense")


def test_budget_and_form_are_options() -> None:
    with memory_of(form=Format.JSON, budget_tokens=20) as memory:
        assert json.loads(memory.context("get_order", "timeout").text)["error"] == "timeout"


# -- late reports --------------------------------------------------------------------------------------------------


def test_a_report_moves_evidence_in_memory_and_in_the_database_alike() -> None:
    with memory_of(half_life_s=3_600.0, wait_up_to_s=0) as memory:
        memory.call(call("get_order", "talk", "c1", order_id="o1"), failing)
        memory.call(call("get_order", "talk", "c2", order_id="o1"), works)
        assert memory.report("c2", "factual_error", conversation="talk")
        assert known(memory) == {RETRY: (0.0, 1.0)}
        store: Any = memory._store
        assert stored(store) == {RETRY: (0.0, 1.0)} == recounted(store)
        assert not memory.report("c2", "factual_error", conversation="talk")
        assert not memory.report("nobody", "factual_error", conversation="talk")
        assert known(memory) == {RETRY: (0.0, 1.0)}


def test_a_report_about_a_call_of_another_process_leaves_proper_beliefs(tmp_path: Path) -> None:
    clock = Clock()
    here = memory_of(clock, path=tmp_path / "btm.db")
    with memory_of(clock, path=tmp_path / "btm.db") as there:
        there.call(call("get_order", "talk", "c1", order_id="o1"), failing)
        there.call(call("get_order", "talk", "c2", order_id="o1"), works)
    assert here.report("c2", "stale_data", conversation="talk")
    belief = here.belief(RETRY)
    assert 0 <= belief.low <= belief.mean <= belief.high <= 1
    assert stored(here._store) == {RETRY: (0.0, 1.0)}
    here.close()


def test_a_report_without_a_conversation_means_this_run() -> None:
    with memory_of() as memory:
        memory.call(ToolCall("get_order", {}, call_id="mine"), works)
        assert memory.report("mine", "stale_data")


# -- many at once --------------------------------------------------------------------------------------------------


def flaky(threshold: int) -> Callable[[str, Mapping[str, Any]], Any]:
    def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
        if arguments["n"] % threshold:
            raise TimeoutError("timed out")
        return "ok"

    return invoke


def test_sixteen_threads_lose_and_double_nothing(tmp_path: Path) -> None:
    memory = memory_of(path=tmp_path / "btm.db")

    def work(number: int) -> None:
        for n in range(200):
            memory.call(
                call("get_order", f"talk{number}", f"c{n}", order_id="o1", n=0), works if n % 2 else failing
            )

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.flush()
    store: Any = memory._store
    assert len(store.log("calls")) == 3_200
    assert len(store.log("attempts")) == 1_600
    assert known(memory) == {RETRY: (1_600.0, 0.0)} == stored(store) == recounted(store)
    memory.close()


def test_sixteen_threads_in_one_conversation_keep_the_books() -> None:
    memory = memory_of(half_life_s=math.inf)
    invoke = flaky(3)

    def work(number: int) -> None:
        for n in range(200):
            memory.call(call("get_order", "talk", f"{number}.{n}", order_id="o1", n=n % 5), invoke)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.flush()
    store: Any = memory._store
    assert len(store.log("calls")) == 3_200
    assert known(memory) == stored(store) == recounted(store)
    assert sum(s + f for s, f in stored(store).values()) == len(store.log("attempts")) > 0
    memory.close()


@pytest.mark.parametrize("mode", ["advise", "act"])
async def test_two_hundred_calls_at_once_are_each_handled(mode: str) -> None:
    clock = Clock()
    memory = memory_of(clock, mode=mode)
    begun: set[str] = set()

    async def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
        await asyncio.sleep(0)
        if arguments["order_id"] in begun:
            return arguments["order_id"]
        begun.add(arguments["order_id"])
        raise TimeoutError("timed out")

    calls = [call("get_order", f"talk{n % 7}", f"c{n}", order_id=str(n)) for n in range(200)]
    handled = await asyncio.gather(*(memory.acall(c, invoke) for c in calls))
    if mode == "act":
        assert [h.result for h in handled] == [str(n) for n in range(200)]
    else:
        assert all(isinstance(h.error, TimeoutError) for h in handled)
    assert memory.flush()
    store: Any = memory._store
    assert known(memory) == stored(store) == recounted(store)
    assert len(store.log("attempts")) == (200 if mode == "act" else 0)
    memory.close()


# -- bounded -------------------------------------------------------------------------------------------------------


def test_memory_is_bounded_over_thirty_thousand_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "MAX_CONVERSATIONS", 50)
    monkeypatch.setattr("btm.runtime.outcomes.classify", _quick_classifier)
    memory = memory_of(fallback_map=MAP)
    ledger = memory._ledger
    ledger._emit = lambda event: None  # the database is allowed to grow
    replies = (({"status": "open"}, None), ({"user_id": "u"}, None), (None, SLOW), ("text", None))

    def objects_after(first: int, last: int) -> int:
        for n in range(first, last):
            begun = ledger.begin(call("get_order", f"talk{n // 40}", f"c{n}", order_id=str(n % 9)))
            ledger.finish(begun, *replies[n % 4])
        gc.collect()
        return len(gc.get_objects())

    early, late = objects_after(0, 10_000), objects_after(10_000, 30_000)
    assert late < early + 2_000
    assert len(ledger.conversations._known) <= 50
    memory.close()


def _quick_classifier(made: ToolCall, *, error: Exception | None = None, **_: Any) -> Outcome:
    return SUCCESS if error is None else Outcome(ErrorKind.TIMEOUT)


def test_a_very_long_conversation_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("btm.runtime.outcomes.classify", _quick_classifier)
    memory = memory_of()
    ledger = memory._ledger
    ledger._emit = lambda event: None
    for n in range(10_000):
        begun = ledger.begin(call("get_order", "talk", f"c{n}", order_id=str(n)))
        ledger.finish(begun, {"field": n}, SLOW if n % 3 else None)
    conversation = ledger.conversations._known["talk"]
    assert len(conversation.tracker.open_incidents) <= 25
    assert len(conversation.facts.known) <= 300
    memory.close()


def test_an_evicted_conversation_writes_its_abandoned_incidents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "MAX_CONVERSATIONS", 5)
    with memory_of() as memory:
        for n in range(12):
            memory.call(call("get_order", f"talk{n}", "c1", order_id="o1"), failing)
        assert memory.flush()
        store: Any = memory._store
        states = [row["state"] for row in store.log("incidents")]
        assert (states.count("abandoned"), states.count("open")) == (7, 5)


def test_the_actions_of_a_move_are_said_in_words() -> None:
    with memory_of(mode="act") as memory:
        handled = memory.call(call("get_order", order_id="o1"), Tools(get_order=[SLOW, "ok"]))
    assert [move.action for move in handled.trail] == [None, Action.RETRY]
