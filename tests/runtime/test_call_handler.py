"""What happens to one call in each mode, and that btm never breaks the agent or repeats a write."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from core_kit import MAP, Clock, Tools, call, memory_of, raising
from hypothesis import given, settings
from hypothesis import strategies as st

from btm.errors import TemplateError
from btm.fallback import FallbackMap
from btm.memory import ToolMemory
from btm.model import Action, Effect, ErrorKind, ToolCall
from btm.planning.policy import Policies
from btm.runtime.call_handler import REFUSAL_S
from btm.runtime.drivers import Handled

USER = {"user_id": "u1", "email": "a@example.com"}
ORDER = {"order_id": "o1", "status": "open"}
SLOW, LOCKED_OUT, GONE = (
    TimeoutError("timed out"),
    PermissionError("401 Unauthorized: token expired"),
    LookupError("404 order not found"),
)


def handled_by(mode: str, tools: Tools, *calls: ToolCall, **options: Any) -> list[Handled]:
    with memory_of(mode=mode, **options) as memory:
        return [memory.call(c, tools) for c in calls]


def actions(handled: Handled) -> list[str]:
    return [str(move.action) for move in handled.trail if move.action]


# -- modes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["observe", "advise", "guard", "act"])
def test_a_call_that_works_passes_untouched(mode: str) -> None:
    result = object()
    (handled,) = handled_by(mode, Tools(get_order=[result]), call("get_order", order_id="o1"))
    assert handled.result is result
    assert handled.error is None
    assert handled.context is None
    assert handled.served_by == "get_order"


@pytest.mark.parametrize("mode", ["observe", "advise", "guard"])
def test_a_failed_call_gives_the_tools_own_error_object(mode: str) -> None:
    error = TimeoutError("slow")
    (handled,) = handled_by(mode, Tools(get_order=[error]), call("get_order", order_id="o1"))
    assert handled.error is error
    with pytest.raises(TimeoutError) as raised:
        handled.unwrap()
    assert raised.value is error
    assert (handled.context is None) is (mode == "observe")


def test_a_silent_failure_gives_the_result_as_it_came() -> None:
    result: list[Any] = []
    (handled,) = handled_by("advise", Tools(list_orders=[result]), call("list_orders", user_id="u1"))
    assert handled.result is result


def test_guard_refuses_the_repeat_of_a_write_in_doubt() -> None:
    tools = Tools(cancel=[SLOW])
    _, again = handled_by("guard", tools, call("cancel", order_id="o1"), call("cancel", order_id="o1"))
    assert again.refused
    assert again.context is not None
    assert 'not run: cancel {"order_id":"o1"}' in again.context.text
    assert tools.made == ["cancel"]


def test_guard_refuses_the_fourth_identical_call_not_the_third() -> None:
    tools = Tools(get_order=[SLOW])
    calls = handled_by("guard", tools, *[call("get_order", order_id="o1")] * 4)
    assert [handled.refused for handled in calls] == [False, False, False, True]


def test_a_refusal_fades_so_that_a_tool_that_is_healthy_again_can_be_reached() -> None:
    clock, tools = Clock(), Tools(get_order=[SLOW, SLOW, SLOW, ORDER])
    with memory_of(clock, mode="guard") as memory:
        handled = [memory.call(call("get_order", order_id="o1"), tools) for _ in range(4)]
        clock.now += REFUSAL_S + 1
        later = memory.call(call("get_order", order_id="o1"), tools)
    assert [h.refused for h in handled] == [False, False, False, True]
    assert later.result == ORDER


def test_guard_refuses_a_substitute_for_a_write_in_doubt() -> None:
    tools = Tools(cancel=[SLOW], void=["done"])
    handled = handled_by(
        "guard",
        tools,
        call("cancel", order_id="o1"),
        call("void", order_id="o1"),
        call("void", order_id="o2"),
    )
    assert [h.refused for h in handled] == [False, True, False]


def test_guard_lets_other_work_pass() -> None:
    tools = Tools(cancel=[SLOW], set_note=["ok"])
    handled = handled_by("guard", tools, call("cancel", order_id="o1"), call("set_note", text="x"))
    assert not handled[1].refused


def test_guard_lets_a_call_pass_again_after_its_repair() -> None:
    tools = Tools(get_order=[LOCKED_OUT, ORDER], log_in=["ok"])
    first, refused = handled_by(
        "guard", Tools(get_order=[LOCKED_OUT]), *[call("get_order", order_id="o1")] * 2
    )
    assert (first.refused, refused.refused) == (False, True)
    *_, repaired = handled_by(
        "guard", tools, call("get_order", order_id="o1"), call("log_in"), call("get_order", order_id="o1")
    )
    assert repaired.result == ORDER


def test_advise_does_not_refuse() -> None:
    tools = Tools(cancel=[SLOW])
    handled = handled_by("advise", tools, *[call("cancel", order_id="o1")] * 5)
    assert not any(h.refused for h in handled)


# -- act -----------------------------------------------------------------------------------------------------------


def test_act_retries_what_passes_and_waits_before_it() -> None:
    clock, tools = Clock(), Tools(get_order=[SLOW, ORDER])
    (handled,) = handled_by("act", tools, call("get_order", order_id="o1"), clock=clock)
    assert handled.result == ORDER
    assert handled.error is None
    assert actions(handled) == ["retry"]
    assert len(clock.slept) == 1
    assert 0.5 <= clock.slept[0] <= 1.0
    assert handled.trail[1].waited_s == clock.slept[0]


class LimitedError(Exception):
    status_code = 429

    def __init__(self) -> None:
        super().__init__("429 Too Many Requests")
        self.headers = {"Retry-After": "7"}


def test_act_never_comes_back_before_retry_after() -> None:
    clock, tools = Clock(), Tools(get_order=[LimitedError(), ORDER])
    (handled,) = handled_by("act", tools, call("get_order", order_id="o1"), clock=clock)
    assert handled.result == ORDER
    assert handled.trail[0].outcome.retry_after_s == 7.0
    assert clock.slept[0] >= 7.0


def test_act_repairs_then_retries() -> None:
    tools = Tools(get_order=[LOCKED_OUT, ORDER], log_in=["ok"])
    (handled,) = handled_by("act", tools, call("get_order", order_id="o1"))
    assert handled.result == ORDER
    assert tools.made == ["get_order", "log_in", "get_order"]
    assert actions(handled) == ["repair", "repair"]


def test_act_switches_and_picks_what_was_wanted() -> None:
    tools = Tools(
        find_user=[USER],
        get_order=[ConnectionRefusedError("refused")],
        list_orders=[[{"order_id": "o2"}, ORDER]],
    )
    calls = (call("find_user", email="a@example.com"), call("get_order", order_id="o1"))
    handled = handled_by("act", tools, *calls)[1]
    assert handled.result == ORDER
    assert handled.served_by == "list_orders"


def test_act_carries_out_two_calls_in_a_row() -> None:
    row_only = FallbackMap.from_text("""
version: 1
domain: d
tools:
  get_order:
    effect: read
    fallbacks:
      - via:
          - {tool: find_user, arguments: {email: "{{ known.email }}"}, as: user}
          - {tool: list_orders, arguments: {user_id: "{{ user.user_id }}"}}
        coverage: full
        pick: "result[0]"
  list_orders: {effect: read}
  find_user: {effect: read}
  ask: {effect: read}
""")
    tools = Tools(
        ask=[{"email": "a@example.com"}],
        get_order=[PermissionError("403 Forbidden")],
        find_user=[USER],
        list_orders=[[ORDER]],
    )
    handled = handled_by("act", tools, call("ask"), call("get_order", order_id="o1"), fallback_map=row_only)[
        1
    ]
    assert handled.result == ORDER
    assert tools.calls[-1] == ("list_orders", {"user_id": "u1"})
    lacking = Tools(
        ask=[{"email": "a@example.com"}],
        get_order=[PermissionError("403 Forbidden")],
        find_user=[{"name": "no id"}],
        list_orders=[[ORDER]],
    )
    handled = handled_by(
        "act", lacking, call("ask"), call("get_order", order_id="o1"), fallback_map=row_only
    )[1]
    assert lacking.made == ["ask", "get_order", "find_user"], (
        "a row that lacks an argument on the way is not begun again"
    )
    assert isinstance(handled.error, PermissionError)


def test_act_looks_before_it_repeats_a_write_in_doubt() -> None:
    tools = Tools(cancel=[SLOW], get_order=[{"status": "cancelled"}])
    (handled,) = handled_by("act", tools, call("cancel", order_id="o1"))
    assert tools.made == ["cancel", "get_order"]
    assert handled.outcome.ok
    assert handled.served_by == "get_order"
    tools = Tools(cancel=[SLOW, "done"], get_order=[{"status": "open"}])
    with memory_of(mode="act") as memory:
        handled = memory.call(call("cancel", order_id="o1"), tools, available=["cancel", "get_order"])
    assert tools.made == ["cancel", "get_order", "cancel"]
    assert handled.result == "done"


def test_act_leaves_a_write_alone_that_a_look_cannot_settle() -> None:
    tools = Tools(cancel=[SLOW], get_order=[{"colour": "blue"}], void=["done"], log_in=["ok"])
    (handled,) = handled_by("act", tools, call("cancel", order_id="o1"))
    assert tools.made == ["cancel", "get_order"]
    assert handled.error is SLOW
    assert handled.context is not None


def test_act_repeats_an_idempotent_write() -> None:
    tools = Tools(set_note=[SLOW, "ok"])
    (handled,) = handled_by("act", tools, call("set_note", text="x"))
    assert tools.made == ["set_note", "set_note"]
    assert handled.result == "ok"


def test_act_leaves_revising_to_the_agent() -> None:
    tools = Tools(get_order=[GONE])
    (handled,) = handled_by("act", tools, call("get_order", order_id="o9"))
    assert tools.made == ["get_order"]
    assert handled.context is not None
    assert "revise" in handled.context.text


def test_act_gives_up_within_its_moves_and_hands_over() -> None:
    tools = Tools(get_order=[SLOW])
    (handled,) = handled_by("act", tools, call("get_order", order_id="o1"))
    assert handled.error is SLOW
    assert handled.context is not None
    assert len(tools.made) <= 13


def test_only_tools_that_are_there_are_called() -> None:
    tools = Tools(find_user=[USER], get_order=[PermissionError("403 Forbidden")])
    with memory_of(mode="act") as memory:
        memory.call(call("find_user", email="a@example.com"), tools)
        memory.call(call("get_order", order_id="o1"), tools, available=["get_order", "find_user"])
    assert set(tools.made) == {"find_user", "get_order"}


def test_sync_and_async_do_the_same() -> None:
    def run(asynchronous: bool) -> tuple[list[tuple[str, dict[str, Any]]], list[float], list[str]]:
        clock = Clock()
        tools = Tools(get_order=[SLOW, SLOW, ORDER], cancel=[SLOW, "done"], log_in=["ok"])
        calls = [call("get_order", order_id="o1"), call("cancel", order_id="o1")]
        with memory_of(clock, mode="act") as memory:
            if asynchronous:

                async def all_calls() -> list[Handled]:
                    return [await memory.acall(c, tools.run) for c in calls]

                handled = asyncio.run(all_calls())
            else:
                handled = [memory.call(c, tools) for c in calls]
        return tools.calls, clock.slept, [str(h.outcome.kind) for h in handled]

    assert run(asynchronous=True) == run(asynchronous=False)


# -- a write is never done twice by btm ----------------------------------------------------------------------------

WRITE_MAPS = st.fixed_dictionaries(
    {
        "verify": st.sampled_from(("yes", "blind", "no")),
        "idempotent": st.booleans(),
        "repair": st.booleans(),
        "substitute": st.booleans(),
        "second_substitute": st.booleans(),
        "row": st.booleans(),
        "substitute_verify": st.booleans(),
    }
)


def write_map(has: Mapping[str, Any]) -> FallbackMap:
    look = 'verify: {tool: look, arguments: {}, done_when: "%s"}, '
    done = {"yes": look % "result.done", "blind": look % "result.nothing", "no": ""}[has["verify"]]
    offers = []
    if has["substitute"]:
        offers.append("{tool: other, coverage: full}")
    if has["second_substitute"]:
        offers.append("{tool: third, coverage: full}")
    if has["row"]:
        offers.append("{via: [half, other_half], coverage: full}")
    return FallbackMap.from_text(f"""
version: 1
domain: d
tools:
  act: {{effect: write, takes: [], idempotent: {str(has["idempotent"]).lower()}, {done}
        repairs: [{"{on: [timeout, server_error, auth_error, unknown], tool: mend}" if has["repair"] else ""}],
        fallbacks: [{", ".join(offers)}]}}
  other: {{effect: write, takes: [], {look % "result.done" if has["substitute_verify"] else ""}}}
  third: {{effect: write, takes: []}}
  half: {{effect: write, takes: []}}
  other_half: {{effect: write, takes: []}}
  mend: {{role: repair, takes: []}}
  look: {{effect: read, takes: []}}
""")


class Server:
    """Tools that count what was really done. Every failure of a write is drawn: did it happen or not?"""

    DONE = ("other", "third", "other_half", "act")

    def __init__(self, rng: random.Random, reliable: float) -> None:
        self.rng = rng
        self.reliable = reliable
        self.effects: dict[str, int] = {}

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        if tool == "look":
            if self.rng.random() < 0.2:
                raise TimeoutError("timed out")
            return {"done": any(self.effects.get(name) for name in self.DONE)}
        if self.rng.random() < self.reliable:
            self.effects[tool] = self.effects.get(tool, 0) + 1
            return "done"
        happened, error = self.rng.choice(
            [
                (False, PermissionError("401 Unauthorized")),
                (False, ConnectionRefusedError("connection refused")),
                (False, TimeoutError("timed out")),
                (True, TimeoutError("timed out")),
                (True, ConnectionResetError("connection reset by peer")),
                (True, RuntimeError("500 Internal Server Error")),
                (True, RuntimeError("503 Service Unavailable")),
                (True, RuntimeError("something odd")),
                (False, RuntimeError("something odd")),
            ]
        )
        if happened:
            self.effects[tool] = self.effects.get(tool, 0) + 1
        raise error


POLICIES = [
    Policies.load(),
    Policies(),
    Policies.from_text("- {id: odd, when: 'call.nobody', say: x, forbid: [retry]}"),
]


@settings(max_examples=300)
@given(
    WRITE_MAPS,
    st.integers(0, 2**32),
    st.sampled_from((0.0, 0.3, 0.7)),
    st.sampled_from(POLICIES),
    st.booleans(),
)
def test_a_write_happens_at_most_once_for_one_call_of_the_agent(
    has: Mapping[str, Any], seed: int, reliable: float, policies: Policies, exploring: bool
) -> None:
    server = Server(random.Random(seed), reliable)
    explore = random.Random(seed) if exploring else None
    with memory_of(mode="act", fallback_map=write_map(has), policies=policies, explore=explore) as memory:
        memory.call(ToolCall("act", {}, Effect.WRITE, "talk"), server)
    if has["idempotent"]:
        assert sum(n for tool, n in server.effects.items() if tool not in ("act", "mend", "half")) <= 1
    else:
        done = {tool: n for tool, n in server.effects.items() if tool in Server.DONE}
        assert sum(done.values()) <= 1, server.effects
    assert server.effects.get("half", 0) <= 1


@settings(max_examples=150)
@given(WRITE_MAPS, st.integers(0, 2**32), st.sampled_from((0.0, 0.3)), st.integers(2, 4))
def test_a_write_happens_at_most_once_for_each_time_the_agent_asks(
    has: Mapping[str, Any], seed: int, reliable: float, asks: int
) -> None:
    server = Server(random.Random(seed), reliable)
    with memory_of(mode="act", fallback_map=write_map({**has, "idempotent": False})) as memory:
        made = [memory.call(ToolCall("act", {}, Effect.WRITE, "talk"), server) for _ in range(asks)]
    asked = sum(1 for handled in made if not handled.refused)
    assert sum(n for tool, n in server.effects.items() if tool in Server.DONE) <= asked


# -- control flow --------------------------------------------------------------------------------------------------


def _graph_signal() -> Exception:
    made = type("GraphBubbleUp", (Exception,), {"__module__": "langgraph.errors"})
    return made("interrupt")  # type: ignore[no-any-return]


@pytest.mark.parametrize("mode", ["observe", "act"])
@pytest.mark.parametrize(
    "signal", [KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit(), _graph_signal()], ids=repr
)
def test_control_flow_passes_and_teaches_nothing(mode: str, signal: BaseException) -> None:
    with memory_of(mode=mode) as memory:
        with pytest.raises(type(signal)) as passed:
            memory.call(call("get_order", order_id="o1"), raising(signal))
        assert passed.value is signal
        assert memory.call(call("get_order", order_id="o1"), Tools(get_order=[ORDER])).outcome.ok
        assert memory.flush()
        assert memory.beliefs() == []
        assert len(memory._store.log("calls")) == 1  # type: ignore[attr-defined]
        assert memory._store.log("incidents") == []  # type: ignore[attr-defined]


def test_an_interrupt_during_a_recovery_keeps_what_was_learned_before_it() -> None:
    with memory_of(mode="act") as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.call(call("get_order", order_id="o1"), Tools(get_order=[SLOW, KeyboardInterrupt()]))
        assert memory.flush()
        assert len(memory._store.log("calls")) == 1  # type: ignore[attr-defined]


# -- btm never breaks the agent ------------------------------------------------------------------------------------

Breaking = Callable[[ToolMemory, pytest.MonkeyPatch], None]


def _classifier(memory: ToolMemory, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("btm.runtime.outcomes.classify", raising(RuntimeError("classifier")))


def _ledger_begin(memory: ToolMemory, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory._ledger, "begin", raising(RuntimeError("begin")))


def _planner(memory: ToolMemory, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("btm.planning.planner.Planner.plan", raising(RuntimeError("planner")))


def _policies(memory: ToolMemory, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("btm.planning.policy.Policies.judge", raising(TemplateError("policy")))


def _map(memory: ToolMemory, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("btm.fallback.FallbackMap.candidates", raising(TemplateError("map")))


def _verifier(memory: ToolMemory, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("btm.fallback.FallbackMap.done", raising(TemplateError("done_when")))


def _cross_check(memory: ToolMemory, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("btm.runtime.cross_check.SecondSources.before", raising(RuntimeError("cross-check")))
    patch.setattr("btm.runtime.cross_check.SecondSources.behind", raising(RuntimeError("cross-check")))


def _context(memory: ToolMemory, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("btm.planning.context.render", raising(RuntimeError("template")))


def _facts(memory: ToolMemory, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory._ledger, "known", raising(RuntimeError("facts")))


def _store(memory: ToolMemory, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory._store, "write", raising(OSError("disk full")))


BREAKS = [
    _classifier,
    _ledger_begin,
    _planner,
    _policies,
    _map,
    _verifier,
    _cross_check,
    _context,
    _facts,
    _store,
]


@pytest.mark.parametrize("mode", ["observe", "advise", "guard", "act"])
@pytest.mark.parametrize("broken", BREAKS, ids=lambda f: f.__name__.strip("_"))
def test_whatever_fails_in_btm_the_tools_own_answer_passes(
    broken: Breaking, mode: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    result, error = object(), PermissionError("403 Forbidden")
    tools = Tools(
        find_user=[result], get_order=[error], list_orders=[ConnectionRefusedError("refused")], human=["ok"]
    )
    memory = memory_of(mode=mode)
    broken(memory, monkeypatch)
    with caplog.at_level(logging.WARNING, "btm"):
        for _ in range(3):
            assert memory.call(call("find_user", email="e"), tools).result is result
            handled = memory.call(call("get_order", order_id="o1"), tools)
            assert handled.error is error or handled.refused
            assert handled.result is None
    for part in {record.getMessage() for record in caplog.records}:
        assert [r.getMessage() for r in caplog.records].count(part) == 1, "one warning, not one a call"
    monkeypatch.undo()
    memory.close()


@pytest.mark.parametrize("broken", BREAKS, ids=lambda f: f.__name__.strip("_"))
def test_whatever_fails_in_btm_no_write_is_done_twice(
    broken: Breaking, monkeypatch: pytest.MonkeyPatch
) -> None:
    switches = ("repair", "substitute", "second_substitute", "row", "substitute_verify")
    everything = {"verify": "yes", "idempotent": False, **dict.fromkeys(switches, True)}
    for seed in range(20):
        memory = memory_of(mode="act", fallback_map=write_map(everything))
        broken(memory, monkeypatch)
        server = Server(random.Random(seed), 0.2)
        memory.call(ToolCall("act", {}, Effect.WRITE, "talk"), server)
        assert sum(n for tool, n in server.effects.items() if tool in Server.DONE) <= 1
        monkeypatch.undo()
        memory.close()


def test_an_unclassified_error_is_never_taken_for_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    error = TimeoutError("slow")
    with memory_of(mode="act") as memory:
        seen: list[str] = []

        def sometimes(*arguments: Any, **named: Any) -> Any:
            from btm.classify import classify

            seen.append("called")
            if len(seen) > 1:
                raise RuntimeError("classifier")
            return classify(*arguments, **named)

        monkeypatch.setattr("btm.runtime.outcomes.classify", sometimes)
        handled = memory.call(call("get_order", order_id="o1"), Tools(get_order=[error]))
        assert handled.error is error
        assert not handled.outcome.ok
        monkeypatch.undo()


class Hostile:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("do not look at me")


@pytest.mark.parametrize("mode", ["advise", "act"])
def test_a_result_that_cannot_be_looked_at_passes(mode: str) -> None:
    result = Hostile()
    with memory_of(mode=mode) as memory:
        same = memory.call(call("get_order", order_id="o1"), lambda *_: result).result is result
    assert same


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("mode", ["advise", "act"])
def test_an_error_that_cannot_be_read_passes(mode: str) -> None:
    error = UnspeakableError()
    (handled,) = handled_by(mode, Tools(charge=[error]), call("charge", effect=Effect.WRITE))
    assert handled.error is error


def test_a_failed_read_of_an_order_is_classified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (handled,) = handled_by("advise", Tools(get_order=[GONE]), call("get_order", order_id="o1"))
    assert handled.outcome.kind is ErrorKind.NOT_FOUND
    assert handled.trail[0].action is None
    assert MAP.effect("get_order") is Effect.READ
    assert Action.RETRY not in [move.action for move in handled.trail]


class CountingClock(Clock):
    """A clock that counts how often it was read."""

    read = 0

    def __call__(self) -> float:
        self.read += 1
        return super().__call__()


def test_a_failing_call_reads_the_clock_as_it_begins_as_it_ends_and_for_its_plan() -> None:
    clock = CountingClock()
    with memory_of(clock) as memory:
        before = clock.read
        handled = memory.call(call("get_order", order_id="o1", user_id="u1"), raising(SLOW))
        assert clock.read - before == 3
    assert handled.context is not None
