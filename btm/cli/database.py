"""Opening a database that must already be there, for commands that only read."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from btm.errors import StoreError
from btm.learning.changepoint import FEWEST, Trend, trends
from btm.learning.posterior import BetaPosterior, intervals, pooled
from btm.model import EvidenceKey
from btm.runtime.evidence import Credit
from btm.store import schema
from btm.store.sql import SqlStore


def open_existing(where: str, *, read_only: bool = True) -> SqlStore:
    """Open a database to read; raises StoreError when it is not there or not btm's, rather than making an empty one."""
    if "://" not in where:
        _check_file(Path(where))
    return SqlStore(where, now=time.time(), read_only=read_only)


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"{str(path)!r} is a folder; name the database in it with --db")
    if not path.is_file():
        raise StoreError(
            f"there is no database {str(path)!r}; name one with --db, or make one with 'btm fit' or 'btm demo'"
        )
    if not path.stat().st_size:
        raise StoreError(f"{str(path)!r} is an empty file and no database")
    tables = _tables(path)
    if tables and schema.meta.name not in tables:
        raise StoreError(f"{str(path)!r} is a database of another program, and holds nothing of btm's")


def _tables(path: Path) -> frozenset[str]:
    """Return the tables of a SQLite file, read only; nothing where that cannot be told."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except sqlite3.Error:
        return frozenset()  # opening it as a store says what is wrong with it
    return frozenset(name for (name,) in rows)


@dataclass(frozen=True)
class StoredEvidence:
    """What a database holds, as a memory that opens it now believes it."""

    credit: Credit
    now: float

    @classmethod
    def read(cls, where: str) -> StoredEvidence:
        """Read a database: evidence is decayed to now, what a change made old is let go, priors are fitted."""
        now = time.time()
        with closing(open_existing(where)) as store:
            return cls(Credit(store.load(now), pooled), now)

    def belief(self, key: EvidenceKey) -> BetaPosterior:
        """Return the posterior of one key."""
        return self.credit.belief(key, self.now)

    def counted(self) -> Sequence[tuple[EvidenceKey, float]]:
        """Return every key that has evidence and how much, strongest first."""
        return sorted(self.credit.counted(self.now), key=itemgetter(1), reverse=True)


def trends_of(where: str, keys: Collection[EvidenceKey] | None = None) -> Mapping[EvidenceKey, Trend]:
    """Return the trends of keys (None: of all) in a database. Their attempts are read, and of no others."""
    with closing(open_existing(where)) as store:
        return trends(store.halves(keys, FEWEST))


def belief_rows(
    rows: Sequence[tuple[EvidenceKey, BetaPosterior]], found: Mapping[EvidenceKey, Trend]
) -> list[dict[str, object]]:
    """Return posteriors in the form of ``btm show --json``."""
    bounds = intervals([belief for _, belief in rows])
    return [
        {
            **key._asdict(),
            "target": key.target or None,
            "alpha": belief.alpha,
            "beta": belief.beta,
            "mean": belief.mean,
            "low": low,
            "high": high,
            "n": belief.n,
            "trend": _trend_row(found.get(key)),
        }
        for (key, belief), (low, high) in zip(rows, bounds, strict=True)
    ]


def _trend_row(trend: Trend | None) -> dict[str, object] | None:
    if trend is None:
        return None
    return {
        "direction": trend.direction,
        "earlier": trend.earlier.successes / trend.earlier.total,
        "later": trend.later.successes / trend.later.total,
        "attempts": int(trend.earlier.total + trend.later.total),
        "better": trend.better,
    }
