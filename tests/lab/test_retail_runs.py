"""The runner on tasks nobody here wrote: tau2-bench retail, judged by tau2's own hash of its database."""

import pytest

from btm.errors import MissingExtraError
from btm.lab.environment import load_environment
from btm.lab.faults import FaultSettings
from btm.lab.runner import Request, evaluate
from btm.lab.scenarios import TROUBLED, Scenario

try:
    load_environment("tau2:retail")
except MissingExtraError as missing:
    pytest.skip(f"tau2 is not installed: {missing}", allow_module_level=True)


@pytest.mark.parametrize("seed", [0, 1])
def test_an_oracle_solves_all_retail_tasks_that_can_be_solved_and_nothing_else(seed: int) -> None:
    request = Request("tau2:retail", arms=("bare", "oracle"), tasks=8, faults=FaultSettings(seed=seed))
    evaluation = evaluate(request)
    made = {s: [e for e in evaluation.episodes if e.scenario == s] for s in TROUBLED}
    oracle = {s: [e.solved for e in made[s] if e.arm == "oracle"] for s in TROUBLED}
    assert all(oracle[Scenario.RETRY_WORKS])
    assert all(oracle[Scenario.SWITCH_NEEDED])
    assert not any(oracle[Scenario.IMPOSSIBLE])
    blocked = (*made[Scenario.SWITCH_NEEDED], *made[Scenario.IMPOSSIBLE])
    assert not any(e.solved for e in blocked if e.arm == "bare")
    assert evaluation.left_out == dict.fromkeys(TROUBLED, 0)


def test_btm_solves_retail_tasks_whose_tool_is_blocked() -> None:
    request = Request("tau2:retail", (Scenario.SWITCH_NEEDED,), ("bare", "btm"), tasks=12)
    episodes = evaluate(request).episodes
    solved = {arm: sum(e.solved for e in episodes if e.arm == arm) for arm in ("bare", "btm")}
    assert solved["bare"] == 0
    assert solved["btm"] == 12
    assert sum(e.double_writes for e in episodes) == 0
