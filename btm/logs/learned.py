"""Which conversations a command has had, each counted once: one place decides for all that read logs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

from btm.logs.conversation import Conversation, Skipped
from btm.logs.identity import Beginnings, beginnings, told_before
from btm.logs.listening import Listener, Told
from btm.store import FittedConversation

MOST = 100_000
"""Digests, and conversations, that are held in memory; those before them lie in a temporary database."""

_KEY = 16  # of a digest's 32 hex digits: by them it is looked up
_HALF = 1 << 63  # SQLite's numbers have a sign
_CACHE = 32 << 10  # KiB of the database's pages


class LearnedFrom:
    """An append-only list of conversations that knows which of their digests, and of their beginnings', it holds.

    Of one that taught something the beginnings that no other can have are known as well: an older copy may follow. Memory is
    bounded: beyond ``MOST`` a nameless temporary database holds them. It is pickled whole.
    """

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._rows: list[FittedConversation] = []
        self._database: sqlite3.Connection | None = None

    def __iter__(self) -> Iterator[FittedConversation]:
        if self._database is not None:
            rows = self._database.execute("SELECT digest, source, calls FROM learned ORDER BY rowid")
            yield from (FittedConversation(*row) for row in rows)
        yield from self._rows

    def __contains__(self, digest: object) -> bool:
        key = str(digest)[:_KEY]
        if key in self._keys:
            return True
        if self._database is None:
            return False
        return (
            self._database.execute("SELECT 1 FROM keys WHERE key = ?", (_number(key),)).fetchone() is not None
        )

    def __getstate__(self) -> dict[str, object]:
        return {"_keys": self._all_keys(), "_rows": [*self], "_database": None}

    def _all_keys(self) -> set[str]:
        written = () if self._database is None else self._database.execute("SELECT key FROM keys")
        return self._keys.union(f"{number + _HALF:0{_KEY}x}" for (number,) in written)

    def note(self, conversation: Conversation, begun: Beginnings, told: Told) -> None:
        """Note a conversation and what it taught; one without a digest has nothing to be known by."""
        if not conversation.digest:
            return
        calls = len(told.heard) - told.known
        for digest, of_these in ((conversation.digest, calls), *((last, 0) for last in begun.digests[-1:])):
            if digest not in self:
                self._rows.append(FittedConversation(digest, conversation.source, of_these))
                self._keys.add(digest[:_KEY])
        if begun.sure and told.incidents:
            self._keys.update(digest[:_KEY] for digest in begun.digests)
        self._keep_small()

    def extend(self, other: LearnedFrom) -> None:
        """Add every conversation of another list."""
        self._rows += (row for row in other if row.digest not in self)
        self._keys |= other._all_keys()
        self._keep_small()

    def _keep_small(self) -> None:
        if len(self._keys) + len(self._rows) <= MOST:
            return
        if self._database is None:
            self._database = sqlite3.connect("", isolation_level=None)  # it is deleted when it is closed
            self._database.executescript(
                f"PRAGMA journal_mode = OFF; PRAGMA cache_size = -{_CACHE};"
                "CREATE TABLE keys (key INTEGER PRIMARY KEY);"
                "CREATE TABLE learned (digest TEXT, source TEXT, calls INTEGER)"
            )
        written: tuple[tuple[str, Iterable[tuple[object, ...]]], ...] = (
            (
                "INSERT OR IGNORE INTO keys VALUES (?)",
                ((number,) for number in sorted(map(_number, self._keys))),
            ),
            ("INSERT INTO learned VALUES (?, ?, ?)", self._rows),
        )
        self._database.execute("BEGIN")
        for statement, rows in written:
            self._database.executemany(statement, rows)
        self._database.execute("COMMIT")
        self._keys.clear()
        self._rows.clear()


def _number(key: str) -> int:
    return int(key, 16) - _HALF


def heard_once(
    items: Iterable[Conversation | Skipped], listener: Listener
) -> Iterator[tuple[Conversation, Told]]:
    """Listen to each conversation once, whichever logs tell of it; one that went on since it was told knows how far."""
    seen = LearnedFrom()
    for item in items:
        if isinstance(item, Skipped):
            continue
        begun = beginnings(item)
        if (known := told_before(item, begun, (seen,))) is not None:
            conversation = item._replace(known=known)
            told = listener.listen(conversation)
            seen.note(conversation, begun, told)
            yield conversation, told
