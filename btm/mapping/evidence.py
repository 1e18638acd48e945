"""What agents really did after failures, from a database that btm keeps."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from btm.errors import StoreError
from btm.model import Action, ErrorKind, EvidenceKey

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


def rows_of(database: str | Path) -> list[Row]:
    """Return a database's evidence, each row (key, successes, failures) decayed to now. Raises StoreError."""
    from btm.store.sql import SqlStore  # noqa: PLC0415 - SQLAlchemy is only needed where a database is given

    if not Path(database).is_file():
        raise StoreError(f"there is no database {str(database)!r}")
    store = SqlStore(database)
    try:
        now = time.time()
        snapshot = store.load(now)
        scale = snapshot.scale(now)
        return [(key, successes * scale, failures * scale) for key, successes, failures in snapshot.evidence]
    finally:
        store.close()


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
