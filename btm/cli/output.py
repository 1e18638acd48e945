"""What every command shares: one JSON document for scripts, tables for people, and the exit codes.

Exit codes: 0 fine, 1 the check found something, 2 wrong usage or unreadable input. What ends a command from outside
has the shell's own codes, and a fault of btm itself that of ``sysexits.h``, so that no script takes them for a finding.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import orjson
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

FOUND = 1
USAGE = 2
FAULT = 70
INTERRUPTED = 130
UNREAD = 141
"""Whoever read the output in a pipe has stopped reading."""
_PIPE_WIDTH = 160
BAR = 20
"""How many characters a bar of text has."""


class _Console(Console):
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        # Names come from logs and models: what would steer the terminal is left out, only rich's own codes get there.
        for segment in super().render(renderable, options):
            text = segment.text
            if segment.control or _is_plain(text):
                yield segment
            else:
                yield Segment("".join(filter(_shows, text)), segment.style)

    def on_broken_pipe(self) -> None:
        # rich's own answer is exit code 1, which says that a check found something
        raise BrokenPipeError(errno.EPIPE, "the reader of the output is gone")


def _is_plain(text: str) -> bool:
    return text.isprintable() or all(line.isprintable() for line in text.split("\n"))


def _shows(character: str) -> bool:
    return character.isprintable() or character == "\n"


def on_a_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return sys.stdout.isatty()


def console() -> Console:
    """Return a console on stdout: colour on a terminal, plain text of a fixed width in a pipe."""
    # A pipe has no width of its own; this one is enough that no table folds its names.
    return _Console(highlight=False) if on_a_terminal() else _Console(highlight=False, width=_PIPE_WIDTH)


def progress_console() -> Console:
    """Return a console on stderr, for progress and remarks that must not mix with the output."""
    return _Console(stderr=True, highlight=False)


@contextmanager
def progress(what: str, noun: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar with the time left while stderr is a terminal; what is given is told how many of how many are done."""
    if not sys.stderr.isatty():
        yield lambda done, total: None  # noqa: ARG005 - there is nobody to tell
        return
    from rich.progress import (  # noqa: PLC0415 - slow to import
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    left = (TimeRemainingColumn(), TextColumn("left"))
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn(noun), *left)
    with Progress(*columns, console=progress_console(), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def emit_json(document: Any) -> None:
    """Print ``document`` as the one JSON document of a ``--json`` run."""
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
    sys.stdout.write(inert(text.decode()) + "\n")


def inert(text: str) -> str:
    """Return a JSON text with whatever would steer a terminal, or turn a line about, escaped."""
    if _is_plain(text):
        return text
    return "".join(c if _shows(c) else json.dumps(c)[1:-1] for c in text)


def shown(database: str) -> str:
    """Return a database's path or URL as it may be seen: without its password."""
    return re.sub(r"(?<=://)([^:/?]*:).*(?=@)|([?&]password=)[^&]*", r"\1\2***", database)


def table(
    *columns: str, rows: Iterable[Iterable[object]] = (), title: str | None = None, once: bool = False
) -> Table:
    """Return a table in the common style; a column ``>calls`` is named ``calls`` and set to the right.

    With ``once``, what several rows after each other have in their first column is shown in the first of them.
    """
    made = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        number = column.startswith(">")
        made.add_column(column.removeprefix(">"), justify="right" if number else "left", overflow="fold")
    last = None
    for row in rows:
        first, *others = map(str, row)
        made.add_row("" if once and first == last else first, *others)
        last = first
    return made


def interval_bar(low: float, mean: float, high: float, width: int = BAR) -> str:
    """Return ``····━━━●━━····``: the 95 % interval from 0 to 1, with the mean marked."""

    def cell(value: float) -> int:
        return min(int(value * width), width - 1)

    cells = ["·"] * width
    for index in range(cell(low), cell(high) + 1):
        cells[index] = "━"
    cells[cell(mean)] = "●"
    return "".join(cells)


def compared(difference: float, low: float, high: float, p: float) -> tuple[str, str, str]:
    """Return a difference of two shares as cells of a table: in points, its interval, and its p."""
    told = "< 0.001" if p < 0.001 else f"{p:.3f}"
    return f"{difference * 100:+.0f} points", f"{low * 100:+.0f} to {high * 100:+.0f}", told


def paragraph(
    out: Console, text: str, *, first: str = "", rest: str = "", style: str = "", width: int | None = None
) -> None:
    """Print a paragraph as data, never as markup; ``first`` stands before its first line, ``rest`` before the others."""
    lines = textwrap.wrap(
        text,
        min(width or out.width, out.width),
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
    )
    for line in lines or [first.rstrip()]:
        out.print(Text(line, style=style))


def listed(items: Iterable[str], width: int) -> str:
    """Return items with commas between them, in lines of about ``width`` characters that end between two items."""
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(item) + 3 <= width:
            lines[-1] += f", {item}"
        else:
            lines.append(item)
    return ",\n".join(lines)


def counted(number: int, noun: str) -> str:
    """Return ``1 call``, ``2 calls``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """Return ``56 %``."""
    return f"{share * 100:.0f} %"


def check_writable(path: str) -> None:
    """End the command when a file could not be written because of where it is to stand, before any work is done."""
    target = Path(path)
    if target.is_dir():
        fail(f"{path} is a folder; name the file to write")
    if not target.parent.exists():
        fail(f"there is no folder {target.parent} to write {path} in")
    if not target.parent.is_dir():
        fail(f"{target.parent} is no folder, so {path} cannot be written")


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write a file, or end the command when it cannot be written."""
    try:
        Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())
    except OSError as problem:
        fail(f"{path} cannot be written: {problem.strerror or problem}")


@contextmanager
def replacing(path: str | Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when all of it is written, and not before; who may read it stays.

    A new file is for all whom the process lets read files, or (``private``) for its owner. What is there and is no regular
    file (a device, a pipe) is written as it is.
    """
    named = Path(path)
    if named.exists() and not named.is_file():  # asked of the name itself: /dev/stdout leads to no path
        with named.open("wb") as file:
            yield file
        return
    target = named.resolve()  # a link stays a link
    with _naming(path):
        handle, begun = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            if target.exists():
                shutil.copymode(target, begun)
            elif not private:
                Path(begun).chmod(0o666 & ~_umask())
            yield file
        with _naming(path):
            _put(Path(begun), target)
    finally:
        Path(begun).unlink(missing_ok=True)


def _put(begun: Path, target: Path) -> None:
    try:
        begun.replace(target)
    except OSError as problem:
        if problem.errno != errno.EBUSY:
            raise
        shutil.copyfile(begun, target)  # a file that a container has mounted can only be written into


@contextmanager
def _naming(path: str | Path) -> Iterator[None]:
    """Say the user's own name of a file in what goes wrong: nobody asked for the other one."""
    try:
        yield
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(path)) from problem


def _umask() -> int:
    """Return what the process takes from the rights of new files; it can only be asked by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def remark(message: str) -> None:
    """Say something on stderr that a person may want to know and no script depends on."""
    sys.stderr.write(f"btm: {message}\n")


def fail(message: str) -> NoReturn:
    """End the command: wrong usage or unreadable input."""
    remark(message)
    raise SystemExit(USAGE)
