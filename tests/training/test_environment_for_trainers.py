"""The shop as a trainer's environment: an object with a reset, tools and a reward."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from click.testing import CliRunner
from test_imports import loaded_by

from btm.cli.main import cli
from btm.errors import EvaluationError
from btm.lab.environment import load_environment
from btm.training import Curriculum, environment
from btm.training.curriculum import FIVE_PHASES, S1, S2, S3, held_out

SHOP = load_environment("shop")
Shop = environment("shop")


def begun(task: int = 0, scenario: str = "clean", seed: int = 3) -> Any:
    made = Shop()
    made.reset(task_id=SHOP.tasks[task].task_id, scenario=scenario, seed=seed, prompt="ignored", phase=1)
    return made


def test_training_imports_no_trainer() -> None:
    heavy = {"torch", "trl", "transformers", "datasets", "numpy", "scipy", "langchain_core", "sqlalchemy"}
    assert loaded_by("import btm.training") & heavy == set()
    trainers = {"torch", "trl", "transformers", "datasets"}
    assert loaded_by("from btm.training import Curriculum, environment; environment()()") & trainers == set()


def test_the_gold_calls_are_worth_one_a_part_of_them_a_part_and_a_loop_next_to_nothing() -> None:
    steps = SHOP.tasks[0].steps
    gold, part, loop = begun(), begun(), begun()
    for step in steps:
        getattr(gold, step.tool)(**step.arguments)
    getattr(part, steps[0].tool)(**steps[0].arguments)
    for _ in range(8):
        getattr(loop, steps[0].tool)(**steps[0].arguments)
    assert gold.get_reward() == 1.0
    assert part.get_reward() == pytest.approx(0.1)
    assert loop.get_reward() == pytest.approx(0.0375)
    assert begun().get_reward() == 0.0
    assert Shop().get_reward() == 0.0


def test_an_object_is_pooled_and_begins_anew() -> None:
    made = begun()
    for step in SHOP.tasks[0].steps:
        getattr(made, step.tool)(**step.arguments)
    made.reset(task_id=SHOP.tasks[0].task_id)
    assert made.get_reward() == 0.0


def test_arguments_that_a_model_leaves_out_or_makes_up_are_its_own_failed_call() -> None:
    made = begun()
    assert "order_id" in made.get_order()
    assert made.get_order(order="S1001").startswith("Error: ")
    assert len(made.rollout.made) == 2


def test_another_tool_with_the_same_effect_counts_as_the_gold_call() -> None:
    made = begun()
    made.search_customers(query="ava.stone@mailbox.example")
    assert made.get_reward() == pytest.approx(0.1)


def test_a_tool_that_fails_answers_with_its_error_and_raises_nothing() -> None:
    assert begun().get_order(order_id="nonsense").startswith("Error: ")
    assert Shop().get_order(order_id="S1001").startswith("Error: no episode")


def test_every_tool_is_a_typed_method_with_its_description() -> None:
    for spec in SHOP.tools.values():
        method = getattr(Shop, spec.name)
        assert (method.__doc__ or "").startswith(spec.description)
        names = [name for name in inspect.signature(method).parameters if name != "self"]
        assert set(names) == set(spec.parameters["properties"])
        assert all(f"    {name}: " in method.__doc__ for name in names)


def test_transformers_reads_the_schemas() -> None:
    utils = pytest.importorskip(
        "transformers.utils", reason="schemas are read by transformers (extra 'train')"
    )
    schema = utils.get_json_schema(begun().get_order)["function"]
    assert schema["parameters"]["required"] == ["order_id"]
    assert schema["parameters"]["properties"]["order_id"]["type"] == "string"


def test_where_nothing_can_help_handing_over_is_the_goal_and_writing_on_is_not() -> None:
    rows = Curriculum(phases=({S3: 1.0},)).rows(1)
    made = Shop()
    made.reset(**rows[0])
    assert made.get_reward() == 0.0
    made.transfer_to_human(summary="blocked")
    assert made.get_reward() == 1.0
    made.reset(**rows[0])
    user = made.rollout.task.steps[0].arguments
    found = json.loads(begun().search_customers(query=user.get("email", user.get("last_name", ""))))
    made.update_email(user_id=found["customers"][0]["user_id"], new_email="some.one@else.example")
    assert made.rollout.session.writes
    made.transfer_to_human(summary="blocked")
    assert made.get_reward() < 1.0


def test_handing_over_where_a_switch_would_do_is_no_success() -> None:
    made = Shop()
    made.reset(**Curriculum(phases=({S2: 1.0},)).rows(1)[0])
    made.transfer_to_human(summary="too hard")
    assert made.get_reward() == 0.0


def test_a_small_model_is_shown_some_of_the_tools() -> None:
    few = environment("shop", tools=("get_order", "cancel_order"))
    assert hasattr(few, "get_order")
    assert not hasattr(few, "get_user")
    with pytest.raises(EvaluationError, match="did you mean 'get_order'"):
        environment("shop", tools=["get_ordr"])


def test_a_wrong_row_is_told() -> None:
    with pytest.raises(EvaluationError, match="no task"):
        Shop().reset(task_id="nobody")
    with pytest.raises(EvaluationError, match="no domain"):
        environment("shp")


@pytest.mark.parametrize("phase", range(1, 6))
def test_a_phase_holds_its_mixture_of_tasks_that_are_not_held_out(phase: int) -> None:
    rows = Curriculum.five_phases("shop", seed=0).rows(phase)
    assert len(rows) > 30
    for scenario in (S1, S2, S3):
        share = sum(row["scenario"] == scenario for row in rows) / len(rows)
        assert share == pytest.approx(FIVE_PHASES[phase - 1].get(scenario, 0.0), abs=0.06)
    assert not any(held_out(row["task_id"]) for row in rows)
    assert rows == Curriculum.five_phases("shop", seed=0).rows(phase)
    assert rows != Curriculum.five_phases("shop", seed=1).rows(phase)
    assert set(rows[0]) == {"prompt", "task_id", "scenario", "seed", "phase"}


def test_tasks_for_evaluation_are_held_out_by_their_id() -> None:
    rows = Curriculum.five_phases().rows(5, "eval")
    assert rows
    assert all(held_out(row["task_id"]) for row in rows)


def test_wrong_mixtures_and_phases_are_told() -> None:
    with pytest.raises(EvaluationError, match=r"phase 1 add to 0\.9"):
        Curriculum(phases=({S1: 0.9},))
    with pytest.raises(EvaluationError, match="no phase 6"):
        Curriculum.five_phases().rows(6)


def test_the_check_finds_the_shops_rewards_sound() -> None:
    done = CliRunner().invoke(cli, ["train-env", "check", "--domain", "shop", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["scenarios"]
    assert [row["scenario"] for row in rows] == ["retry_works", "switch_needed", "impossible"]
    for row in rows:
        assert row["oracle"] == pytest.approx(1.0, abs=0.01)  # one task takes 13 calls
        assert row["idle"] == 0.0
        assert row["loop"] <= 0.1
        assert row["flat_groups"] <= row["flat_groups_without_partial"]


def test_rows_are_written_as_lines(tmp_path: Any) -> None:
    out = tmp_path / "rows.jsonl"
    done = CliRunner().invoke(cli, ["train-env", "rows", "--phase", "3", "-o", str(out), "--json"])
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == json.loads(done.stdout)["written"]
    assert {line["phase"] for line in lines} == {3}
