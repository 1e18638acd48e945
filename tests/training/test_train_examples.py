"""examples/train without a model: the decisions that are trained on, and how they are scored."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "train"


@pytest.fixture(scope="module")
def steps() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        import recovery_steps
    finally:
        sys.path.remove(str(FOLDER))
    return recovery_steps


@pytest.fixture(scope="module")
def data(steps: Any) -> tuple[list[Any], list[Any]]:
    return steps.decisions(seed=0, per_task=1)


def test_tests_are_recoveries_of_tasks_and_entities_that_are_not_trained_on(
    data: tuple[list[Any], list[Any]],
) -> None:
    train, test = data
    assert len(test) >= 5
    assert all(one.recovery for one in test)
    requests = {one.prompt.split("\n")[1] for one in train}
    assert not requests & {one.prompt.split("\n")[1] for one in test}


def test_a_model_that_knows_the_answers_is_all_right_and_one_that_repeats_is_not(
    steps: Any, data: Any
) -> None:
    _, test = data
    right = {one.prompt: one.answer for one in test}
    knows = steps.score(lambda prompt: right[prompt][len(steps.OPENING) :] + " and more", test)
    assert (knows.tool, knows.whole) == (knows.n, knows.n)

    def repeats(prompt: str) -> str:
        last = [line for line in prompt.splitlines() if line.startswith("call: ")][-1]
        _, tool, arguments = last.split(" ", 2)
        return json.dumps({"name": tool, "arguments": json.loads(arguments)})[len(steps.OPENING) :]

    assert steps.score(repeats, test).tool < len(test)
    assert steps.score(lambda prompt: "nonsense", test).tool == 0


@pytest.mark.parametrize("name", ["sft_smollm2.py", "grpo_smollm2.py", "recovery_steps.py"])
def test_the_scripts_are_whole(name: str) -> None:
    compile((FOLDER / name).read_text("utf-8"), name, "exec")
