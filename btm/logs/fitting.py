"""Fitting whole logs, by one process or by several.

Evidence is a sum over conversations, so the work is cut into parts that any process can do, and the sums are added
up in the order of the parts. The records of a log in which each is a conversation are cut out unread and parsed by
the workers; where conversations are mixed (spans, runs, events) the parent gathers what belongs together, and the
workers make conversations of it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from btm.errors import TraceError
from btm.fallback import FallbackMap
from btm.learning.posterior import Decay
from btm.logs.conversation import Read, Skipped
from btm.logs.fit import Fit, teach
from btm.logs.formats import named_reader
from btm.logs.learned import LearnedFrom
from btm.logs.listening import Listener
from btm.logs.loose import Gathered, Gathering, put_in_order
from btm.logs.reading import logs_to_read, opened, read_items, read_whole
from btm.logs.records import Excerpt, Piece
from btm.logs.source import STDIN, LogFile, Paths, Watch, find_logs
from btm.logs.unread import lost_in

_PART_BYTES = 512 << 10
_PART_CONVERSATIONS = 256
_Item = TypeVar("_Item")
# Bytes of logs from which on more processes save more time than they take to start; only Linux forks them.
_WORTH_SHARING = (8 if sys.platform == "linux" else 64) << 20
_MOST_BY_ITSELF = 8  # one process cuts the logs up, and cannot feed many more
_WAITING = 3  # parts in hand for each worker: enough that none has to wait, few enough to stay small


class _Part(NamedTuple):
    """A part of the work: pieces of one log and the name of their reader, or conversations that have been read."""

    log: str = ""
    reader: str = ""
    pieces: tuple[Piece | Skipped, ...] = ()
    conversations: tuple[Read | Gathered, ...] = ()

    def read(self) -> Iterator[Read]:
        """Give the part's conversations."""
        if not self.reader:
            return put_in_order(self.conversations)
        items = named_reader(self.reader).read(Excerpt(self.log, self.pieces))
        # Records that lie apart are whole conversations.
        return cast("Iterator[Read]", items)


@dataclass(frozen=True)
class Work:
    """What is to be done with every conversation, in whichever process."""

    map_name: str | None
    decay: Decay
    now: float
    fitted_before: Container[str] = frozenset()
    lived: Container[str] = frozenset()
    keep: bool = False

    def do(self, conversations: Iterable[Read], repeated: Container[str] = ()) -> Fit:
        """Learn from conversations other than those that were fitted before or are ``repeated``."""
        listener, before = _listener(self.map_name, self.now), self.fitted_before
        return teach(listener, conversations, self.decay, before, repeated, lived=self.lived, keep=self.keep)


@lru_cache(maxsize=1)
def _listener(map_name: str | None, now: float) -> Listener:
    return Listener(FallbackMap.load(map_name) if map_name else FallbackMap.empty(), now=now)


def suitable_workers(paths: Paths) -> int:
    """Return how many workers these logs are worth: one for a few megabytes, else one for each processor, up to 8.

    How much comes in by stdin cannot be known, and is taken to be much. Raises what ``logs_to_read`` raises.
    """
    size = 0
    for log in find_logs(paths):
        size += _WORTH_SHARING if log.path == STDIN else Path(log.path).stat().st_size
    if size < _WORTH_SHARING:
        return 1
    usable = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(usable, _MOST_BY_ITSELF)


def fit_logs(
    paths: Paths,
    work: Work,
    *,
    workers: int = 1,
    format: str | None = None,  # noqa: A002 - what the command line calls it
    strict: bool = False,
    watch: Watch | None = None,
    on_part: Callable[[Fit], None] | None = None,
) -> Fit:
    """Learn from all conversations of these logs; see :func:`~btm.logs.reading.read_conversations` for ``paths``.

    With more than one of them, ``workers`` are processes of their own; what is learned is the same, its sums up to
    their rounding. ``on_part`` is told what each part of the work gave, in the order of the logs; what it takes out
    of a part (``Fit.made``) does not end up in the whole. Raises what ``read_items`` raises.
    """
    _listener(work.map_name, work.now)  # a wrong map is reported before anything is read, and by one process
    whole = Fit()
    if workers == 1:
        conversations = read_items(paths, format=format, strict=strict, watch=watch)
        done: Iterator[Fit] = (work.do(some, whole.fitted) for some in _batches(conversations))
    else:
        done = _shared(_parts(logs_to_read(paths, format), format, watch), work, whole.fitted, workers)
    for part in done:
        if strict and part.skipped:
            raise TraceError(str(part.skipped[0]))
        if on_part is not None:
            on_part(part)
        whole.merge(part)
    return whole


def _shared(parts: Iterator[_Part], work: Work, seen: LearnedFrom, workers: int) -> Iterator[Fit]:
    """Have several processes work on the parts; ``seen`` grows as what they learned is merged."""
    read: dict[str, list[int]] = {}  # of each log whose records the workers read: calls, and those answered
    with _pool(workers, work) as pool:
        for part, (done, asked) in _in_order(pool, parts, workers * _WAITING):
            repeated = {digest for digest in asked if digest in seen}
            # Two parts that hold the same conversation is rare, and nothing was written yet: do it again without.
            learned = work.do(part.read(), repeated) if repeated else done
            if part.reader:
                count = read.setdefault(part.log, [0, 0])
                count[0] += learned.calls + learned.known_calls
                count[1] += learned.calls - learned.unanswered + learned.known_calls + learned.orphans
            yield learned
    for lost in filter(None, (lost_in(log, *count) for log, count in read.items())):
        nothing = Fit()
        nothing.skip(lost)
        yield nothing


def _batches(items: Iterator[_Item]) -> Iterator[Iterator[_Item]]:
    """Give the items in runs, each of which has to be used up before the next: no more than one is held at a time."""
    for first in items:
        yield chain((first,), islice(items, _PART_CONVERSATIONS - 1))


def _parts(logs: Iterable[LogFile], name: str | None, watch: Watch | None) -> Iterator[_Part]:
    """Cut logs into parts of about equal work."""
    with Gathering() as gathering:
        for log in logs:
            with opened(log, name, watch) as found:
                if isinstance(found, Skipped):
                    yield _Part(conversations=(found,))
                elif found is not None:
                    reader, opened_log = found
                    path = None if opened_log.is_rewritten else reader.apart(opened_log.sample)
                    if path is None:
                        yield from _whole(read_whole(log.path, reader, opened_log, gathering))
                    else:
                        yield from _excerpts(log.path, reader.NAME, opened_log.pieces(path))
        yield from _whole(iter(gathering))


def _whole(items: Iterator[Read] | Iterator[Gathered]) -> Iterator[_Part]:
    for some in _batches(items):
        yield _Part(conversations=tuple(some))


def _excerpts(log: str, reader: str, pieces: Iterable[Piece | Skipped]) -> Iterator[_Part]:
    some: list[Piece | Skipped] = []
    size = 0
    for piece in pieces:
        some.append(piece)
        size += len(piece.raw) if isinstance(piece, Piece) else 0
        if size >= _PART_BYTES:
            yield _Part(log, reader, tuple(some))
            some.clear()
            size = 0
    if some:
        yield _Part(log, reader, tuple(some))


# ---- worker processes

_work: Work | None = None


def _begin(work: Work) -> None:
    global _work  # noqa: PLW0603 - the one way to hand a worker what all of its tasks need
    _work = work
    _listener(work.map_name, work.now)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent is gone: one that was killed cannot tell its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class _Wanted(list[str]):
    """Stands for what other parts hold, which a worker cannot know, and keeps what it is asked for."""

    def __contains__(self, digest: object) -> bool:
        self.append(str(digest))
        return False


def _do(part: _Part) -> tuple[Fit, list[str]]:
    assert _work is not None  # noqa: S101 - set by the initializer
    asked = _Wanted()
    return _work.do(part.read(), asked), [*asked]


@contextmanager
def _pool(workers: int, work: Work) -> Iterator[ProcessPoolExecutor]:
    # A fork starts at once with everything imported; it is safe only while no other Python thread may hold a lock.
    # (The numerical libraries' own threads, of which later Pythons warn, know about forks.)
    forks = sys.platform == "linux" and threading.active_count() == 1
    context = multiprocessing.get_context("fork" if forks else "spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(work,))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(
    pool: ProcessPoolExecutor, parts: Iterator[_Part], in_hand: int
) -> Iterator[tuple[_Part, tuple[Fit, list[str]]]]:
    """Give each part with what it taught and which digests it looked for, in their order; ``in_hand`` are on the way."""
    running: deque[tuple[_Part, Future[tuple[Fit, list[str]]]]] = deque()
    for part in parts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # see _pool
            running.append((part, pool.submit(_do, part)))
        if len(running) >= in_hand:
            first, done = running.popleft()
            yield first, done.result()
    for part, done in running:
        yield part, done.result()
