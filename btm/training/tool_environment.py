"""A btm environment as the object that TRL's ``environment_factory`` asks for, and other trainers can drive.

Duck-typed: ``reset(**row)``, one public method a tool (typed, with a Google-style docstring, from which the tool's schema is
read), and ``get_reward()``. Nothing of TRL is imported.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

from btm.errors import EvaluationError, did_you_mean
from btm.lab.environment import ToolSpec
from btm.lab.toolspec import PYTHON_TYPES
from btm.support.untrusted import canonical
from btm.training.rollout import Rollout, Stages

_OWN = frozenset({"reset", "get_reward", "rollout", "recent"})
_RECENT = 64  # rollouts


def environment(
    domain: str = "shop", *, rate: float = 0.4, partial: bool = True, tools: Collection[str] | None = None
) -> Any:
    """Return a class whose objects are episodes of a domain: pass it as ``environment_factory``.

    ``rate`` is the chance that a call is a failing one; without ``partial`` credit only completed tasks are worth
    anything. ``tools`` names those that a small model is shown (None: all). An object is pooled: each ``reset`` begins anew.
    Raises EvaluationError for an unknown domain or tool.
    """
    stages = Stages(domain, rate)
    taken = _OWN & stages.environment.tools.keys()
    if taken:
        raise EvaluationError(f"{domain} has a tool {min(taken)!r}, which is a trainer's own method")

    class ToolEpisode:
        """One episode. ``recent`` are the calls of the latest rollouts of all objects: a collapse shows in them."""

        recent: ClassVar[deque[list[tuple[str, bytes]]]] = deque(maxlen=_RECENT)

        def __init__(self) -> None:
            self.rollout: Rollout | None = None

        def reset(self, task_id: str = "", scenario: str = "clean", seed: int = 0, **_: Any) -> str | None:
            """Begin the episode of a row."""
            if task_id not in stages.tasks:
                raise EvaluationError(f"{domain} has no task {task_id!r}")
            self.rollout = stages.begin(task_id, scenario, int(seed))
            self.recent.append(self.rollout.made)
            return None

        def get_reward(self) -> float:
            """Return R(tau)."""
            return 0.0 if self.rollout is None else self.rollout.reward(partial=partial)

    ToolEpisode.__name__ = ToolEpisode.__qualname__ = f"Btm{domain.title().replace(':', '')}"
    for name in _shown_tools(stages.environment.tools, tools):
        setattr(ToolEpisode, name, tool_method(stages.environment.tools[name]))
    return ToolEpisode


def _shown_tools(known: Mapping[str, ToolSpec], wanted: Collection[str] | None) -> list[str]:
    for name in wanted or ():
        if name not in known:
            raise EvaluationError(f"there is no tool {name!r}{did_you_mean(name, known)}")
    return [name for name in known if wanted is None or name in wanted]


def tool_method(spec: ToolSpec) -> Callable[..., str]:
    """Return a tool as a method: its signature and docstring say what its schema does."""
    properties, required = spec.parameters.get("properties", {}), set(spec.parameters.get("required", ()))
    ordered = sorted(properties, key=lambda name: name not in required)
    optional = {name: PYTHON_TYPES.get(properties[name].get("type"), str) for name in ordered}
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            annotation=optional[name],
            default=inspect.Parameter.empty if name in required else None,
        )
        for name in ordered
    ]
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([this, *parameters], return_annotation=str)

    def call(self: Any, *args: Any, **kwargs: Any) -> str:
        if self.rollout is None:
            return "Error: no episode has begun"
        try:
            given = signature.bind(self, *args, **kwargs).arguments
        except TypeError as wrong:  # what a model leaves out or makes up is its own failed call
            self.rollout.made.append((spec.name, canonical(kwargs)))
            return f"Error: {wrong}"
        arguments = {name: value for name, value in given.items() if name != "self" and value is not None}
        said: str = self.rollout.said(spec.name, arguments)
        return said

    call.__name__ = call.__qualname__ = spec.name
    lines = [f"    {name}: {_about(name, properties[name])}" for name in ordered]
    args = "\n\nArgs:\n" + "\n".join(lines) if lines else ""
    call.__doc__ = f"{spec.description}{args}\n\nReturns:\n    The tool's answer as JSON, or its error."
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {**optional, "return": str}
    return call


def _about(name: str, schema: Mapping[str, Any]) -> str:
    return str(schema.get("description") or f"the {name.replace('_', ' ')}").replace("\n", " ")
