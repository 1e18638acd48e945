"""btm's episodes as a taskset for verifiers and prime-rl's trainers.

Extra ``verifiers``. It looks for tasksets among top-level modules: write one, ``btm_shop.py``, and run ``eval btm_shop``::

    from btm.training.verifiers_taskset import RecoveryTaskset

    __all__ = ["RecoveryTaskset"]

A rollout gets a tool server of its own, which plays the task under faults; what the rollout is worth, R(tau), comes back
through its state. See :mod:`btm.training.rewards`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from btm.errors import MissingExtraError
from btm.training.curriculum import Curriculum, Split
from btm.training.rollout import Rollout, Stages

try:
    import verifiers.v1 as vf
    from mcp.types import CallToolResult, TextContent, Tool
except ModuleNotFoundError as missing:
    raise MissingExtraError(
        (missing.name or "verifiers").partition(".")[0], "verifiers", "verifiers"
    ) from missing

__all__ = ["RecoveryTaskset"]


class RecoveryData(vf.TaskData):
    """A task of a domain, and the faults it is played under."""

    domain: str
    task_id: str
    scenario: str
    seed: int


class RecoveryState(vf.State):
    """What a rollout came to so far."""

    reward: float = 0.0
    completed: bool = False
    calls: int = 0


class RecoveryTaskConfig(vf.TaskConfig):
    """Where a task's tool server runs."""

    tools: vf.ToolsetConfig = vf.ToolsetConfig()


class RecoveryTools(vf.Toolset[vf.ToolsetConfig, RecoveryState]):
    """The domain's tools under faults, under their own names."""

    TOOL_PREFIX = None

    async def setup_task(self, task: RecoveryData) -> None:
        stages = Stages(task.domain)
        self._specs = stages.environment.tools
        self._rollout: Rollout = stages.begin(task.task_id, task.scenario, task.seed)

    def register(self, mcp: Any) -> None:
        """Answer for the tools: their schemas come from the domain, not from functions."""
        mcp.list_tools = self._with_state(self.list_tools)
        mcp.call_tool = self._with_state(self.call_tool)

    async def list_tools(self) -> list[Tool]:
        return [
            Tool(name=spec.name, description=spec.description, input_schema=dict(spec.parameters))
            for spec in self._specs.values()
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> CallToolResult:  # noqa: ARG002
        """Run a tool, and note what the rollout is worth by now."""
        said = self._rollout.said(name, arguments)
        self.state.completed = self._rollout.completed
        self.state.reward = self._rollout.reward(completed=self.state.completed)
        self.state.calls = len(self._rollout.made)
        return CallToolResult(
            content=[TextContent(type="text", text=said)], is_error=said.startswith("Error: ")
        )


class RecoveryTask(vf.Task[RecoveryData, RecoveryState, RecoveryTaskConfig]):
    """One episode."""

    @classmethod
    def toolsets(cls, config: RecoveryTaskConfig) -> list[Any]:
        return [RecoveryTools(config.tools)]

    @vf.reward(weight=1.0)
    async def recovered(self, trace: Any) -> float:
        return float(trace.state.reward)

    @vf.metric
    async def completed(self, trace: Any) -> float:
        return float(trace.state.completed)

    @vf.metric
    async def calls(self, trace: Any) -> float:
        return float(trace.state.calls)


class RecoveryConfig(vf.TasksetConfig):
    """Which episodes: the rows of a curriculum's ``phase``."""

    domain: str = "shop"
    phase: int = 5
    split: Split = "train"
    seed: int = 0
    task: RecoveryTaskConfig = RecoveryTaskConfig()


class RecoveryTaskset(vf.Taskset[RecoveryTask, RecoveryConfig]):
    """The episodes of a domain."""

    def load(self) -> Iterator[RecoveryTask]:
        config = self.config
        for row in Curriculum.five_phases(config.domain, config.seed).rows(config.phase, config.split):
            yield RecoveryTask(
                RecoveryData(
                    name=f"{row['task_id']} {row['scenario']}",
                    prompt=row["prompt"][-1]["content"],
                    domain=config.domain,
                    task_id=row["task_id"],
                    scenario=row["scenario"],
                    seed=row["seed"],
                ),
                config.task,
            )


if __name__ == "__main__":
    RecoveryTools.run()
