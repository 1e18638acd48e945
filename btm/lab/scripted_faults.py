"""Faults by script: the next so many calls of a tool fail in this way. What the fixture ``btm_faults`` gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from btm.errors import did_you_mean
from btm.lab.faults.around import around_tool
from btm.lab.faults.draw import Draw
from btm.lab.faults.injector import Injector
from btm.lab.faults.kinds import RAISED
from btm.lab.faults.plan import Fault, Site
from btm.lab.faults.settings import fault_kinds
from btm.model import ErrorKind


@dataclass
class _Planned:
    """Calls number ``first`` to ``last`` of a tool fail with ``kind``."""

    kind: ErrorKind
    first: int
    last: int
    lost_answer: bool
    error: Exception | None
    met: int = 0


@dataclass
class ScriptedFaults:
    """Says which calls fail, and puts that around tools. ``calls`` names the tools that were called, in order.

    ``strict``: a fault that no call met is an error when the test ends.
    """

    setattr: Callable[[Any, str, Any], None] = setattr
    strict: bool = True
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._plan: dict[str, list[_Planned]] = {}
        self._wrapped: list[str] = []
        self._injectors: list[Injector] = []

    def fail(
        self,
        tool: str,
        kind: str = "timeout",
        *,
        times: int = 1,
        after: int = 0,
        lost_answer: bool = False,
        error: Exception | None = None,
    ) -> None:
        """Let ``times`` calls of a tool fail, once ``after`` of them have gone through; for good with ``times=-1``.

        ``kind`` is one of the nine that ``btm.lab.faults.FAULT_KINDS`` lists. With ``lost_answer`` the call happens and
        its answer is lost: what a timeout of a write may be. ``error`` is raised in the place of one that looks like a
        client's; a timeout is a ``TimeoutError``, the classes of the others differ from tool to tool. Raises
        EvaluationError for another kind, ValueError for counts that are none and an ``error`` of a kind that raises none.
        """
        (found,) = fault_kinds(kind)
        if times == 0 or times < -1 or after < 0:
            raise ValueError(
                f"times is at least 1 (or -1: for good) and after at least 0, not {times} and {after}"
            )
        planned = self._plan.setdefault(tool, [])
        first = max([after + 1, *(p.last + 1 for p in planned if after == 0)])
        last = first + times - 1 if times > 0 else 10**9
        if error is None and found is ErrorKind.TIMEOUT:
            error = TimeoutError("The read operation timed out")
        elif error is not None and found not in RAISED:
            raise ValueError(f"{found} comes as an answer, and raises nothing")
        planned.append(_Planned(found, first, last, lost_answer, error))

    def around(self, tools: Iterable[Any]) -> list[Any]:
        """Return the same tools, in order, with the faults: functions (sync or async) and LangChain tools."""
        made = []
        for tool in tools:
            made.append(around_tool(tool, self, self._injectors.append))
            named = getattr(tool, "name", None) or getattr(tool, "__name__", type(tool).__name__)
            self._wrapped.append(str(named))
        return made

    def patch(self, owner: Any, *names: str) -> None:
        """Put the faults around tools where they stand, until the test is over: attributes of a module, class or object."""
        for name in names:
            plain = inspect.getattr_static(owner, name, None)
            if isinstance(plain, staticmethod | classmethod):
                raise TypeError(
                    f"{name} is a {type(plain).__name__}; wrap the function itself with around([...])"
                )
            (made,) = self.around([getattr(owner, name)])
            self.setattr(owner, name, made)

    def fault(self, site: Site) -> Fault | None:
        """Return the fault that a call meets, or None. Calls of a tool are counted whatever their arguments."""
        self.calls.append(site.tool)
        for planned in self._plan.get(site.tool, ()):
            if planned.first <= site.number <= planned.last:
                planned.met += 1
                return Fault(
                    planned.kind, Draw((site.tool, site.number)), planned.lost_answer, error=planned.error
                )
        return None

    def unmet(self) -> list[str]:
        """Return what no call met, each with why that may be."""
        found = [
            f"{kind} of {tool} (the answer has no place for it)"
            for injector in self._injectors
            for tool, kind in injector.skipped
        ]
        for tool, plan in self._plan.items():
            for planned in plan:
                if planned.met:
                    continue
                why = f"it was called {self.calls.count(tool)} times"
                if tool not in self._wrapped:
                    hint = did_you_mean(tool, self._wrapped)
                    why = f"no tool of that name was given to around() or patch(){hint}"
                found.append(f"{planned.kind} of {tool} ({why})")
        return found
