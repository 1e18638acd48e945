import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btm.lab.faults import (
    FAULT_KINDS,
    REPEAT_HEALS,
    Fault,
    FaultSettings,
    Injector,
    NoFaults,
    RandomFaults,
    Shapes,
    Site,
    ToolShape,
    Trigger,
    VirtualClock,
    When,
)
from btm.lab.faults.draw import Draw
from btm.model import Effect, ErrorKind

READ = ToolShape(required=("order_id", "status"), fresh="as_of", compared=("status",))
SHAPES = Shapes(
    {"get_order": READ, "cancel_order": ToolShape(Effect.WRITE)},
    exempt=frozenset({"transfer_to_human"}),
    repairs=frozenset({"refresh_session"}),
)


class Shop:
    """A session whose writes can be counted."""

    def __init__(self) -> None:
        self.cancelled: Counter[str] = Counter()

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        if tool == "cancel_order":
            self.cancelled[arguments["order_id"]] += 1
            return {"order_id": arguments["order_id"], "status": "cancelled"}
        return {"order_id": arguments.get("order_id"), "status": "shipped", "as_of": "2026-01-01T00:00:00Z"}


class Planned:
    """Faults as a test lists them, by tool and by the nth identical call."""

    def __init__(self, faults: Mapping[tuple[str, int], Fault]) -> None:
        self.faults = faults

    def fault(self, site: Site) -> Fault | None:
        return self.faults.get((site.tool, site.nth))


def outcome(call: Injector, tool: str, **arguments: Any) -> str:
    try:
        return repr(call(tool, arguments))
    except Exception as error:  # noqa: BLE001 - whatever came is the outcome
        return f"{type(error).__name__}: {error}"


def run(seed: int, calls: list[tuple[str, str]], **more: Any) -> list[tuple[str, str, str]]:
    plan = RandomFaults(FaultSettings(seed=seed, rate=0.6, **more), "task", SHAPES)
    injector = Injector(Shop().call, plan, shapes=SHAPES)
    return [(tool, order, outcome(injector, tool, order_id=order)) for tool, order in calls]


CALLS = st.lists(
    st.tuples(st.sampled_from(["get_order", "cancel_order"]), st.sampled_from(["W1", "W2", "W3"])),
    max_size=14,
)


@given(st.integers(0, 1_000), CALLS)
@settings(max_examples=40)
def test_the_same_seed_gives_the_same_episode_to_the_byte(seed: int, calls: list[tuple[str, str]]) -> None:
    assert run(seed, calls) == run(seed, calls)


@given(st.integers(0, 1_000), CALLS, CALLS)
@settings(max_examples=40)
def test_the_faults_behind_a_call_do_not_depend_on_the_other_calls(
    seed: int, calls: list[tuple[str, str]], others: list[tuple[str, str]]
) -> None:
    wanted = set(calls)
    mixed: list[tuple[str, str]] = []
    for index in range(max(len(calls), len(others))):
        mixed += [c for c in others[index : index + 1] if c not in wanted]
        mixed += calls[index : index + 1]
    kept = [made for made in run(seed, mixed) if made[:2] in wanted]
    assert undated(kept) == undated(run(seed, calls))


def undated(made: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Leave out the times that answers name: an earlier call that takes its time moves the clock for all."""
    return [(tool, order, re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+", "", text)) for tool, order, text in made]


@given(st.integers(0, 10_000), st.integers(1, 4))
@settings(max_examples=60)
def test_a_failing_call_heals_after_the_maximum_of_consecutive_faults(seed: int, most: int) -> None:
    plan = RandomFaults(
        FaultSettings(seed=seed, rate=1.0, max_consecutive=most, weights=dict.fromkeys(REPEAT_HEALS, 1.0)),
        "t",
        SHAPES,
    )
    injector = Injector(Shop().call, plan, shapes=SHAPES)
    for _ in range(most + 1):
        outcome(injector, "get_order", order_id="W1")
    assert injector.calls[0].failed
    assert not injector.calls[most].failed


def test_every_kind_is_met_somewhere_and_the_rate_is_kept() -> None:
    met: Counter[ErrorKind | None] = Counter()
    for n in range(1_500):
        fault = RandomFaults(FaultSettings(seed=n), "t", SHAPES).fault(
            Site.of("get_order", {"order_id": "W1"})
        )
        met[fault.kind if fault else None] += 1
    assert set(met) == {None, *FAULT_KINDS}
    assert abs(met[None] / 1_500 - 0.6) < 0.04


def test_a_write_meets_no_fault_of_data_and_the_way_to_a_human_stays_open() -> None:
    for n in range(200):
        plan = RandomFaults(FaultSettings(seed=n, rate=1.0), "t", SHAPES)
        fault = plan.fault(Site.of("cancel_order", {"order_id": "W1"}))
        assert fault is not None
        assert fault.kind in (*REPEAT_HEALS, ErrorKind.AUTH_ERROR)
        assert plan.fault(Site.of("transfer_to_human", {})) is None
        assert plan.fault(Site.of("refresh_session", {})) is None


@pytest.mark.parametrize(
    ("trigger", "failing"),
    [
        (Trigger(When.ALWAYS), [1, 2, 3, 4, 5]),
        (Trigger(When.FIRST), [1]),
        (Trigger(When.NTH, n=3), [3]),
        (Trigger(When.PROBABILITY, chance=1.0), [1, 2, 3, 4, 5]),
        (Trigger(When.PROBABILITY, chance=0.0), []),
    ],
)
def test_a_trigger_says_which_repeats_fail(trigger: Trigger, failing: list[int]) -> None:
    plan = RandomFaults(
        FaultSettings(rate=1.0, max_consecutive=None, trigger=trigger, weights={ErrorKind.TIMEOUT: 1.0}), "t"
    )
    struck = [n for n in range(1, 6) if plan.fault(Site.of("get_order", {}, n)) is not None]
    assert struck == failing


def test_a_trigger_by_chance_keeps_the_maximum_of_consecutive_faults() -> None:
    for seed in range(50):
        plan = RandomFaults(
            FaultSettings(
                seed=seed, rate=1.0, max_consecutive=2, trigger=Trigger(When.PROBABILITY, chance=0.9)
            ),
            "t",
        )
        struck = [plan.fault(Site.of("get_order", {}, n)) is not None for n in range(1, 20)]
        assert "111" not in "".join(str(int(s)) for s in struck)


def test_a_write_can_fail_before_it_happened_or_after() -> None:
    happened = set()
    for seed in range(60):
        shop = Shop()
        settings_ = FaultSettings(seed=seed, rate=1.0, weights={ErrorKind.TIMEOUT: 1.0})
        injector = Injector(shop.call, RandomFaults(settings_, "t", SHAPES), shapes=SHAPES)
        outcome(injector, "cancel_order", order_id="W1")
        assert injector.calls[0].happened == bool(shop.cancelled)
        happened.add(injector.calls[0].happened)
    assert happened == {True, False}


@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize("kind", [ErrorKind.TIMEOUT, ErrorKind.SERVER_ERROR, ErrorKind.MALFORMED])
def test_a_lost_response_means_that_the_write_happened(kind: ErrorKind, after: bool) -> None:
    shop = Shop()
    injector = Injector(shop.call, Planned({("cancel_order", 1): Fault(kind, Draw(), after)}), shapes=SHAPES)
    text = outcome(injector, "cancel_order", order_id="W1")
    assert "cancelled'}" not in text
    assert shop.cancelled["W1"] == int(after)


def test_a_login_that_was_renewed_is_accepted() -> None:
    settings_ = FaultSettings(rate=1.0, max_consecutive=None, weights={ErrorKind.AUTH_ERROR: 1.0})
    injector = Injector(Shop().call, RandomFaults(settings_, "t", SHAPES), shapes=SHAPES)
    outcome(injector, "get_order", order_id="W1")
    outcome(injector, "get_order", order_id="W1")
    outcome(injector, "refresh_session")
    assert "shipped" in outcome(injector, "get_order", order_id="W1")
    assert [made.failed for made in injector.calls] == [True, True, False, False]


def test_a_budget_bounds_the_faults_of_an_episode() -> None:
    plan = RandomFaults(FaultSettings(rate=1.0, weights={ErrorKind.TIMEOUT: 1.0}), "t", SHAPES)
    injector = Injector(Shop().call, plan, shapes=SHAPES, budget=2)
    for n in range(6):
        outcome(injector, "get_order", order_id=f"W{n}")
    assert [made.failed for made in injector.calls] == [True, True, False, False, False, False]


def test_a_tools_own_error_passes_through_unchanged() -> None:
    error = KeyError("no such order")

    def call(tool: str, arguments: Mapping[str, Any]) -> Any:
        raise error

    injector = Injector(call, NoFaults())
    with pytest.raises(KeyError) as caught:
        injector("get_order", {})
    assert caught.value is error
    assert injector.calls[0].failed
    assert injector.calls[0].fault is None


def test_time_passes_only_on_the_virtual_clock() -> None:
    clock = VirtualClock()
    injector = Injector(
        Shop().call, Planned({("get_order", 1): Fault(ErrorKind.TIMEOUT, Draw())}), clock=clock
    )
    outcome(injector, "get_order", order_id="W1")
    assert clock.elapsed == 10.0
    outcome(injector, "get_order", order_id="W1")
    assert 10.05 <= clock.elapsed <= 10.4
    with pytest.raises(ValueError, match="cannot wait"):
        clock.sleep(-1)


def test_identical_repeats_are_counted_after_a_failure_only() -> None:
    injector = Injector(
        Shop().call, Planned({("get_order", n): Fault(ErrorKind.TIMEOUT, Draw()) for n in (1, 2)})
    )
    for _ in range(4):
        outcome(injector, "get_order", order_id="W1")
    outcome(injector, "get_order", order_id="W2")
    assert injector.identical_repeats == 2


def test_who_may_know_can_look_ahead_without_calling() -> None:
    shop = Shop()
    plan = Planned({("cancel_order", n): Fault(ErrorKind.TIMEOUT, Draw()) for n in (1, 2)})
    injector = Injector(shop.call, plan, shapes=SHAPES)
    ahead = injector.foresee("cancel_order", {"order_id": "W1"}, 3)
    assert [fault is not None for fault in ahead] == [True, True, False]
    outcome(injector, "cancel_order", order_id="W1")
    assert [f is not None for f in injector.foresee("cancel_order", {"order_id": "W1"}, 2)] == [True, False]
    assert (len(injector.calls), shop.cancelled["W1"]) == (1, 0)
