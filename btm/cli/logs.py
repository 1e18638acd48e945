"""What the commands that read logs share: the bar on a terminal, and what they say of pieces that cannot be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from btm.cli.output import progress_console
from btm.fallback import FallbackMap
from btm.logs.conversation import Conversation, Skipped
from btm.logs.learned import heard_once
from btm.logs.listening import Listener, Told
from btm.logs.reading import read_conversations
from btm.logs.source import STDIN, Watch, find_logs

_SHOWN = 12
_REFRESH_S = 0.1


@contextmanager
def reading(
    logs: Sequence[str], *, quiet: bool = False
) -> Iterator[tuple[Watch | None, Callable[[int], None]]]:
    """Show on a terminal how far ``logs`` are read: give what to tell of bytes that were read, and of conversations."""
    out = progress_console()
    if quiet or not out.is_terminal:
        yield None, lambda conversations: None  # noqa: ARG005 - there is nobody to tell
        return
    columns = (
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %  {task.fields[conversations]:,} conversations"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    sizes = [Path(log.path).stat().st_size for log in find_logs(logs) if log.path != STDIN]
    # It refreshes when it is told something, not from a thread of its own: workers are forked while it shows.
    with Progress(*columns, console=out, transient=True, auto_refresh=False) as progress:
        task = progress.add_task("read", total=sum(sizes) or None, conversations=0)
        done, shown_at = 0, 0.0

        def tell(size: int = 0, conversations: int = 0) -> None:
            nonlocal done, shown_at
            done += conversations
            now = time.monotonic()
            refresh = now - shown_at > _REFRESH_S
            shown_at = now if refresh else shown_at
            progress.update(task, advance=size, conversations=done, refresh=refresh)

        yield tell, lambda conversations: tell(0, conversations)
        progress.refresh()


@contextmanager
def read_logs(
    logs: Sequence[str],
    skipped: list[Skipped],
    *,
    form: str | None = None,
    strict: bool = False,
    quiet: bool = False,
) -> Iterator[Iterator[Conversation]]:
    """Give the conversations of ``logs``, with a bar on a terminal; what cannot be read is added to ``skipped``."""
    with reading(logs, quiet=quiet) as (watch, count):

        def conversations() -> Iterator[Conversation]:
            for item in read_conversations(logs, format=form, strict=strict, watch=watch):
                if isinstance(item, Skipped):
                    skipped.append(item)
                else:
                    count(1)
                    yield item

        yield conversations()


@contextmanager
def heard_logs(
    logs: Sequence[str], map_name: str | None, skipped: list[Skipped], **reading: Any
) -> Iterator[tuple[FallbackMap, Iterator[tuple[Conversation, Told]]]]:
    """Give the map of that name (None: an empty one), and each conversation of ``logs`` once with what its calls came to.

    ``reading`` is what :func:`read_logs` takes.
    """
    fallback_map = FallbackMap.load(map_name) if map_name else FallbackMap.empty()
    with read_logs(logs, skipped, **reading) as conversations:
        yield fallback_map, heard_once(conversations, Listener(fallback_map, now=time.time()))


def skipped_rows(skipped: Sequence[Skipped]) -> list[dict[str, str | int]]:
    """Return skipped pieces as JSON values."""
    return [{"file": s.file, "line": s.line, "reason": s.reason} for s in skipped]


def print_skipped(skipped: Sequence[Skipped], count: int, out: Console) -> None:
    """Print the first of ``count`` skipped pieces, and how many more there are."""
    for item in skipped[:_SHOWN]:
        out.print(f"skipped {item}", style="yellow", markup=False)
    if count > _SHOWN:
        out.print(f"skipped {count - _SHOWN:,} more", style="yellow")
