"""Which argument of a call is which of an earlier one, found in logs by equality: what a fallback or a check is given.

In: the calls of conversations, in order. Out: templates, and reads that agents looked with after a write.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from btm.fallback.schema import MapFile
from btm.model import Effect

Calls = Sequence[tuple[str, Mapping[str, Any]]]
"""The calls of one conversation: each a tool and its arguments."""

NEAR = 3
"""A call is set beside so many before it."""
_LEAST = 3  # times that something must have been seen
_SHARE = 0.6  # of the times that an argument was given, in which it must have been the earlier one


@dataclass(frozen=True, slots=True)
class ObservedCheck:
    """A read that agents made after a write, with arguments taken from it: ``times`` after ``of`` such writes."""

    tool: str
    target: str
    arguments: Mapping[str, str]
    times: int
    of: int

    @property
    def reason(self) -> str:
        """Return why it is proposed, in words."""
        return f"after {self.times} of {self.of} calls of {self.tool}, agents looked with {self.target} at the same values"

    @property
    def verify(self) -> dict[str, Any]:
        """Return what a map's ``verify`` would be; its ``done_when`` is for a person to write."""
        return {"tool": self.target, "arguments": dict(self.arguments)}

    def document(self) -> dict[str, Any]:
        """Return the check as JSON values."""
        return {"tool": self.tool, "target": self.target, "reasons": [self.reason], "verify": self.verify}


@dataclass
class Observations:
    """What the calls of many conversations had in common. Values themselves are not kept."""

    _given: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    _equal: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    _made: Counter[str] = field(default_factory=Counter)
    _looked: dict[tuple[str, str], Counter[tuple[tuple[str, str], ...]]] = field(
        default_factory=lambda: defaultdict(Counter)
    )

    def add(self, calls: Calls, known: int = 0) -> None:
        """Take in one conversation, of which an older copy told the first ``known`` calls."""
        for place, (tool, arguments) in enumerate(calls[known:], known):
            self._made[tool] += 1
            seen: set[str] = set()
            for other, given in reversed(calls[max(0, place - NEAR) : place]):
                if other != tool and other not in seen:
                    seen.add(other)
                    self._beside(other, given, tool, arguments)

    def _beside(self, before: str, had: Mapping[str, Any], tool: str, given: Mapping[str, Any]) -> None:
        pairs: list[tuple[str, str]] = []
        for name, value in given.items():
            self._given[before, tool, name] += 1
            equal = [other for other, theirs in had.items() if _same(value, theirs)]
            for other in equal:
                self._equal[before, tool, name, other] += 1
            if equal:
                pairs.append((name, name if name in equal else equal[0]))
        if pairs and len(pairs) == len(given):
            self._looked[before, tool][tuple(sorted(pairs))] += 1

    def arguments(self, tool: str, target: str) -> dict[str, str]:
        """Return templates for arguments of ``target`` that were those of the call of ``tool`` before it."""
        found: dict[str, str] = {}
        for (before, after, name), given in self._given.items():
            if (before, after) == (tool, target) and given >= _LEAST:
                equal = {o: n for (b, a, m, o), n in self._equal.items() if (b, a, m) == (tool, target, name)}
                best = max(equal, key=lambda other: (equal[other], other == name), default="")
                if best and equal[best] >= _SHARE * given:
                    found[name] = f"{{{{ call.{best} }}}}"
        return found

    def checks(self, model: MapFile) -> list[ObservedCheck]:
        """Return, for each write of a map that has no ``verify``, the read that was most often made after it."""
        found: list[ObservedCheck] = []
        for name, entry in model.tools.items():
            if entry.role is not None or entry.effective is not Effect.WRITE or entry.verify is not None:
                continue
            offers = [
                ObservedCheck(
                    name, read, {n: f"{{{{ call.{o} }}}}" for n, o in pairs}, times, self._made[name]
                )
                for read, other in model.tools.items()
                if other.role is None and other.effective is Effect.READ
                for pairs, times in self._looked.get((name, read), Counter()).items()
                if times >= _LEAST
            ]
            found += sorted(offers, key=lambda one: (-one.times, one.target))[:1]
        return found


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same thing, and not by chance: small numbers and truths say nothing."""
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    if isinstance(one, int) and isinstance(other, int):
        return one == other and abs(one) >= 100
    return isinstance(one, str) and len(one) >= 2 and str(other) == one
