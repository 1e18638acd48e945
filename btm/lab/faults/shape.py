"""What a corrupted result of a tool could be recognised by, and so which silent faults the tool can meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from btm.lab.faults.kinds import FAULT_KINDS, ON_WRITES, RETURNED
from btm.model import Effect, ErrorKind
from btm.support.effects import guess_effect

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class ToolShape:
    """The fields of a tool's results that a fallback map declares; paths are dotted, as in the map.

    ``required`` must be present, ``fresh`` is the time of the data and may be ``within_s`` seconds old, ``compared``
    are checked against another tool. A tool of which nothing is declared meets only faults that anyone can see.

    ``by_value`` leaves the declarations aside: silent faults strike where a value's form allows it, at no field that
    is named in ``avoid``.
    """

    effect: Effect = Effect.READ
    required: tuple[str, ...] = ()
    fresh: str | None = None
    within_s: float = DAY
    compared: tuple[str, ...] = ()
    by_value: bool = False
    avoid: tuple[str, ...] = ()

    def unseen(self) -> ToolShape:
        """Return the shape for faults at fields that the map does not declare."""
        declared = (*self.required, *self.compared, *((self.fresh,) if self.fresh else ()))
        return ToolShape(self.effect, by_value=True, avoid=declared)

    @property
    def writes(self) -> bool:
        """Whether a call changes the world."""
        return self.effect is Effect.WRITE

    @property
    def kinds(self) -> frozenset[ErrorKind]:
        """The faults that this tool can meet and that can be detected with the map."""
        if self.writes:
            return frozenset(ON_WRITES)
        if self.by_value:
            return frozenset(FAULT_KINDS)
        found = set(FAULT_KINDS) - set(RETURNED) | {ErrorKind.MALFORMED}
        if self.required:
            found |= {ErrorKind.SCHEMA_DRIFT, ErrorKind.PARTIAL_DATA}
        if self.fresh:
            found.add(ErrorKind.STALE_DATA)
        if self.compared:
            found.add(ErrorKind.FACTUAL_ERROR)
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes of a session's tools. ``exempt`` tools (the way to a human) never fail; ``repairs`` renew a login."""

    tools: Mapping[str, ToolShape] = field(default_factory=lambda: MappingProxyType({}))
    exempt: frozenset[str] = frozenset()
    repairs: frozenset[str] = frozenset()

    def of(self, tool: str) -> ToolShape:
        """Return a tool's shape. An unknown tool's effect is guessed from its name, its faults go by its values."""
        return self.tools.get(tool) or ToolShape(guess_effect(tool), by_value=True)

    def unseen(self) -> Shapes:
        """Return these shapes for faults at fields that the map does not declare."""
        return replace(self, tools={name: shape.unseen() for name, shape in self.tools.items()})
