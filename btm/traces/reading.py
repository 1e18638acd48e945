"""From paths to conversations: the one iterator that fitting, auditing and backtesting stand on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from btm.errors import TraceError
from btm.traces.conversation import Conversation, Skipped
from btm.traces.formats import named_reader, reader_for
from btm.traces.records import Log
from btm.traces.source import STDIN, LogFile, find_logs, open_log


def read_conversations(
    paths: Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,  # noqa: A002 - what the command line calls it
    strict: bool = False,
) -> Iterator[Conversation | Skipped]:
    """Read every conversation of these logs, one at a time, and say what had to be left out.

    ``paths`` are files, folders (all of their files that are not hidden), globs, or ``-`` for stdin; plain, gzip or
    Zstandard. The format is found by content unless ``format`` names it. Memory stays flat whatever the size; only
    formats that mix conversations (spans, runs, events) use temporary files beyond a budget.

    A broken line or element is a ``Skipped``, and the rest is read; ``strict`` raises TraceError instead. Raises
    TraceError for a path that does not exist or cannot be opened, and UnknownFormatError for a file that was named
    and that no reader knows, both before anything is given; such a file of a folder or glob is skipped.
    """
    logs = list(find_logs(paths))
    if format is None:
        for log in logs[1:]:  # the first one speaks for itself when it is read
            _check(log)
    else:
        named_reader(format)
    return _read(logs, format, strict=strict)


def _check(log: LogFile) -> None:
    if log.named and log.path != STDIN:
        with open_log(log.path) as stream:
            opened = Log(log.path, stream)
            if not opened.sample.empty:
                reader_for(opened)


def _read(logs: list[LogFile], name: str | None, *, strict: bool) -> Iterator[Conversation | Skipped]:
    for log in logs:
        for found in _read_one(log, name):
            if strict and isinstance(found, Skipped):
                raise TraceError(str(found))
            yield found


def _read_one(log: LogFile, name: str | None) -> Iterator[Conversation | Skipped]:
    try:
        with open_log(log.path) as stream:
            opened = Log(log.path, stream)
            if opened.sample.empty:
                if stream.problem:
                    yield Skipped(log.path, 0, stream.problem)
                return
            reader = reader_for(opened, name)
            yield from reader.read(opened)
    except TraceError as error:
        if log.named:
            raise
        yield Skipped(log.path, 0, str(error).removeprefix(f"{log.path}: "))
