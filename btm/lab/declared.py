"""An environment from one class: state in its attributes, methods as tools, tasks with their gold calls.

::

    class Clinic:
        fallback_map = "clinic.yaml"                    # beside this file; optional

        def __init__(self) -> None:
            self.visits = {"V1": {"visit_id": "V1", "status": "booked"}}

        @tool("read")
        def get_visit(self, visit_id: str) -> dict: ...

        @tool("write")
        def cancel_visit(self, visit_id: str) -> dict: ...

        tasks = [GoldTask("Cancel my visit V1.", gold=[("get_visit", {"visit_id": "V1"}), ...])]

Everything public that an instance holds is its database: the goal of a task is its digest after the gold calls, and what
a write changed is found by looking before and after. Where a gold call's arguments come from is found in what the calls
before it gave.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import validate_call
from pydantic_core import to_jsonable_python

from btm.errors import EvaluationError
from btm.lab.awaiting import awaited
from btm.lab.environment import ToolSpec
from btm.lab.gold import GoldEnvironment, GoldTask, Holder, map_beside, named_once
from btm.lab.toolspec import spec_of, where
from btm.model import Effect

__all__ = ["ClassEnvironment", "GoldTask", "is_declared", "tool"]

M = TypeVar("M", bound=Callable[..., Any])
_EFFECT = "_btm_effect"


def tool(effect: str) -> Callable[[M], M]:
    """Mark a method as a tool that only looks (``"read"``) or changes something (``"write"``)."""
    marked = Effect(effect)

    def mark(method: M) -> M:
        setattr(method, _EFFECT, marked)
        return method

    return mark


def is_declared(made: object) -> bool:
    """Whether this is a class with tools and tasks."""
    return isinstance(made, type) and bool(_tools(made)) and hasattr(made, "tasks")


def _tools(kind: type) -> dict[str, Callable[..., Any]]:
    members = ((name, inspect.getattr_static(kind, name)) for name in _in_order(kind))
    return {name: member for name, member in members if hasattr(member, _EFFECT)}


def _in_order(kind: type) -> list[str]:
    return list(dict.fromkeys(name for base in reversed(kind.__mro__) for name in vars(base)))


class ClassEnvironment(GoldEnvironment):
    """A declared class as an evaluation environment. Tasks that cannot be scripted are left out, with the reason.

    Raises EvaluationError, with file and line, for a tool whose parameters have no type, and for a class without tasks.
    """

    def __init__(self, kind: type, domain: str) -> None:
        self.kind, self.domain = kind, domain
        self._methods = {name: validate_call(method) for name, method in _checked(kind).items()}
        self.tools: Mapping[str, ToolSpec] = {
            name: spec_of(method, getattr(method, _EFFECT)) for name, method in _tools(kind).items()
        }
        self.fallback_map = map_beside(inspect.getfile(kind), str(getattr(kind, "fallback_map", "")))

    def gold(self) -> Mapping[str, GoldTask]:
        """Return the class's tasks by name. Raises EvaluationError for something else, or two of a name."""
        found: list[tuple[str, GoldTask]] = []
        for number, task in enumerate(self.kind.tasks, start=1):  # type: ignore[attr-defined]
            if not isinstance(task, GoldTask):
                raise EvaluationError(
                    f"{where(self.kind)}: task {number} of {self.kind.__name__} is a {type(task).__name__}; "
                    "expected a btm.lab.declared.GoldTask"
                )
            found.append((task.name or f"{self.kind.__name__.lower()}-{number:02}", task))
        return named_once(found, where(self.kind))

    def hold(self, name: str) -> Instance:  # noqa: ARG002 - every task starts from the same state
        return Instance(self.kind(), self._methods)


def _checked(kind: type) -> Mapping[str, Callable[..., Any]]:
    try:
        kind()
    except Exception as error:
        problem = f"{where(kind)}: {kind.__name__}() cannot be made: {type(error).__name__}: {error}"
        raise EvaluationError(problem) from error
    return _tools(kind)


class Instance(Holder):
    """An instance of a declared class, as it is between two calls."""

    def __init__(self, made: Any, methods: Mapping[str, Callable[..., Any]]) -> None:
        self._made, self._methods = made, methods

    def invoke(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Call a method, async or not. Raises what it raises, and pydantic's ValidationError for wrong arguments."""
        return to_jsonable_python(awaited(self._methods[tool](self._made, **arguments)), fallback=vars)

    def state(self) -> Any:
        held = {name: value for name, value in vars(self._made).items() if not name.startswith("_")}
        return to_jsonable_python(held, fallback=vars)

    def asked(self) -> Any:
        return self._made
