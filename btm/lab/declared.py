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

import hashlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import validate_call
from pydantic_core import to_jsonable_python

from btm.errors import EvaluationError
from btm.lab.changes import changes
from btm.lab.environment import Clock, ExpectedAnswer, Task, ToolSpec, Write, simulated_clock
from btm.lab.jsonvalue import Path as Place
from btm.lab.jsonvalue import equal, field_name, leaves, parsed
from btm.lab.script import Gold, RecordedScript, UnboundError, bind
from btm.lab.toolspec import spec_of, where
from btm.model import Effect

M = TypeVar("M", bound=Callable[..., Any])
_EFFECT = "_btm_effect"


def tool(effect: str) -> Callable[[M], M]:
    """Mark a method as a tool that only looks (``"read"``) or changes something (``"write"``)."""
    marked = Effect(effect)

    def mark(method: M) -> M:
        setattr(method, _EFFECT, marked)
        return method

    return mark


@dataclass(frozen=True)
class GoldTask:
    """A task of a declared environment.

    ``facts`` is what the user knows, by argument name; values in ``request`` are known too. ``gold`` are the calls
    (tool, arguments) that do what is asked. ``tell`` are the values that the user wants to hear; a result of a gold call
    has to show each. ``own`` names the arguments that the agent words itself. ``check`` is asked of the instance at
    the end; without it the end has to be what the gold calls leave.
    """

    request: str
    gold: Sequence[tuple[str, Mapping[str, Any]]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    tell: Sequence[Any] = ()
    own: Sequence[str] = ("reason", "summary", "note")
    check: Callable[[Any], bool] | None = None
    name: str = ""

    def given(self, path: Place, value: Any) -> bool:
        """Whether the user says a value, or the agent words or chooses it itself."""
        if str(path[0]) in self.own or value is None or isinstance(value, bool) or value in ("", [], {}):
            return True
        said = any(equal(value, leaf) for _, leaf in leaves(dict(self.facts)))
        word = re.escape(str(value).casefold())
        return said or re.search(rf"(?<!\w){word}(?!\w)", self.request.casefold()) is not None


def is_declared(made: object) -> bool:
    """Whether this is a class with tools and tasks."""
    return isinstance(made, type) and bool(_tools(made)) and hasattr(made, "tasks")


def _tools(kind: type) -> dict[str, Callable[..., Any]]:
    members = ((name, inspect.getattr_static(kind, name)) for name in _in_order(kind))
    return {name: member for name, member in members if hasattr(member, _EFFECT)}


def _in_order(kind: type) -> list[str]:
    return list(dict.fromkeys(name for base in reversed(kind.__mro__) for name in vars(base)))


class ClassEnvironment:
    """A declared class as an evaluation environment. Tasks that cannot be scripted are left out, with the reason.

    Raises EvaluationError, with file and line, for a tool whose parameters have no type, and for a class without tasks.
    """

    def __init__(self, kind: type, domain: str) -> None:
        self.kind, self.domain = kind, domain
        self._methods = {name: validate_call(method) for name, method in _checked(kind).items()}
        self.tools: Mapping[str, ToolSpec] = {
            name: spec_of(method, getattr(method, _EFFECT)) for name, method in _tools(kind).items()
        }
        named = getattr(kind, "fallback_map", "")
        beside = Path(inspect.getfile(kind)).parent / named
        self.fallback_map = str(beside) if named and beside.is_file() else str(named)

    @property
    def tasks(self) -> Sequence[Task]:
        """The scripted tasks, in the order of the class."""
        return self._scripted[0]

    @property
    def left_out(self) -> Mapping[str, str]:
        """The tasks without a script, each with the reason."""
        return self._scripted[1]

    @cached_property
    def _by_id(self) -> Mapping[str, GoldTask]:
        found: dict[str, GoldTask] = {}
        for number, task in enumerate(self.kind.tasks, start=1):  # type: ignore[attr-defined]
            if not isinstance(task, GoldTask):
                raise EvaluationError(
                    f"{where(self.kind)}: task {number} of {self.kind.__name__} is a {type(task).__name__}; "
                    "expected a btm.lab.declared.GoldTask"
                )
            name = task.name or f"{self.kind.__name__.lower()}-{number:02}"
            if name in found:
                raise EvaluationError(f"{where(self.kind)}: two tasks are called {name!r}")
            found[name] = task
        return found

    @cached_property
    def _scripted(self) -> tuple[tuple[Task, ...], Mapping[str, str]]:
        made: list[Task] = []
        left_out: dict[str, str] = {}
        for name, gold in self._by_id.items():
            try:
                made.append(self._script(name, gold))
            except UnboundError as problem:
                left_out[name] = str(problem)
        return tuple(made), left_out

    def _script(self, name: str, task: GoldTask) -> Task:
        if not task.gold:
            raise UnboundError("it has no gold call: doing nothing would solve it")
        unknown = [called for called, _ in task.gold if called not in self.tools]
        if unknown:
            raise UnboundError(f"its gold calls {unknown[0]}, which is no tool")
        effects = {called: spec.effect for called, spec in self.tools.items()}
        plain = [Gold(called, dict(arguments)) for called, arguments in task.gold]
        try:
            opened = self._session(None)
            start = opened.digest()
            first = bind(plain, opened, task.given, effects)
            session = self._session(task.check)
            anew = self._session(None).digest()
            bound = bind(_with_looks(plain, first, task), session, task.given, effects)
        except UnboundError:
            raise
        except Exception as error:
            raise UnboundError(f"a gold call failed: {type(error).__name__}: {error}") from error
        if anew != start:
            raise UnboundError("a new instance is not as the first was: the class shares or draws its state")
        answers = tuple(_told(value, bound) for value in task.tell)
        done = tuple(write.change for write in session.writes)
        return Task(name, task.request, dict(task.facts), bound.steps, session.digest(), answers, done)

    def _session(self, check: Callable[[Any], bool] | None) -> ClassSession:
        return ClassSession(self.kind(), self._methods, self.tools, check)

    def open(self, task: Task, clock: Clock = simulated_clock) -> ClassSession:  # noqa: ARG002 - nothing is dated
        """Return a session on a new instance."""
        return self._session(self._by_id[task.task_id].check)


def _checked(kind: type) -> Mapping[str, Callable[..., Any]]:
    try:
        kind()
    except Exception as error:
        problem = f"{where(kind)}: {kind.__name__}() cannot be made: {type(error).__name__}: {error}"
        raise EvaluationError(problem) from error
    return _tools(kind)


class ClassSession:
    """One episode on one instance of a declared class."""

    def __init__(
        self,
        instance: Any,
        methods: Mapping[str, Callable[..., Any]],
        specs: Mapping[str, ToolSpec],
        check: Callable[[Any], bool] | None,
    ) -> None:
        self._instance, self._methods, self._specs, self._check = instance, methods, specs, check
        self._writes: list[Write] = []

    @property
    def writes(self) -> list[Write]:
        """The changes made so far."""
        return self._writes

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool; its result comes as JSON values of its own.

        Raises what the tool raises, pydantic's ValidationError (a ValueError) for wrong arguments, LookupError for an
        unknown tool.
        """
        if tool not in self._methods:
            raise LookupError(f"there is no tool {tool!r}")
        writes = self._specs[tool].effect is Effect.WRITE
        before = self.state() if writes else None
        try:
            return to_jsonable_python(self._methods[tool](self._instance, **arguments), fallback=vars)
        finally:
            made = changes(before, self.state()) if writes else ""
            if made:
                self._writes.append(Write(tool, dict(arguments), made))

    def state(self) -> Any:
        """Return everything public that the instance holds, as JSON values."""
        held = {name: value for name, value in vars(self._instance).items() if not name.startswith("_")}
        return to_jsonable_python(held, fallback=vars)

    def digest(self) -> str:
        """Return the SHA-256 of the state; where the task has a check that holds, that it does."""
        if self._check is not None and self._check(self._instance):
            return "the check holds"
        state = orjson.dumps(self.state(), option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
        return hashlib.sha256(state).hexdigest()


def _with_looks(plain: Sequence[Gold], bound: RecordedScript, task: GoldTask) -> list[Gold]:
    """Let each write wait for the reads before it that look at what it is about: that is why they are in the gold."""
    made: list[Gold] = []
    for number, gold in enumerate(plain):
        mine = [leaf for path, leaf in leaves(dict(gold.arguments)) if str(path[0]) not in task.own]
        looks: list[tuple[int, Place]] = []
        for step in range(number if bound.steps[number].effect is Effect.WRITE else 0):
            if bound.steps[step].effect is Effect.READ:
                shown = (p for p, v in leaves(bound.results[step]) if any(equal(v, leaf) for leaf in mine))
                looks += [(step, place) for place in list(shown)[:1]]
        made.append(Gold(gold.tool, gold.arguments, tuple(looks)))
    return made


def _told(value: Any, bound: RecordedScript) -> ExpectedAnswer:
    """Return the answer that rests on the last place where a value is shown; raises UnboundError when none shows it."""
    for number in reversed(range(len(bound.results))):
        for path, leaf in leaves(parsed(bound.results[number])):
            if equal(leaf, value) and field_name(path) != "":
                return bound.answer((number, path), text=str(value))
    raise UnboundError(f"the user wants to hear {value!r}, which no gold call shows")
