"""What agents really did after failures, from a database that btm keeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from btm.model import Action, ErrorKind, EvidenceKey
from btm.store import Store

Row = tuple[EvidenceKey, float, float]


@dataclass(frozen=True, slots=True)
class Switch:
    """After ``tool`` failed with ``kind``, agents called ``target``: how often that was tried, and how often it worked.

    Both are weights at the time of reading: old evidence counts for less.
    """

    tool: str
    kind: ErrorKind
    target: str
    worked: float
    tried: float


def rows_of(store: Store, now: float) -> list[Row]:
    """Return a store's evidence, each row (key, successes, failures) decayed to ``now``."""
    snapshot = store.load(now)
    scale = snapshot.scale(now)
    return [(key, successes * scale, failures * scale) for key, successes, failures in snapshot.evidence]


def switches(rows: Iterable[Row]) -> dict[tuple[str, str], list[Switch]]:
    """Group evidence by (failed tool, tool that was called instead), the most tried error kind first."""
    counted: dict[tuple[str, ErrorKind, str], list[float]] = {}
    for key, successes, failures in rows:
        if key.action is Action.SWITCH and key.target:
            sums = counted.setdefault((key.tool, key.kind, key.target), [0.0, 0.0])
            sums[0] += successes
            sums[1] += successes + failures
    grouped: dict[tuple[str, str], list[Switch]] = {}
    for (tool, kind, target), (worked, tried) in counted.items():
        grouped.setdefault((tool, target), []).append(Switch(tool, kind, target, worked, tried))
    return {pair: sorted(found, key=lambda s: (-s.tried, s.kind)) for pair, found in grouped.items()}
