"""``btm doctor``: what is wrong here, and how to mend it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple

import click
from rich.markup import escape

from btm import __version__
from btm.cli.database import open_existing
from btm.cli.options import DEFAULT_DATABASE, JSON, POLICIES, map_option
from btm.cli.output import FOUND, console, emit_json, shown, table
from btm.errors import BTMError
from btm.fallback import FallbackMap
from btm.planning.policy import Policies
from btm.store import upkeep
from btm.store.schema import SCHEMA_VERSION
from btm.support.failsafe import disabled_by_environment

_OPTIONAL = {
    "langchain": "agents of LangChain 1.x",
    "fastmcp": "btm mcp",
    "psycopg": "PostgreSQL",
    "opentelemetry-api": "spans and metrics",
    "zstandard": "logs in .zst",
    "pyarrow": "Parquet",
}
_LITTLE_ROOM = 200 * 2**20
_SKEW_S = 300.0


class Remark(NamedTuple):
    """One thing that was looked at. ``cure`` is what to do about it; empty where nothing is to be done."""

    level: Literal["ok", "note", "wrong"]
    what: str
    found: str
    cure: str = ""


@click.command()
@click.option(
    "--db", "database", default=None, metavar="FILE", help="The database (default: btm.db, if it is there)."
)
@map_option()
@POLICIES
@JSON
def doctor(database: str | None, map_name: str | None, policies: str, as_json: bool) -> None:
    """Say what is wrong with this installation, its database and its authored files, and how to mend it.

    Exit code 1 when something is wrong.
    """
    remarks = [*_installation(), *_authored(map_name, policies), *_database(database)]
    if as_json:
        emit_json([remark._asdict() for remark in remarks])
    else:
        rows = ((level, what, escape(": ".join(filter(None, told)))) for level, what, *told in remarks)
        console().print(table("", "what", "found", rows=rows))
    raise SystemExit(FOUND if any(remark.level == "wrong" for remark in remarks) else 0)


def _installation() -> Iterator[Remark]:
    yield Remark("ok", "btm", f"{__version__}, Python {platform.python_version()} on {sys.platform}")
    if disabled_by_environment():
        yield Remark("wrong", "BTM_DISABLED", "btm is off", "every call passes it by; unset the variable")
    for package, purpose in _OPTIONAL.items():
        try:
            yield Remark("ok", package, f"{metadata.version(package)}, for {purpose}")
        except metadata.PackageNotFoundError:
            yield Remark("note", package, f"not installed; only {purpose} would need it")


def _authored(map_name: str | None, policies: str) -> Iterator[Remark]:

    try:
        yield Remark("ok", f"policies {policies}", f"{len(Policies.load(policies).rules)} rules")
    except BTMError as problem:
        yield Remark("wrong", f"policies {policies}", str(problem))
    if map_name is None:
        return
    try:
        yield Remark("ok", f"map {map_name}", f"{len(FallbackMap.load(map_name).tools)} tools")
    except BTMError as problem:
        yield Remark("wrong", f"map {map_name}", str(problem), f"see 'btm map check {map_name}'")


def _database(named: str | None) -> Iterator[Remark]:
    where = named or DEFAULT_DATABASE
    if named is None and not Path(where).exists():
        yield Remark("note", "database", f"none is named, and there is no {where} here", "name one with --db")
        return
    try:
        yield from _of_database(where)
    except (BTMError, OSError) as problem:
        yield Remark("wrong", f"database {shown(where)}", str(problem))


def _of_database(where: str) -> Iterator[Remark]:

    what = f"database {shown(where)}"
    with closing(open_existing(where)) as store:
        found = upkeep.info(store)
        for problem in upkeep.problems(store):
            said, _, cure = problem.partition(": ")
            yield Remark("wrong", what, said, cure)
    yield Remark(
        "ok",
        what,
        f"{found.rows['calls']:,} calls, {found.rows['evidence']:,} posteriors, {found.bytes / 1e6:,.1f} MB",
    )
    if found.schema_version < SCHEMA_VERSION:
        yield Remark(
            "note",
            what,
            f"schema {found.schema_version} of {SCHEMA_VERSION}",
            "'btm db migrate' brings it along",
        )
    ahead = (found.latest_call_at or 0.0) - time.time()
    if ahead > _SKEW_S:
        yield Remark(
            "wrong",
            "clock",
            f"calls lie {ahead:.0f} s ahead of this clock",
            "set the clocks of all hosts by NTP",
        )
    if found.unsettled:
        yield Remark(
            "note",
            what,
            f"{found.unsettled} writes may have happened",
            "guard and act mode verify them before a repeat",
        )
    if "://" in where:
        return
    if not (os.access(where, os.W_OK) and os.access(Path(where).absolute().parent, os.W_OK)):
        yield Remark("wrong", what, "it may not be written", "make the file and its folder writable")
    room = shutil.disk_usage(Path(where).absolute().parent).free
    if room < _LITTLE_ROOM:
        yield Remark(
            "wrong",
            "disk",
            f"{room / 2**20:.0f} MB are free",
            "make room, or have less kept: 'btm db keep 30d'",
        )
