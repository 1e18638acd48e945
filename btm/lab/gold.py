"""Tasks with their gold calls, and an environment of them: all it takes is something that runs tools and has a state.

Whatever holds the state - an instance of a class, a benchmark's own environment, an MCP server - is a :class:`Holder`. The
goal of a task is the digest of the state after its gold calls, and what a write changed is found by looking before and
after. Where a gold call's arguments come from is found in what the calls before it gave.
"""

from __future__ import annotations

import copy
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from btm.errors import EvaluationError
from btm.lab.changes import changes
from btm.lab.environment import Clock, ExpectedAnswer, Task, ToolSpec, Write, simulated_clock
from btm.lab.jsonvalue import Path as Place
from btm.lab.jsonvalue import equal, field_name, leaves
from btm.lab.script import Gold, RecordedScript, UnboundError, bind, is_word_in
from btm.model import Effect


@dataclass(frozen=True)
class GoldTask:
    """A task with its gold calls.

    ``facts`` is what the user knows, by argument name; values in ``request``, and in what the user ``adds`` when asked, are
    known too. ``gold`` are the calls (tool, arguments) that do what is asked. ``tell`` are the values that the user wants
    to hear; a result of a gold call has to show each. ``hears``: of each read, what it shows first. ``own`` names the
    arguments that the agent words or works out itself; ``knows`` says that it may know of itself whatever nothing shows.
    ``check`` is asked of the holder's instance at the end; without it the end has to be what the gold calls leave.
    A task with a check and no gold calls has no script: agents of one's own and chat models can be measured on it, in the
    scenarios that promise nothing (clean, noisy).
    """

    request: str
    gold: Sequence[tuple[str, Mapping[str, Any]]] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    tell: Sequence[Any] = ()
    own: Sequence[str] = ("reason", "summary", "note")
    check: Callable[[Any], bool] | None = None
    name: str = ""
    adds: str = ""
    hears: bool = False
    knows: bool = False
    first: int = 0

    def given(self, path: Place, value: Any) -> bool:
        """Whether the user says a value, or the agent words or chooses it itself."""
        if not path:
            return True
        trivial = value is None or isinstance(value, bool) or value in ("", [], {})
        return trivial or bool({str(path[0]), field_name(path)} & {*self.own}) or self.says(value)

    def says(self, value: Any) -> bool:
        """Whether the user says a value."""
        word = str(value).casefold().removeprefix("#")
        said = f"{self.request}\n{self.adds}".casefold()
        known = any(equal(value, leaf) for _, leaf in leaves(dict(self.facts)))
        return known or is_word_in(word, said)


CHECKED = "the check holds"
"""The goal of a task that has a check of its own."""


class Holder(ABC):
    """What one episode runs on."""

    @abstractmethod
    def invoke(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool; returns JSON values of its own, raises what the tool raises."""

    @abstractmethod
    def state(self) -> Any:
        """Return everything that tools can change, as JSON values."""

    def asked(self) -> Any:
        """Return what a task's own check is asked of."""
        return self


def named_once(tasks: Iterable[tuple[str, GoldTask]], place: str) -> Mapping[str, GoldTask]:
    """Return tasks by name. Raises EvaluationError for two of a name."""
    found: dict[str, GoldTask] = {}
    for name, task in tasks:
        if name in found:
            raise EvaluationError(f"{place}: two tasks are called {name!r}")
        found[name] = task
    return found


def map_beside(file: str | Path, named: str) -> str:
    """Return the fallback map of a name: the file beside ``file`` where there is one, else a shipped map's name."""
    beside = Path(file).parent / named
    return str(beside) if named and beside.is_file() else named


class GoldSession:
    """One episode on one holder."""

    def __init__(self, holder: Holder, specs: Mapping[str, ToolSpec], task: GoldTask | None) -> None:
        self.holder, self._specs, self._task = holder, specs, task
        self._writes: list[Write] = []

    @property
    def writes(self) -> list[Write]:
        """The changes made so far."""
        return self._writes

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool. Raises what the tool raises, and LookupError for an unknown tool."""
        if tool not in self._specs:
            raise LookupError(f"there is no tool {tool!r}")
        writes = self._specs[tool].effect is Effect.WRITE
        before = self.holder.state() if writes else None
        try:
            return self.holder.invoke(
                tool, copy.deepcopy(dict(arguments))
            )  # tools may change what they are given
        finally:
            made = changes(before, self.holder.state()) if writes else ""
            if made:
                self._writes.append(Write(tool, dict(arguments), made))

    def holds(self, check: Callable[[Any], Any]) -> bool:
        """Whether a task's check holds now: one that fails, on a state that its author did not think of, does not."""
        try:
            return bool(check(self.holder.asked()))
        except Exception:  # noqa: BLE001 - the author's code; where the gold calls end it has to hold
            return False

    def digest(self) -> str:
        """Return the SHA-256 of the state; where the task has a check that holds, that it does."""
        if self._task is not None and self._task.check is not None and self.holds(self._task.check):
            return CHECKED
        state = orjson.dumps(self.holder.state(), option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
        return hashlib.sha256(state).hexdigest()


class GoldEnvironment(ABC):
    """An environment of gold tasks. Those that cannot be scripted are left out, each with the reason."""

    domain: str
    fallback_map: str
    tools: Mapping[str, ToolSpec]

    @abstractmethod
    def gold(self) -> Mapping[str, GoldTask]:
        """Return every task by its id."""

    @abstractmethod
    def hold(self, name: str) -> Holder:
        """Return a new holder for a task."""

    def impossible(self) -> Mapping[str, str]:
        """Return tasks of the source that have no gold calls to script, each with the reason."""
        return {}

    @property
    def tasks(self) -> Sequence[Task]:
        """The scripted tasks, in their order."""
        return self._scripted[0]

    @property
    def left_out(self) -> Mapping[str, str]:
        """The tasks without a script, each with the reason."""
        return self._scripted[1]

    @cached_property
    def _golds(self) -> Mapping[str, GoldTask]:
        return self.gold()

    @cached_property
    def _scripted(self) -> tuple[tuple[Task, ...], Mapping[str, str]]:
        made: list[Task] = []
        left_out: dict[str, str] = {}
        for name, gold in self._golds.items():
            try:
                made.append(self._script(name, gold))
            except UnboundError as problem:
                left_out[name] = str(problem)
        return tuple(made), {**self.impossible(), **left_out}

    def _script(self, name: str, task: GoldTask) -> Task:
        if not task.gold:
            return self._unscripted(name, task)
        unknown = [called for called, _ in task.gold if called not in self.tools]
        if unknown:
            raise UnboundError(f"its gold calls {unknown[0]}, which is no tool")
        effects = {called: spec.effect for called, spec in self.tools.items()}
        plain = [Gold(called, dict(arguments)) for called, arguments in task.gold]
        try:
            opened = GoldSession(self.hold(name), self.tools, None)
            start = opened.digest()
            first = bind(plain, opened, task.given, effects, knows=task.knows)
            holder = self.hold(name)
            anew = GoldSession(holder, self.tools, None).digest()
            session = GoldSession(holder, self.tools, task)
            bound = bind(_with_looks(plain, first, task), session, task.given, effects, knows=task.knows)
        except UnboundError:
            raise
        except Exception as error:
            raise UnboundError(f"a gold call failed: {type(error).__name__}: {error}") from error
        if task.check is not None and not session.holds(task.check):
            raise UnboundError(f"its check does not hold after its gold calls{_why(task.check, session)}")
        if anew != start:
            raise UnboundError("a new instance is not as the first was: the class shares or draws its state")
        heard = _heard(bound) if task.hears else []
        answers = (*(_told(value, bound) for value in task.tell), *heard)
        done = tuple(write.change for write in session.writes)
        return Task(name, task.request, dict(task.facts), bound.steps, session.digest(), answers, done)

    def _unscripted(self, name: str, task: GoldTask) -> Task:
        if task.check is None:
            raise UnboundError("it has no gold call: doing nothing would solve it")
        if task.tell:
            raise UnboundError(
                "it has no gold call that shows what the user wants to hear: ask for that in its check"
            )
        if GoldSession(self.hold(name), self.tools, task).holds(task.check):
            raise UnboundError("its check holds before anything is done: doing nothing would solve it")
        return Task(name, task.request, dict(task.facts), (), CHECKED)

    def open(self, task: Task, clock: Clock = simulated_clock) -> GoldSession:  # noqa: ARG002 - nothing is dated
        """Return a session on a new holder."""
        return GoldSession(self.hold(task.task_id), self.tools, self._golds[task.task_id])


def _why(check: Callable[[Any], Any], session: GoldSession) -> str:
    try:
        check(session.holder.asked())
    except Exception as error:  # noqa: BLE001 - the author's code may raise anything; it is told
        return f": it raises {type(error).__name__}: {error}"
    return ""


def _with_looks(plain: Sequence[Gold], bound: RecordedScript, task: GoldTask) -> list[Gold]:
    """Let each write wait for the reads before it that look at what it is about: that is why they are in the gold."""
    made: list[Gold] = []
    for number, gold in enumerate(plain):
        mine = [leaf for path, leaf in leaves(dict(gold.arguments)) if path and str(path[0]) not in task.own]
        looks: list[tuple[int, Place]] = []
        for step in range(number if bound.steps[number].effect is Effect.WRITE else 0):
            if bound.steps[step].effect is Effect.READ:
                asked = [leaf for _, leaf in leaves(dict(plain[step].arguments))]
                if step < task.first and (news := _first(bound.results[step], but=asked)) is not None:
                    shown = [news]
                else:
                    shown = [
                        p for p, v in leaves(bound.results[step]) if any(equal(v, leaf) for leaf in mine)
                    ]
                looks += [(step, place) for place in shown[:1]]
        made.append(Gold(gold.tool, gold.arguments, tuple(looks)))
    return made


def _first(result: Any, but: Sequence[Any] = ()) -> Place | None:
    """Return where the first value of a result stands, by which it can be seen to have answered; no echo of ``but``."""
    nothing = (None, "", [], {}, *but)
    return next((path for path, leaf in leaves(result) if field_name(path) and leaf not in nothing), None)


def _told(value: Any, bound: RecordedScript) -> ExpectedAnswer:
    """Return the answer that rests on the last place where a value is shown; raises UnboundError when none shows it."""
    for number in reversed(range(len(bound.results))):
        for path, leaf in leaves(bound.results[number]):
            if equal(leaf, value) and field_name(path) != "":
                return bound.answer((number, path), text=str(value))
    raise UnboundError(f"the user wants to hear {value!r}, which no gold call shows")


def _heard(bound: RecordedScript) -> list[ExpectedAnswer]:
    """Return an answer a read: that it has answered."""
    found = []
    for number, step in enumerate(bound.steps):
        place = _first(bound.results[number]) if step.effect is Effect.READ else None
        if place is not None:
            looked = bound.answer((number, place), text=f"{number + 1}. {step.tool}")
            found.append(replace(looked, looked=True))
    return found
