"""``btm export``: logs and databases in other forms."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import BinaryIO

import click
import orjson
from rich.console import Console

from btm.cli.database import open_existing
from btm.cli.logs import heard_logs, print_skipped, skipped_rows
from btm.cli.options import FORMAT, JSON, LOGS, STRICT, database_option, map_option
from btm.cli.output import check_writable, console, counted, emit_json, fail, progress_console, replacing
from btm.logs.conversation import Skipped
from btm.logs.retelling import trajectory_of
from btm.logs.stored import stored_events

STDOUT = "-"
_DUMP = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS


@click.group("export")
def export() -> None:
    """Write logs as failure trajectories or fine-tuning samples, or a database's calls as an event log."""


_out = click.option(
    "-o", "--out", required=True, metavar="FILE.jsonl", help="The file to write, or - for stdout."
)


@export.command(short_help="Write logs as failure trajectories.")
@LOGS
@_out
@map_option()
@FORMAT
@STRICT
@click.option("--failures", is_flag=True, help="Leave out conversations without a failure.")
@JSON
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
    written = 0
    skipped: list[Skipped] = []
    quiet = as_json or out == STDOUT
    reading = heard_logs(logs, map_name, skipped, form=form, strict=strict, quiet=quiet)
    with reading as (fallback_map, heard), _written(out, as_json) as file:
        for conversation, told in heard:
            if failures and all(outcome.ok for _, outcome in told.outcomes):
                continue
            record = trajectory_of(conversation, told, fallback_map).to_json()
            file.write(orjson.dumps(record, option=_DUMP, default=str))
            written += 1
    if as_json:
        emit_json({"written": written, "out": out, "skipped": skipped_rows(skipped)})
        return
    said = _remarks(out)
    said.print(f"{written:,} {'trajectory' if written == 1 else 'trajectories'} in {out}", markup=False)
    print_skipped(skipped, len(skipped), said)


@export.command(short_help="Write logs as fine-tuning samples.")
@LOGS
@_out
@map_option()
@FORMAT
@STRICT
@JSON
def sft(
    logs: tuple[str, ...], out: str, map_name: str | None, form: str | None, strict: bool, as_json: bool
) -> None:
    """Write the conversations in LOGS that have a reward of 1 as fine-tuning samples, one a line, as they were.

    btm sft build makes samples of what went wrong, too; that needs an environment to run it in.
    """
    from btm.training.sft_logs import sample_of  # noqa: PLC0415 - only here

    written = read = 0
    skipped: list[Skipped] = []
    quiet = as_json or out == STDOUT
    reading = heard_logs(logs, map_name, skipped, form=form, strict=strict, quiet=quiet)
    with reading as (fallback_map, heard), _written(out, as_json) as file:
        for conversation, told in heard:
            read += 1
            sample = sample_of(conversation, told, fallback_map.domain if map_name else "")
            if sample is not None:
                file.write(orjson.dumps(sample.to_json(), option=_DUMP, default=str))
                written += 1
    if as_json:
        emit_json({"conversations": read, "written": written, "out": out, "skipped": skipped_rows(skipped)})
        return
    said = _remarks(out)
    said.print(f"{counted(written, 'sample')} of {counted(read, 'conversation')} in {out}", markup=False)
    print_skipped(skipped, len(skipped), said)


@export.command(short_help="Write a database's calls as an event log.")
@database_option("The database to read")
@_out
@JSON
def events(database: str, out: str, as_json: bool) -> None:
    """Write the calls that a database remembers as btm's own event log, which btm fit and btm audit read."""
    written = 0
    with closing(open_existing(database)) as store, _written(out, as_json) as file:
        for line in stored_events(store):
            file.write(line)
            written += 1
    if as_json:
        emit_json({"written": written, "out": out})
    else:
        _remarks(out).print(f"{counted(written, 'event')} in {out}", markup=False)


def _remarks(out: str) -> Console:
    """Where remarks go: not among the lines that are written to stdout."""
    return progress_console() if out == STDOUT else console()


@contextmanager
def _written(out: str, as_json: bool) -> Iterator[BinaryIO]:
    """Open what is to be written: a file that appears whole, or stdout."""
    if out != STDOUT:
        check_writable(out)
        with replacing(out) as file:
            yield file
    elif as_json:
        fail("-o - and --json both want stdout; name a file for one of them")
    else:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
