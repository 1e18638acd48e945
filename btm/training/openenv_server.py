"""btm's episodes as an OpenEnv environment: served over HTTP and WebSocket, for every trainer that speaks to one.

::

    import uvicorn
    from btm.training.openenv_server import openenv_app

    uvicorn.run(openenv_app("shop"), port=8000)

Extra ``openenv``. Tools are listed and called by OpenEnv's own MCP actions. The rewards of an episode's steps add up to
R(tau), see :mod:`btm.training.rewards`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from btm.errors import EvaluationError, MissingExtraError
from btm.training.curriculum import Curriculum
from btm.training.rollout import Rollout, Stages

try:
    from openenv.core.env_server import (
        Action,
        CallToolAction,
        CallToolObservation,
        Environment,
        ListToolsAction,
        ListToolsObservation,
        Observation,
        State,
        Tool,
        create_app,
    )
except ModuleNotFoundError as missing:
    raise MissingExtraError((missing.name or "openenv").partition(".")[0], "openenv", "OpenEnv") from missing

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
"""The episodes of each split."""

LONGEST = 30
"""Calls after which an episode ends."""


class BeginObservation(Observation):
    """What an episode begins with: the user's request, and the tools there are."""

    request: str
    tools: list[Tool]


class RecoveryEnvironment(Environment):
    """One session. ``reset(split=..., index=...)`` begins an episode of ``rows``; without ``index`` the seed chooses."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, stages: Stages, rows: Rows, longest: int = LONGEST) -> None:
        super().__init__()
        self._stages = stages
        self._rows = rows
        self._longest = longest
        self._rollout: Rollout | None = None
        self._given = 0.0
        self._episode = ""

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str = "train",
        index: int | None = None,
        **_: Any,
    ) -> BeginObservation:
        rows = self._split(split)
        row = self.get_task(split, (seed or 0) % len(rows) if index is None else index)
        self._rollout = self._stages.begin(row["task_id"], row["scenario"], row["seed"])
        self._given, self._episode = 0.0, episode_id or f"{row['task_id']}-{row['seed']}"
        return BeginObservation(request=self._rollout.task.request, tools=self._tools())

    def step(self, action: Action, timeout_s: float | None = None, **_: Any) -> Observation:  # noqa: ARG002 - OpenEnv's
        if isinstance(action, ListToolsAction):
            return ListToolsObservation(tools=self._tools())
        if not isinstance(action, CallToolAction):
            raise EvaluationError(f"an action is call_tool or list_tools, not {type(action).__name__}")
        if self._rollout is None:
            raise EvaluationError("reset begins an episode: call it first")
        said = self._rollout.said(action.tool_name, action.arguments)
        completed = self._rollout.completed
        before, self._given = self._given, self._rollout.reward(completed=completed)
        return CallToolObservation(
            tool_name=action.tool_name,
            result=said,
            reward=self._given - before,
            done=completed or len(self._rollout.made) >= self._longest,
        )

    @property
    def state(self) -> State:
        """Return which episode this is, and how many calls were made in it."""
        made = 0 if self._rollout is None else len(self._rollout.made)
        return State(episode_id=self._episode or None, step_count=made)

    def list_splits(self) -> list[str]:
        """Return the splits: tasks of ``eval`` are never trained on."""
        return list(self._rows)

    def num_tasks(self, split: str) -> int:
        return len(self._split(split))

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return self.get_task_range(split)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Return one episode. Raises IndexError where there is none."""
        return dict(self._split(split)[index])

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, Any]]:
        return [dict(row) for row in self._split(split)[start:stop]]

    def _split(self, name: str) -> Sequence[Mapping[str, Any]]:
        if name not in self._rows:
            raise EvaluationError(f"there is no split {name!r}: there are {', '.join(self._rows)}")
        return self._rows[name]

    def _tools(self) -> list[Tool]:
        specs = self._stages.environment.tools.values()
        return [
            Tool(name=spec.name, description=spec.description, input_schema=dict(spec.parameters))
            for spec in specs
        ]


def openenv_app(domain: str = "shop", *, phase: int = 5, seed: int = 0, sessions: int = 64) -> Any:
    """Return a FastAPI application that serves the rows of a curriculum's ``phase``, to ``sessions`` clients at once."""
    curriculum = Curriculum.five_phases(domain, seed)
    rows: Rows = {"train": curriculum.rows(phase, "train"), "eval": curriculum.rows(phase, "eval")}
    return create_app(
        lambda: RecoveryEnvironment(curriculum.stages, rows),
        CallToolAction,
        CallToolObservation,
        env_name="btm",
        max_concurrent_envs=sessions,
        reset_observation_cls=BeginObservation,
    )
