"""Rollouts of verifiers: its own environment, tool server and scoring, with a harness that makes the gold calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verifiers", reason="needs the extra 'verifiers'")

import verifiers.v1 as vf
from gold_harness import TRIES
from verifiers.v1.env import RunSlot
from verifiers.v1.utils.loaders import load_environment, load_taskset

from btm.training.curriculum import Curriculum
from btm.training.rollout import Stages
from btm.training.verifiers_taskset import RecoveryConfig, RecoveryTaskset

NAME = "btm_shop"
OWN_MODULE = """
from btm.training.verifiers_taskset import RecoveryTaskset
__all__ = ["RecoveryTaskset"]
"""

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("verifiers")]  # the package's own


@pytest.fixture(autouse=True)
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the docstring of the taskset asks a user to write."""
    (tmp_path / f"{NAME}.py").write_text(OWN_MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


def test_the_tasks_are_the_rows_of_a_phase() -> None:
    taskset = load_taskset(RecoveryConfig(id=NAME, phase=4, split="eval"))
    assert isinstance(taskset, RecoveryTaskset)
    rows = Curriculum.five_phases("shop").rows(4, "eval")
    tasks = list(taskset)
    assert [(t.data.task_id, t.data.scenario, t.data.seed) for t in tasks] == [
        (row["task_id"], row["scenario"], row["seed"]) for row in rows
    ]
    assert tasks[0].data.prompt == rows[0]["prompt"][-1]["content"]
    assert len({task.key for task in tasks}) == len(tasks)


async def test_a_rollout_is_worth_what_it_came_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_KEY", "none")
    agent = {"harness": {"id": "gold_harness"}, "runtime": {"type": "subprocess"}}
    config = vf.SingleAgentEnvConfig(taskset=RecoveryConfig(id=NAME, phase=1), agent=agent)
    env = load_environment(config)
    client = vf.EvalClientConfig(base_url="http://127.0.0.1:9/v1", api_key_var="NO_KEY")
    context = vf.ModelContext(model="none", client=client)
    task = next(iter(env.taskset))
    async with env.serving():
        episode: Any = await env.run_slot(RunSlot(task), context)
    (trace,) = episode.traces
    assert not trace.errors, trace.errors
    rollout = Stages("shop").begin(task.data.task_id, task.data.scenario, task.data.seed)
    for step in rollout.task.steps:
        for _ in range(TRIES):
            if not rollout.said(step.tool, step.arguments).startswith("Error: "):
                break
    assert trace.metrics == {"completed": float(rollout.completed), "calls": float(len(rollout.made))}
    assert trace.rewards["recovered"].value == pytest.approx(rollout.reward())
    assert rollout.reward() > 0.1
