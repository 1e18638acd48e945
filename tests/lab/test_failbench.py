"""FailBench: cases with fixed ids, five dimensions, and an arm that always doubts does not win."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from btm.cli.main import cli
from btm.lab.agent import Call, ToolResponse
from btm.lab.desk import Desk
from btm.lab.failbench import CaseScore, Dimension, cases, check, play, rows
from btm.lab.failbench.play import maker, overall
from btm.lab.forgetful import Forgetful

ARMS = ("bare", "retry3", "btm", "oracle")
LEAST = {
    Dimension.RECOGNITION: 150, Dimension.RECOVERY: 50, Dimension.LOOPS: 12, Dimension.SELF_CHECKING: 30,
    Dimension.FALSE_ALARM: 30, Dimension.IDEMPOTENCY: 12,
}  # fmt: skip

pytestmark = pytest.mark.xdist_group("failbench")


class Doubter(Forgetful):
    """Takes nothing for right: whatever a tool answers, it asks a human."""

    def calls(self, desk: Desk) -> Call:
        def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
            if tool == "transfer_to_human":
                return ToolResponse(desk.call(tool, arguments))
            return ToolResponse("doubtful", is_error=True, advice="next: escalate with transfer_to_human")

        return call


@pytest.fixture(scope="module")
def scores() -> list[CaseScore]:
    makers = {name: maker(name) for name in ARMS} | {"doubter": lambda: Doubter("doubter")}
    return list(play(makers, cases()))


def rate(scores: list[CaseScore], arm: str, dimension: Dimension) -> float:
    (row,) = (r for r in rows(scores) if (r.arm, r.dimension) == (arm, dimension.value))
    return row.rate


def test_every_dimension_has_its_least_number_and_no_id_comes_twice() -> None:
    counted = Counter(case.dimension for case in cases())
    assert all(counted[dimension] >= least for dimension, least in LEAST.items())
    assert len({case.id for case in cases()}) == len(cases()) >= 250


def test_ids_do_not_change() -> None:
    import hashlib

    ids = "\n".join(case.id for case in cases())
    digest = hashlib.sha256(ids.encode()).hexdigest()[:12]
    assert digest == "5dcd52f48d4f", "other ids are another benchmark: raise VERSION"


def test_every_case_measures_something() -> None:
    assert list(check(cases())) == []


def test_the_oracle_passes_wherever_it_is_defined(scores: list[CaseScore]) -> None:
    assert {s.passed for s in scores if s.arm == "oracle"} == {True, None}


def test_act_mode_recovers_stops_checks_and_writes_once(scores: list[CaseScore]) -> None:
    for dimension in Dimension:
        if dimension is not Dimension.RECOGNITION:
            assert rate(scores, "btm", dimension) == 1.0, dimension
    assert rate(scores, "btm", Dimension.RECOGNITION) > 0.75  # wordings that no rule was made from


def test_blind_retries_write_twice_where_only_the_answer_was_lost(scores: list[CaseScore]) -> None:
    assert rate(scores, "retry3", Dimension.IDEMPOTENCY) < 1.0
    assert rate(scores, "bare", Dimension.IDEMPOTENCY) == 1.0


def test_who_always_doubts_sees_every_silent_fault_and_does_not_win(scores: list[CaseScore]) -> None:
    assert rate(scores, "doubter", Dimension.SELF_CHECKING) == 1.0
    assert rate(scores, "doubter", Dimension.FALSE_ALARM) == 0.0
    found = rows(scores)
    assert overall(found, "doubter") < overall(found, "btm")
    assert overall(found, "doubter") < overall(found, "retry3")


def test_arms_without_a_classifier_name_no_failure_and_are_not_scored_for_it(scores: list[CaseScore]) -> None:
    named = {s.arm for s in scores if s.dimension is Dimension.RECOGNITION and s.passed is not None}
    assert named == {"btm"}


def test_two_runs_are_equal_to_the_byte(tmp_path: Path) -> None:
    def run() -> tuple[str, bytes]:
        file = tmp_path / "t.jsonl"
        words = ["failbench", "--arms", "btm", "--sample", "3", "--json", "--transcripts", str(file)]
        found = CliRunner().invoke(cli, words)
        assert found.exit_code == 0, found.stderr
        return found.stdout, file.read_bytes()

    assert run() == run()


def test_cases_are_listed_and_exported_for_others(tmp_path: Path) -> None:
    listed = json.loads(CliRunner().invoke(cli, ["failbench", "--list", "--json"]).stdout)
    assert len(listed) == len(cases())
    file = tmp_path / "cases.jsonl"
    assert (
        CliRunner().invoke(cli, ["failbench", "--dimension", "loops", "--export", str(file)]).exit_code == 0
    )
    first = json.loads(file.read_text("utf-8").splitlines()[0])
    assert first.keys() == {"id", "input", "target", "metadata"}


def test_a_wrong_dimension_and_half_a_model_are_told() -> None:
    wrong = CliRunner().invoke(cli, ["failbench", "--dimension", "loop"])
    assert wrong.exit_code == 2
    assert "there is no dimension 'loop'" in wrong.stderr
    half = CliRunner().invoke(cli, ["failbench", "--model", "m"])
    assert "go together" in half.stderr


def test_an_agent_of_ones_own_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(__file__.rpartition("/")[0])
    words = [
        "failbench",
        "--arms",
        "bare",
        "--agent",
        "planted:make_broken_agent",
        "--dimension",
        "loops",
        "--json",
    ]
    found = CliRunner().invoke(cli, words)
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["results"][0]["cases"] == 20
