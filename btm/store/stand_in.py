"""What stands in for a database that may not, or cannot, be written: it knows what that one holds, and keeps the rest."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from btm.errors import DatabaseFailedError, DatabaseUnavailableError, StoreError
from btm.model import ErrorKind
from btm.store import CallEvent, Event, Reported, Snapshot, Store
from btm.store.sql import SqlStore

_log = logging.getLogger("btm")


@dataclass(frozen=True)
class StandInStore:
    """A store in memory that starts from what another one holds. ``why`` it is used; empty where it was asked for."""

    kept: SqlStore
    source: SqlStore | None = None
    why: str = ""

    def load(self, now: float) -> Snapshot:
        """Return what a memory starts from."""
        return (self.source or self.kept).load(now)

    def write(self, events: Sequence[Event]) -> Sequence[CallEvent]:
        """Keep events in memory."""
        return self.kept.write(events)

    def report(self, conversation: str, call_id: str, kind: ErrorKind) -> Reported:
        """Note that a call of this process had failed after all."""
        return self.kept.report(conversation, call_id, kind)

    def forget_shape(self, tool: str) -> None:
        """Forget what a tool's good results looked like."""
        self.kept.forget_shape(tool)

    def close(self) -> None:
        """Close connections."""
        self.kept.close()
        if self.source is not None:
            self.source.close()


def open_store(
    path: str | Path | None,
    half_life_s: float | None,
    now: float,
    hash_key: bytes | None,
    *,
    read_only: bool,
    strict: bool,
) -> Store:
    """Open a database, or what stands in for it (see :meth:`btm.ToolMemory.open`)."""

    def opened(where: str | Path | None, *, to_read: bool = False) -> SqlStore:
        store = SqlStore(where, half_life_s=half_life_s, now=now, hash_key=hash_key, read_only=to_read)
        if half_life_s is None and where is not None and not to_read:
            store.go_live(now)
        if not strict or to_read:
            store.load_ahead(now)  # what cannot be read is found now, and not when the agent runs
        if store.key_warning:
            _log.warning("%s", store.key_warning)
        return store

    if read_only and path is not None:
        return StandInStore(opened(None), opened(path, to_read=True))
    try:
        return opened(path)
    except DatabaseUnavailableError as error:
        if strict:
            raise
        _log.warning("%s; what is learned waits until it can be", error)
        late = SqlStore(path, half_life_s=half_life_s, now=now, hash_key=hash_key, late=True)
        with closing(_readable(partial(opened, path, to_read=True)) or opened(None)) as readable:
            late.load_ahead(now, readable)
        return late
    except DatabaseFailedError as error:
        if strict:
            raise
        _log.warning("%s; what is learned now ends with this process", error)
        return StandInStore(opened(None), _readable(partial(opened, path, to_read=True)), str(error))


def _readable(opened: Callable[[], SqlStore]) -> SqlStore | None:
    """Return a database that can be read, if not written."""
    try:
        return opened()
    except StoreError:
        return None
