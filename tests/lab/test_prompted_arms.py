"""Arms that other work proposes, simulated where they need a model, and a simulated model that heeds advice in part."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from btm.cli.main import cli
from btm.errors import MissingExtraError
from btm.fallback import FallbackMap
from btm.lab.arms import ARMS, COMPLIANCE, HASTY, plain_arm
from btm.lab.environment import load_environment
from btm.lab.episodes import run_episode
from btm.lab.metrics import Episode
from btm.lab.prompted_arms import Reflexion
from btm.lab.request import Request
from btm.lab.runner import evaluate
from btm.lab.scenarios import TROUBLED, Scenario, Stage


def episodes(*arms: str, tasks: int = 8) -> dict[str, list[Episode]]:
    run = evaluate(Request(arms=arms, scenarios=(Scenario.CLEAN, *TROUBLED), tasks=tasks))
    return {arm: [e for e in run.episodes if e.arm == arm] for arm in arms}


def outcome(found: list[Episode]) -> list[tuple[bool, bool, int]]:
    return [(e.solved, e.escalated, e.calls) for e in found]


def test_there_are_at_least_eighteen_arms_and_each_says_what_it_is() -> None:
    listed = json.loads(CliRunner().invoke(cli, ["eval", "--list-arms", "--json"]).stdout)
    assert len(listed) >= 18
    assert all(row["about"] for row in listed)


def test_the_real_tool_retry_middleware_does_what_three_plain_retries_do() -> None:
    pytest.importorskip("langchain.agents.middleware", reason="langchain is not installed")
    found = episodes("retry3", "toolretry")
    assert outcome(found["retry3"]) == outcome(found["toolretry"])
    waits = {e.waited_s for e in found["toolretry"]}
    assert max(waits) >= 1 + 2 + 4  # its exponential waits pass on the simulated clock


def test_without_langchain_the_arm_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "langchain.agents.middleware", None)
    with pytest.raises(MissingExtraError, match="toolretry needs the package 'langchain'"):
        episodes("toolretry", tasks=1)


def test_self_refine_ends_as_bare_since_nothing_has_failed_before_a_call() -> None:
    found = episodes("bare", "self_refine")
    assert outcome(found["bare"]) == outcome(found["self_refine"])


def test_reflexion_begins_anew_up_to_three_times_and_pays_for_it() -> None:
    found = episodes("bare", "reflexion")
    assert {e.trials for e in found["bare"]} == {1}
    assert {e.trials for e in found["reflexion"]} == {1, 2, 3}
    assert all(e.trials == 1 for e in found["reflexion"] if e.scenario == Scenario.CLEAN)
    solved = {arm: sum(e.solved for e in mine) for arm, mine in found.items()}
    assert solved["reflexion"] > solved["bare"]
    assert sum(e.calls for e in found["reflexion"]) > 2 * sum(e.calls for e in found["bare"])


def test_every_trial_of_reflexion_starts_from_the_untouched_database() -> None:
    environment = load_environment("shop")
    stage = Stage(environment, FallbackMap.load("shop"))
    task = next(t for t in environment.tasks if t.changes)
    setup = stage.set_up(Scenario.IMPOSSIBLE, task)
    assert setup is not None
    starts: list[str] = []

    class Watched(Reflexion):
        def calls(self, desk):  # type: ignore[no-untyped-def]
            starts.append(desk.session.digest())
            return super().calls(desk)

    run_episode(Watched("reflexion"), setup, stage, 0.0)
    assert len(starts) == 3
    assert set(starts) == {environment.open(task).digest()}


def test_the_gain_grows_with_how_often_advice_is_heeded_from_bare_to_advise() -> None:
    names = [f"btm:advise@{share:g}" for share in COMPLIANCE]
    found = episodes("bare", *names, "btm:advise")
    solved = [sum(e.solved for e in found[name]) for name in names]
    assert solved == sorted(solved)
    assert outcome(found[names[0]]) == outcome(found["bare"])
    assert outcome(found[names[-1]]) == outcome(found["btm:advise"])


def test_a_hasty_model_hands_over_what_could_be_solved() -> None:
    found = episodes("btm:advise", HASTY)
    early = {
        arm: sum(e.escalated and e.scenario != "impossible" for e in mine) for arm, mine in found.items()
    }
    assert early["btm:advise"] == 0
    assert early[HASTY] > 0


def test_every_arm_is_made() -> None:
    assert all(plain_arm(name) for name in ARMS if not name.startswith("btm"))
