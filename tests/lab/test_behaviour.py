"""How arms behave, beyond what they solve: each metric on episodes made for it, and on a real run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from btm.cli.main import cli
from btm.errors import EvaluationError
from btm.lab.behaviour import DEFINITIONS, BehaviourRow, Prices, behaviour
from btm.lab.metrics import Episode
from btm.lab.request import Request
from btm.lab.runner import evaluate
from btm.lab.scenarios import TROUBLED, Scenario
from btm.model import ErrorKind

PLAIN = Episode("bare", "switch_needed", "t1", frozenset(), False, False, 4, 0, 0, 0.0)


def made(**changes: Any) -> Episode:
    return replace(PLAIN, **changes)


def row(*episodes: Episode, prices: Prices | None = None) -> BehaviourRow:
    return behaviour(episodes, prices)[-1]


def test_help_and_harm_are_apart_and_held_against_the_first_arm() -> None:
    found = row(
        made(), made(task_id="t2"), made(task_id="t3", solved=True), made(task_id="t4", solved=True),
        made(arm="x", solved=True), made(arm="x", task_id="t2"),
        made(arm="x", task_id="t3", solved=True), made(arm="x", task_id="t4"),
    )  # fmt: skip
    assert (found.helped, found.harmed) == (0.5, 0.5)


def test_handing_over_is_premature_where_it_can_be_solved_and_right_where_not() -> None:
    found = row(made(escalated=True), made(task_id="t2"), made(scenario="impossible", escalated=True))
    assert (found.premature, found.abstained) == (0.5, 1.0)
    assert row(made()).abstained is None


def test_a_silent_fault_is_noticed_by_who_does_not_act_on_it() -> None:
    silent = frozenset({ErrorKind.STALE_DATA})
    struck = made(kinds=silent, faults_met=1)
    found = row(
        replace(struck, solved=True), replace(struck, task_id="t2", escalated=True),
        replace(struck, task_id="t3", escalated=True, wrong_writes=1), replace(struck, task_id="t4"),
        made(task_id="t5", kinds=silent),  # it waited, and nobody met it
    )  # fmt: skip
    assert found.noticed == 0.5


def test_doubt_where_nothing_fails_is_a_false_alarm() -> None:
    clean = made(scenario="clean", solved=True)
    found = row(
        clean, replace(clean, task_id="t2", injected_chars=10), replace(clean, task_id="t3", escalated=True)
    )
    assert found.false_alarms == pytest.approx(2 / 3)


def test_success_claimed_after_failure_is_catastrophic() -> None:
    assert (
        row(
            made(claimed=True), made(task_id="t2"), made(task_id="t3", solved=True, claimed=True)
        ).catastrophic
        == 0.5
    )


def test_money_stands_only_where_prices_are_given() -> None:
    assert row(made()).money is None
    assert row(made(injected_chars=400), prices=Prices(0.01, 0.001)).money == pytest.approx(
        4 * 0.01 + 100 * 0.001
    )


@pytest.mark.parametrize("text", ["call=x", "calls=1", "call=-1", "call", "call=nan"])
def test_a_wrong_price_is_told(text: str) -> None:
    with pytest.raises(EvaluationError, match="is no price: expected call="):
        Prices.read(text)


def test_every_column_is_defined_in_the_documentation_too() -> None:
    assert set(DEFINITIONS) == {*BehaviourRow.__slots__} - {"arm"}
    page = (Path(__file__).parents[2] / "docs" / "evaluate.md").read_text("utf-8")
    assert all(f"| `{name}` | {about} |" in page for name, about in DEFINITIONS.items())


def test_on_a_real_run_bare_claims_nothing_done_and_btm_says_little_in_act_mode() -> None:
    run = evaluate(
        Request(arms=("bare", "btm:advise", "btm"), scenarios=(Scenario.CLEAN, *TROUBLED), tasks=10)
    )
    bare, advise, act = behaviour(run.episodes)
    assert (act.harmed, act.false_alarms, act.premature, act.abstained) == (0.0, 0.0, 0.0, 1.0)
    assert bare.tokens == 0
    assert 0 < act.tokens < advise.tokens
    assert act.longest_loop <= 3


def test_the_command_prints_them_with_what_they_mean() -> None:
    run = CliRunner().invoke(cli, ["eval", "--tasks", "2", "--arms", "bare,btm", "--metrics"])
    assert run.exit_code == 0, run.stderr
    assert "how they behave" in run.stdout
    assert "catastrophic: of the episodes" in run.stdout
