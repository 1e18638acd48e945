"""``btm export``: logs and databases in other forms."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click
import orjson
from rich.console import Console

from btm.cli.database import DEFAULT_DATABASE, open_existing
from btm.cli.output import console, emit_json, fail, progress_console
from btm.cli.skipped import print_skipped, skipped_rows
from btm.fallback import FallbackMap
from btm.traces.conversation import Skipped
from btm.traces.listening import Listener
from btm.traces.reading import read_conversations
from btm.traces.retelling import trajectory_of
from btm.traces.stored import stored_events

STDOUT = "-"
_DUMP = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS


@click.group("export")
def export() -> None:
    """Write logs as failure trajectories, or a database's calls as btm's own event log."""


_out = click.option(
    "-o", "--out", required=True, metavar="FILE.jsonl", help="The file to write, or - for stdout."
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@export.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOGS...")
@_out
@click.option("--map", "map_name", help="A fallback map (path or shipped name).")
@click.option("--format", "form", help="The logs' format, instead of telling it from their content.")
@click.option("--strict", is_flag=True, help="Stop at the first piece of a log that cannot be read.")
@click.option("--failures", is_flag=True, help="Leave out conversations without a failure.")
@_json
def trajectories(
    logs: tuple[str, ...],
    out: str,
    map_name: str | None,
    form: str | None,
    strict: bool,
    failures: bool,
    as_json: bool,
) -> None:
    """Write LOGS as failure trajectories, one a line: what failed, what the agent did, and whether that was right.

    Results and arguments are written as the logs hold them. Fitting the file teaches what fitting LOGS teaches.
    """
    fallback_map = FallbackMap.load(map_name) if map_name else FallbackMap.empty()
    listener = Listener(fallback_map, now=time.time())
    written, skipped = 0, []
    with _written(out, as_json) as file:
        for item in read_conversations(logs, format=form, strict=strict):
            if isinstance(item, Skipped):
                skipped.append(item)
                continue
            told = listener.listen(item)
            if failures and all(outcome.ok for _, outcome in told.outcomes):
                continue
            record = trajectory_of(item, told, fallback_map).to_json()
            file.write(orjson.dumps(record, option=_DUMP, default=str))
            written += 1
    if as_json:
        emit_json({"written": written, "out": out, "skipped": skipped_rows(skipped)})
        return
    said = _remarks(out)
    said.print(f"{written:,} trajectories in {out}", markup=False)
    print_skipped(skipped, len(skipped), said)


@export.command()
@click.option("--db", "database", default=DEFAULT_DATABASE, show_default=True, help="The database to read.")
@_out
@_json
def events(database: str, out: str, as_json: bool) -> None:
    """Write the calls that a database remembers as btm's own event log, which `btm fit` and `btm audit` read."""
    store = open_existing(database)
    written = 0
    try:
        with _written(out, as_json) as file:
            for line in stored_events(store):
                file.write(line)
                written += 1
    finally:
        store.close()
    if as_json:
        emit_json({"written": written, "out": out})
    else:
        _remarks(out).print(f"{written:,} events in {out}", markup=False)


def _remarks(out: str) -> Console:
    """Where remarks go: not among the lines that are written to stdout."""
    return progress_console() if out == STDOUT else console()


@contextmanager
def _written(out: str, as_json: bool) -> Iterator[BinaryIO]:
    """Open what is to be written: a file that appears whole, or stdout."""
    if out != STDOUT:
        with _replacing(out) as file:
            yield file
    elif as_json:
        fail("-o - and --json both want stdout; name a file for one of them")
    else:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()


@contextmanager
def _replacing(path: str) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when all of it is written, and not before."""
    target = Path(path)
    begun = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with begun.open("wb") as file:
            yield file
        begun.replace(target)
    finally:
        begun.unlink(missing_ok=True)
