"""What every command shares: one JSON document for scripts, tables for people, and the exit codes.

Exit codes: 0 fine, 1 the check found something, 2 wrong usage or unreadable input. What ends a command from outside
has the shell's own codes, so that no script takes it for a finding.
"""

from __future__ import annotations

import errno
import sys
from typing import Any, NoReturn

import orjson
from rich.console import Console
from rich.table import Table

FOUND = 1
USAGE = 2
INTERRUPTED = 130
UNREAD = 141
"""Whoever read the output in a pipe has stopped reading."""
_PIPE_WIDTH = 160


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # rich's own answer is exit code 1, which says that a check found something
        raise BrokenPipeError(errno.EPIPE, "nobody reads the output")


def console() -> Console:
    """Return a console on stdout: colour on a terminal, plain text of a fixed width in a pipe."""
    # A pipe has no width of its own; this one is enough that no table folds its names.
    return _Console(highlight=False) if sys.stdout.isatty() else _Console(highlight=False, width=_PIPE_WIDTH)


def progress_console() -> Console:
    """Return a console on stderr, for progress and remarks that must not mix with the output."""
    return Console(stderr=True, highlight=False)


def emit_json(document: Any) -> None:
    """Print ``document`` as the one JSON document of a ``--json`` run."""
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
    sys.stdout.write(text.decode() + "\n")


def table(*columns: str, title: str | None = None, numeric: tuple[str, ...] = ()) -> Table:
    """Return an empty table in the common style; columns named in ``numeric`` are set to the right."""
    made = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        made.add_column(column, justify="right" if column in numeric else "left", overflow="fold")
    return made


def fail(message: str) -> NoReturn:
    """End the command: wrong usage or unreadable input."""
    sys.stderr.write(f"btm: {message}\n")
    raise SystemExit(USAGE)
