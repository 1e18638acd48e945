"""A map as boxes and lines, before anyone decides how to draw them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from btm.fallback import FallbackMap, ToolEntry, ToolRole
from btm.fallback.checking import steps_of
from btm.maps.evidence import Row, switches
from btm.model import Effect


class Look(StrEnum):
    """How a box is drawn."""

    READ = "read"
    WRITE = "write"
    ESCALATION = "escalation"
    REPAIR = "repair"
    COMPOSITION = "composition"


COLOURS: Mapping[Look, tuple[str, str]] = {
    Look.READ: ("#e3eefb", "#2b6cb0"),
    Look.WRITE: ("#fdebd3", "#b7651b"),
    Look.ESCALATION: ("#ece7f6", "#6b46c1"),
    Look.REPAIR: ("#e2f3e6", "#2f855a"),
    Look.COMPOSITION: ("#ffffff", "#4a5568"),
}
"""What a box is filled with, and its edge."""

DEAD_END = "#c53030"
"""The edge of a tool that nothing stands in for."""


@dataclass(frozen=True, slots=True)
class Box:
    """One tool, or a composition of several. ``dead_end``: nothing stands in for it."""

    key: str
    title: str
    look: Look
    note: str = ""
    dead_end: bool = False


@dataclass(frozen=True, slots=True)
class PictureEdge:
    """``target`` stands in for ``source``; ``label`` says how much of it, and what was learned about it."""

    source: str
    target: str
    coverage: float
    label: str
    only_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole map."""

    domain: str
    boxes: tuple[Box, ...]
    lines: tuple[PictureEdge, ...]

    @property
    def linked(self) -> frozenset[str]:
        """The boxes that a line touches."""
        return frozenset(key for line in self.lines for key in (line.source, line.target))

    def document(self) -> dict[str, Any]:
        """Return the picture as JSON values."""
        return {
            "domain": self.domain,
            "boxes": [asdict(box) for box in self.boxes],
            "lines": [asdict(line) for line in self.lines],
        }


def picture_of(fallback_map: FallbackMap, rows: Iterable[Row] = ()) -> Picture:
    """Return a map's boxes and lines; ``rows`` of evidence put what was learned on the lines."""
    learned = switches(rows)
    boxes = [_box(name, entry) for name, entry in fallback_map.tools.items()]
    lines: dict[tuple[str, str], PictureEdge] = {}
    compositions: dict[str, Box] = {}
    for name, entry in fallback_map.tools.items():
        for fallback in entry.fallbacks:
            steps = [step.tool for step in steps_of(fallback)]
            target = steps[0] if len(steps) == 1 else " then ".join(steps)
            if len(steps) > 1:
                compositions[target] = Box(target, " → ".join(steps), Look.COMPOSITION)
            label = f"{fallback.coverage:.0%}"
            found = learned.get((name, steps[0]), [])
            tried, worked = sum(s.tried for s in found), sum(s.worked for s in found)
            if tried >= 0.5:
                label += f" · worked {worked:.0f} of {tried:.0f}"
            line = PictureEdge(name, target, fallback.coverage, label, fallback.only_for)
            before = lines.get((name, target))
            if before is None or before.coverage < line.coverage:
                lines[name, target] = line
    return Picture(fallback_map.domain, (*boxes, *compositions.values()), tuple(lines.values()))


def _box(name: str, entry: ToolEntry) -> Box:
    looks = {ToolRole.ESCALATION: Look.ESCALATION, ToolRole.REPAIR: Look.REPAIR}
    look = looks.get(entry.role) if entry.role else None
    look = look or (Look.READ if entry.effective is Effect.READ else Look.WRITE)
    notes = []
    if entry.verify is not None:
        notes.append(f"verify: {entry.verify.tool}")
    if entry.irreversible:
        notes.append("irreversible")
    if entry.role is not None:
        notes.append(entry.role.value)
    return Box(name, name, look, ", ".join(notes), dead_end=entry.role is None and not entry.fallbacks)
