"""From paths to conversations: the one iterator that fitting, auditing and backtesting stand on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from btm.errors import TraceError, UnknownFormatError
from btm.logs.conversation import Conversation, Passed, Read, Skipped
from btm.logs.formats import BEGINS, Reader, named_reader, reader_for
from btm.logs.loose import Gathering, put_in_order
from btm.logs.records import Log
from btm.logs.source import STDIN, ByteStream, LogFile, Paths, Watch, find_logs, open_log
from btm.logs.unread import Counted, lost_in


def read_conversations(
    paths: Paths,
    *,
    format: str | None = None,  # noqa: A002 - what the command line calls it
    strict: bool = False,
    watch: Watch | None = None,
) -> Iterator[Conversation | Skipped]:
    """Read every conversation of these logs, one at a time, and say what had to be left out.

    ``paths`` are files, folders (all of their files that are not hidden), globs, or ``-`` for stdin; plain, gzip or
    Zstandard. The format is found by content unless ``format`` names it. Memory stays flat whatever the size; only
    formats that mix conversations (spans, runs, events) use temporary files beyond a budget.

    A broken line or element is a ``Skipped``, and the rest is read; ``strict`` raises TraceError instead. Raises
    TraceError for a path that does not exist or cannot be opened, and UnknownFormatError for a file that was named
    and that no reader knows, both before anything is given; such a file of a folder or glob is skipped. ``watch`` is
    told of the bytes as they are read.
    """
    items = read_items(paths, format=format, strict=strict, watch=watch)
    return (item for item in items if not isinstance(item, Passed))


def read_items(
    paths: Paths,
    *,
    format: str | None = None,  # noqa: A002 - what the command line calls it
    strict: bool = False,
    watch: Watch | None = None,
) -> Iterator[Read]:
    """Read like :func:`read_conversations`, and say as well what was passed over because there is nothing in it."""
    logs = logs_to_read(paths, format)
    return _read(logs, format, strict=strict, watch=watch)


def logs_to_read(paths: Paths, name: str | None) -> list[LogFile]:
    """Return the logs that ``paths`` mean; raises for them what ``read_conversations`` does."""
    logs = list(find_logs(paths))
    if name is None:
        for log in logs[1:]:  # the first one speaks for itself when it is read
            _check(log)
    else:
        named_reader(name)
    return logs


def _check(log: LogFile) -> None:
    if log.named and log.path != STDIN and Path(log.path).is_file():  # a pipe can be read only once
        with opened(log, None):
            pass  # it raises for one that no reader knows


def _read(logs: list[LogFile], name: str | None, *, strict: bool, watch: Watch | None) -> Iterator[Read]:
    for found in _conversations(logs, name, watch):
        if strict and isinstance(found, Skipped):
            raise TraceError(str(found))
        yield found


def _conversations(logs: list[LogFile], name: str | None, watch: Watch | None) -> Iterator[Read]:
    with Gathering() as gathering:
        for log in logs:
            with opened(log, name, watch) as found:
                if isinstance(found, Skipped):
                    yield found
                elif found is not None:
                    yield from read_whole(log.path, *found, gathering)
        yield from put_in_order(gathering)


def read_whole(path: str, reader: Reader, log: Log, gathering: Gathering) -> Iterator[Read]:
    """Read one log; entries are kept for later, and what nothing could be read from is said to be lost."""
    items = Counted(reader.read(log))
    yield from gathering.of(items)
    if (lost := lost_in(path, items.calls, items.answered)) is not None:
        yield lost


@contextmanager
def opened(
    log: LogFile, name: str | None, watch: Watch | None = None
) -> Iterator[tuple[Reader, Log] | Skipped | None]:
    """Open a log and find its reader; None for an empty one. A log that was not named is skipped, not refused."""
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(open_log(log.path, watch))
            found: tuple[Reader, Log] | Skipped | None = _look(log.path, stream, name)
        except TraceError as error:
            if log.named:
                raise
            why = str(error).removeprefix(f"{log.path}: ")
            if isinstance(error, UnknownFormatError):  # what was looked for is said of a log that was named
                why = f"{why.partition('.')[0]}; it begins with: {why.rpartition(BEGINS)[2]}"
            found = Skipped(log.path, 0, why, lost=lost_in(log.path) is not None)
        yield found


def _look(path: str, stream: ByteStream, name: str | None) -> tuple[Reader, Log] | Skipped | None:
    log = Log(path, stream)
    if not log.sample.empty:
        return reader_for(log, name), log
    return Skipped(path, 0, stream.problem, lost=True) if stream.problem else None
