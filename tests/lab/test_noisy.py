"""The scenario that can show harm: any fault on any call, also where it does none."""

from __future__ import annotations

import pytest

from btm.errors import EvaluationError
from btm.lab.faults import FAULT_KINDS, RAISED, FaultSettings, Injector, RandomFaults
from btm.lab.metrics import Episode
from btm.lab.net import net_of
from btm.lab.report import command_line, document
from btm.lab.request import Request
from btm.lab.runner import evaluate
from btm.lab.scenarios import Scenario
from btm.model import ErrorKind

ORDER = {"order_id": "W1", "status": "pending", "items": [1, 2, 3], "updated_at": "2025-12-31", "total": 12.5}


def episode(arm: str, task: str, *, solved: bool, kind: ErrorKind = ErrorKind.STALE_DATA) -> Episode:
    return Episode(arm, "noisy", task, frozenset({kind}), solved, False, 3, 0, 0, 1.0)


def test_what_is_gained_is_held_against_what_is_lost_by_kind() -> None:
    fate = {"t1": (True, True), "t2": (True, False), "t3": (False, True), "t4": (False, True)}
    episodes = [
        episode(arm, task, solved=f[n]) for task, f in fate.items() for n, arm in enumerate(("bare", "btm"))
    ]
    whole, stale = net_of(episodes, "noisy")
    assert (whole.solved_before, whole.gained, whole.lost, whole.net) == (2, 2, 1, 1)
    assert (stale.fault_kind, stale.net) == (ErrorKind.STALE_DATA, 1)


def test_seeds_run_one_after_the_other_and_the_command_names_them() -> None:
    faults = FaultSettings(weights={ErrorKind.STALE_DATA: 1.0})
    request = Request(scenarios=(Scenario.NOISY,), arms=("bare", "btm"), faults=faults, tasks=4, seeds=(0, 1))
    made = document(evaluate(request))
    assert made["seeds"] == [0, 1]
    assert {row["episodes"] for row in made["net"] if row["fault_kind"] is None} == {8}
    assert "--seed 0..1" in command_line(request)


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_every_kind_changes_what_the_caller_of_an_undeclared_tool_sees(kind: ErrorKind) -> None:
    plan = RandomFaults(FaultSettings(seed=7, rate=1.0, weights={kind: 1.0}), "t1")
    call = Injector(lambda tool, arguments: dict(ORDER), plan)
    if kind in RAISED:
        with pytest.raises(Exception):  # noqa: B017, PT011 - each kind is raised in several wordings
            call("get_order", {"order_id": "W1"})
    else:
        assert call("get_order", {"order_id": "W1"}) != ORDER


def test_a_fault_that_has_no_place_is_said_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    plan = RandomFaults(FaultSettings(rate=1.0, weights={ErrorKind.PARTIAL_DATA: 1.0}), "t1")
    call = Injector(lambda tool, arguments: 3, plan)
    assert call("get_count", {}) == 3
    assert call.skipped == {("get_count", ErrorKind.PARTIAL_DATA): 1}
    assert "has no place for partial_data" in caplog.text


def test_only_one_tool_late_and_from_a_certain_call_on() -> None:
    settings = FaultSettings(rate=1.0, weights={}, tool="slow", after_calls=1, delay_s=5.0)
    call = Injector(lambda tool, arguments: "fine", RandomFaults(settings, "t1"))
    took = []
    for tool in ("slow", "slow", "quick"):
        assert call(tool, {}) == "fine"
        took.append(call.calls[-1].took_s)
    assert [t > 5.0 for t in took] == [False, True, False]
    with pytest.raises(EvaluationError, match="at least 0"):
        FaultSettings(delay_s=-1.0)
