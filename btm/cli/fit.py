"""``btm fit``: posteriors from logs of past conversations."""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from pathlib import Path

import click

from btm.cli.fit_report import document, show
from btm.cli.logs import reading
from btm.cli.options import FORMAT, JSON, LOGS, STRICT, Number, database_option, map_option
from btm.cli.output import FOUND, check_writable, emit_json, fail, shown
from btm.fallback import FallbackMap
from btm.learning.posterior import Evidence
from btm.learning.priors import fit_priors
from btm.logs.attempts_table import AttemptsFile
from btm.logs.fit import Fit
from btm.logs.fitting import Work, fit_logs, suitable_workers
from btm.logs.reading import logs_to_read
from btm.logs.source import STDIN
from btm.store.sql import SqlStore


@click.command()
@LOGS
@database_option("The database to add to")
@map_option("what is a switch, repair or verify")
@FORMAT
@click.option("--again", is_flag=True, help="Also learn from conversations that were fitted before.")
@click.option("--dry-run", is_flag=True, help="Count, and write no database.")
@STRICT
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    help="Processes that work (default: one for each processor, and one alone for a few megabytes).",
)
@click.option(
    "--half-life",
    "half_life_days",
    type=Number(0.0, min_open=True),
    help="Days after which evidence counts half, for a new database (default: never).",
)
@click.option(
    "--emit", metavar="FILE.parquet", help="Also write every attempt, for a fit by DuckDB or Spark."
)
@JSON
def fit(
    logs: tuple[str, ...],
    database: str,
    map_name: str | None,
    form: str | None,
    again: bool,
    dry_run: bool,
    strict: bool,
    workers: int | None,
    half_life_days: float | None,
    emit: str | None,
    as_json: bool,
) -> None:
    """Learn from LOGS: files, folders, globs, or - for stdin; plain, .gz or .zst; the format is told from the content.

    All evidence is added in one transaction at the end, each conversation once, whatever its file is called: an
    interrupted fit leaves the database as it was, and fitting the same logs again adds nothing.
    """
    # A wrong path is reported before a database is made.
    if STDIN not in logs and not logs_to_read(logs, form):
        fail(f"there is no file in {', '.join(logs)}")
    if emit is not None:
        check_writable(emit)
    now = time.time()
    store = _opened(None if dry_run else database, half_life_days, now)
    try:
        before = store.fitted_digests()
        nothing: frozenset[str] = frozenset()
        known, lived = (nothing, nothing) if again else (before, store.conversations())
        work = Work(map_name, store.decay, now, known, lived, keep=emit is not None)
        with (
            AttemptsFile(emit, work.decay) if emit is not None else nullcontext() as file,
            reading(logs, quiet=as_json) as (watch, count),
        ):

            def on_part(part: Fit) -> None:
                count(part.conversations)
                if file is not None:
                    file.add(part.made)
                    part.made.clear()

            workers = workers or suitable_workers(logs)
            done = fit_logs(
                logs, work, workers=workers, format=form, strict=strict, watch=watch, on_part=on_part
            )
        if not dry_run:
            _write(store, done, before)
    finally:
        store.close()
    fallback_map = FallbackMap.load(map_name) if map_name else FallbackMap.empty()
    if as_json:
        emit_json(document(done, fallback_map))
    else:
        show(done, None if dry_run else database, fallback_map, details=dry_run)
    if done.lost:
        raise SystemExit(FOUND)


def _opened(database: str | None, half_life_days: float | None, now: float) -> SqlStore:
    """Open the database to add to; a new one never forgets unless that is asked for, an existing one keeps its pace."""
    asked = half_life_days * 86_400.0 if half_life_days is not None else None
    if database is not None and "://" in database:
        return SqlStore(database, half_life_s=asked, now=now)
    if database is not None:
        check_writable(database)
    if database is None or not Path(database).exists() or not Path(database).stat().st_size:
        return SqlStore(database, half_life_s=math.inf if asked is None else asked, now=now)
    store = SqlStore(database, now=now)
    kept = store.decay.half_life_s
    if asked is not None and kept != asked:
        store.close()
        pace = "never forgets" if kept == math.inf else f"forgets half in {kept / 86_400.0:g} days"
        fail(
            f"{shown(database)} {pace}, and a database keeps its pace: leave out --half-life, or name a new one with --db"
        )
    return store


def _write(store: SqlStore, done: Fit, before: frozenset[str]) -> None:
    """Add what was learned, and the priors it leads to, in one transaction."""
    now = time.time()
    held, evidence = store.load(now), Evidence()
    # Pooling is fitted to what the evidence weighs now.
    for rows, scale in ((held.evidence, held.scale(now)), (done.rows(), store.decay.scale(now))):
        for key, successes, failures in rows:
            evidence.add(key, successes * scale, failures * scale)
    new = (fitted for fitted in done.fitted if fitted.digest not in before)
    store.add_learned(done.rows(), fitted=new, priors=fit_priors(evidence))
