import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from btm.cli.evaluate import demo, evaluate
from btm.cli.evaluation_request import read_scenarios, read_tasks
from btm.errors import EvaluationError


def run_eval(*arguments: str) -> Result:
    return CliRunner().invoke(evaluate, arguments)


def test_eval_prints_one_json_document_and_nothing_else() -> None:
    result = run_eval("--arms", "bare,btm", "--tasks", "3", "--json")
    assert result.exit_code == 0
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert found["command"] == "btm eval --domain shop --arms bare,btm --seed 0 --tasks 3"
    assert found["paired"][0]["a"] == "btm"


def test_eval_prints_a_table_that_fits_eighty_columns() -> None:
    result = run_eval("--arms", "bare,retry3", "--tasks", "3", "--scenario", "all")
    assert result.exit_code == 0
    assert "switch_needed: 3 tasks" in result.stdout
    assert "scripted agent (no model)" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 80


def test_btm_is_set_against_the_best_fixed_order_in_hindsight() -> None:
    result = run_eval("--arms", "btm", "--tasks", "2", "--scenario", "retry_works", "--best-fixed", "--json")
    found = json.loads(result.stdout)
    assert "--best-fixed" in found["command"]
    assert [(row["a"], row["b"].partition(":")[0]) for row in found["best_fixed"]] == [("btm", "order")]


@pytest.mark.parametrize("options", [(), ("--unseen",)])
def test_of_faults_at_fields_that_the_map_does_not_declare_nobody_is_told(options: tuple[str, ...]) -> None:
    silent = ("--scenario", "noisy", "--fault-kinds", "partial_data,schema_drift", "--rate", "0.8")
    result = run_eval("--arms", "btm", "--tasks", "12", *silent, *options, "--json")
    found = json.loads(result.stdout)
    assert ("--unseen" in found["command"]) is bool(options)
    (row,) = (row for row in found["results"] if row["fault_kind"] is None)
    assert (row["escalated"] == 0) is bool(options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--domain", "shp"), "did you mean 'shop'"),
        (("--arms", "bear"), "did you mean 'bare'"),
        (("--scenario", "swich_needed"), "did you mean 'switch_needed'"),
        (("--fault-kinds", "stale"), "did you mean 'stale_data'"),
        (("--profile", "heterogenous"), "did you mean 'heterogeneous'"),
        (("--tasks", "shop-007,"), "did you mean 'shop-07'"),
        (("--rate", "2"), "rate is a chance"),
    ],
)
def test_a_wrong_name_is_a_clear_error_and_exit_code_2(arguments: tuple[str, ...], message: str) -> None:
    result = run_eval(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1


def test_scenarios_are_repeated_or_comma_separated() -> None:
    assert read_scenarios(("clean,mixed", "clean")) == ("clean", "mixed")
    assert read_scenarios(("all",)) == ("clean", "retry_works", "switch_needed", "impossible")
    assert read_scenarios(()) == ()


def test_tasks_are_a_number_or_ids() -> None:
    assert read_tasks(None) is None
    assert read_tasks("12") == 12
    assert read_tasks("12,") == ("12",)
    assert read_tasks("a, b") == ("a", "b")
    with pytest.raises(EvaluationError, match="names no task"):
        read_tasks(",")


def test_arms_can_be_listed() -> None:
    result = run_eval("--list-arms")
    assert result.exit_code == 0
    assert "btm:shuffled" in result.stdout
    listed = json.loads(run_eval("--list-arms", "--json").stdout)
    assert "btm:shuffled" in [one["arm"] for one in listed]


def test_eval_keeps_what_was_learned_and_leaves_other_files_alone(tmp_path: Path) -> None:
    kept = tmp_path / "eval.db"
    assert run_eval("--tasks", "2", "--arms", "btm", "--db", str(kept)).exit_code == 0
    assert kept.exists()
    other = tmp_path / "mine.txt"
    other.write_text("mine")
    result = run_eval("--tasks", "2", "--arms", "btm", "--db", str(other))
    assert result.exit_code == 2
    assert other.read_text() == "mine"


def test_the_demo_shows_everything_and_the_same_seed_shows_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = (CliRunner().invoke(demo, ["--seed", "4"]) for _ in range(2))
    assert (tmp_path / "btm-demo.db").exists()
    assert first.exit_code == 0
    assert first.stdout == second.stdout
    for heading in (
        "Tasks solved",
        "One incident",
        "What a model would be told",
        "What was learned",
        "Where it is",
    ):
        assert heading in first.stdout
    assert "scripted agent (no model)" in " ".join(first.stdout.split())
    assert "btm-demo.db" in first.stdout


def test_the_demo_as_json_is_the_document_of_eval(tmp_path: Path) -> None:
    result = CliRunner().invoke(demo, ["--json", "--db", str(tmp_path / "d.db")])
    assert result.exit_code == 0
    assert list(json.loads(result.stdout)) == [
        "domain",
        "seed",
        "command",
        "results",
        "behaviour",
        "paired",
        "left_out",
        "unusable",
    ]
