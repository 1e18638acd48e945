"""``btm db``: looking after a database."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any

import click

from btm.cli.database import open_existing
from btm.cli.options import JSON, age_s, database_option
from btm.cli.output import FOUND, check_writable, console, counted, emit_json, fail, replacing, shown, table
from btm.store import upkeep
from btm.store.dump import lines, read_into
from btm.store.forgetting import Removed
from btm.store.sql import SqlStore
from btm.support.open_files import open_to_read

DATABASE = database_option("The database")


@click.group("db", short_help="Look after a database: what it holds, whether it is sound; back up, forget.")
def db_group() -> None:
    """Look after a database."""


def _opened(where: str) -> SqlStore:
    """Open a database to change it; it must be there."""
    open_existing(where).close()
    return SqlStore(where, now=time.time())


@db_group.command("info", short_help="Say what a database holds.")
@DATABASE
@JSON
def info(database: str, as_json: bool) -> None:
    """Say what a database holds, how old it is, and what waits for it."""
    with closing(open_existing(database)) as store:
        found = upkeep.info(store)
    if as_json:
        emit_json(asdict(found))
        return
    out = console()
    kept = "for ever" if found.keep_s is None else f"{found.keep_s / upkeep.DAY_S:g} days"
    half = f"{found.half_life_s / upkeep.DAY_S:g} days" if found.half_life_s < float("inf") else "never"
    rows = (
        ("size", f"{found.bytes / 1e6:,.1f} MB"),
        ("schema", str(found.schema_version)),
        ("evidence counts half after", half),
        ("calls and attempts are kept", kept),
        ("calls", f"{found.rows['calls']:,} of {counted(found.tools, 'tool')}"),
        ("first and latest call", f"{_when(found.first_call_at)}, {_when(found.latest_call_at)}"),
        ("incidents, attempts", f"{found.rows['incidents']:,}, {found.rows['attempts']:,}"),
        ("posteriors", f"{found.rows['evidence']:,}"),
        ("conversations of logs fitted", f"{found.rows['fitted']:,}"),
        ("writes that may have happened", f"{found.unsettled:,}"),
        *(("events wait in", name) for name in found.waiting),
    )
    out.print(found.where, markup=False)
    out.print(table("what", "", rows=rows))


def _when(at: float | None) -> str:
    try:
        return "none" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return f"{at:.0f}"


@db_group.command("check", short_help="Check that a database is sound (exit 1 if not).")
@DATABASE
@JSON
def check(database: str, as_json: bool) -> None:
    """Check a database: the file, its numbers against its log, who may read it, what waits for it."""
    with closing(open_existing(database)) as store:
        found = upkeep.problems(store)
    if as_json:
        emit_json({"database": shown(database), "problems": found})
    elif not found:
        console().print(f"{shown(database)}: nothing wrong", markup=False)
    for problem in found if not as_json else ():
        console().print(f"{shown(database)}: {problem}", markup=False)
    raise SystemExit(FOUND if found else 0)


@db_group.command("compact", short_help="Give back the room of what was removed.")
@DATABASE
def compact(database: str) -> None:
    """Rewrite a database without what was removed from it; nobody else may use it meanwhile."""
    _sized(database, upkeep.compact)


def _sized(database: str, change: Callable[[SqlStore], Any]) -> None:
    with closing(_opened(database)) as store:
        before = upkeep.info(store).bytes
        change(store)
    with closing(open_existing(database)) as store:
        after = upkeep.info(store).bytes
    console().print(f"{shown(database)}: {before / 1e6:,.1f} MB, now {after / 1e6:,.1f} MB", markup=False)


@db_group.command("backup", short_help="Copy a database while it is used.")
@DATABASE
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="The copy; an existing file is not touched."
)
def backup(database: str, output: str) -> None:
    """Copy a SQLite database as it is at one moment, with its hash key, while others use it."""
    check_writable(output)
    with closing(open_existing(database)) as store:
        upkeep.backup(store, output)
    console().print(f"{output}: a copy of {shown(database)}", markup=False)


@db_group.command("export", short_help="Write a whole database as lines of JSON.")
@DATABASE
@click.option("-o", "--output", default="-", metavar="FILE", help="Where to write.")
@click.option("--with-key", is_flag=True, help="Write the hash key, too: for a database to go on with.")
def export(database: str, output: str, with_key: bool) -> None:
    """Write a whole database as lines of JSON, which 'btm db import' reads into another one."""
    with closing(open_existing(database)) as store:
        if output == "-":
            sys.stdout.buffer.writelines(lines(store, with_key=with_key))
            return
        check_writable(output)
        with replacing(output, private=with_key) as file:
            file.writelines(lines(store, with_key=with_key))


@db_group.command("import", short_help="Make a database of what 'btm db export' wrote.")
@click.argument("source", metavar="FILE|-")
@DATABASE
@JSON
def import_(source: str, database: str, as_json: bool) -> None:
    """Make a new database (a file, or at a URL) of the lines that 'btm db export' wrote."""
    if source == "-":
        counts = read_into(database, sys.stdin.buffer)
    else:
        with open_to_read(source) as file:
            counts = read_into(database, iter(partial(_line_of, file), b""))
    _print_counts(counts, "rows read into", database, as_json=as_json)


def _line_of(file: Any) -> bytes:
    line: bytes = file.readline()
    return line


def _print_counts(counts: Removed, what: str, database: str, *, as_json: bool) -> None:
    if as_json:
        emit_json(dict(counts))
        return
    told = ", ".join(f"{number:,} {name}" for name, number in counts.items()) or "none"
    console().print(f"{what} {shown(database)}: {told}", markup=False)


@db_group.command("forget", short_help="Remove a tool or a conversation for good.")
@DATABASE
@click.option("--tool", metavar="NAME", help="A tool: its calls, and what was learned of it.")
@click.option("--conversation", metavar="NAME", help="A conversation: its calls, and what they taught.")
@JSON
def forget(database: str, tool: str | None, conversation: str | None, as_json: bool) -> None:
    """Remove a tool or a conversation, from the file's bytes too; nobody else may use the database meanwhile.

    What btm fit learned from a log is kept as sums that name no conversation, and stays. So do backups.
    """
    if (tool is None) == (conversation is None):
        fail("name one of --tool and --conversation")
    with closing(_opened(database)) as store:
        removed = upkeep.forget(store, tool=tool, conversation=conversation)
    _print_counts(removed, "rows removed from", database, as_json=as_json)


@db_group.command("keep", short_help="Say how long calls and attempts are kept.")
@click.argument("age", metavar="AGE|forever")
@DATABASE
@JSON
def keep(age: str, database: str, as_json: bool) -> None:
    """Remove calls, incidents and attempts older than AGE (12h, 30d, 8w), now and once a day from now on.

    What they taught stays; writes that may have happened are kept.
    """
    seconds = None if age == "forever" else age_s(age)
    with closing(_opened(database)) as store:
        removed = upkeep.keep(store, seconds, time.time())
    _print_counts(removed, "rows removed from", database, as_json=as_json)


@db_group.command("migrate", short_help="Bring an older database to the present schema.")
@DATABASE
def migrate(database: str) -> None:
    """Bring a database to the present schema, as the first memory that opens it would; a copy is kept beside it."""
    with closing(open_existing(database)) as store:
        before = upkeep.info(store).schema_version
    with closing(_opened(database)) as store:
        after = upkeep.info(store).schema_version
    said = f"schema {after}" if before == after else f"schema {before}, now {after}"
    console().print(f"{shown(database)}: {said}", markup=False)
