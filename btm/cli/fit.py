"""``btm fit``: posteriors from logs of past conversations."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from btm.cli.database import DEFAULT_DATABASE
from btm.cli.fit_report import document, show
from btm.cli.output import emit_json, fail, progress_console
from btm.empirical_bayes import fit_priors
from btm.posterior import Evidence
from btm.store.sql import SqlStore
from btm.traces.attempts_table import AttemptsFile
from btm.traces.fit import Fit
from btm.traces.fitting import Work, fit_logs
from btm.traces.reading import logs_to_read
from btm.traces.source import STDIN, Watch, find_logs


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOGS...")
@click.option(
    "--db",
    "database",
    default=DEFAULT_DATABASE,
    show_default=True,
    help="The database to add to (path or URL).",
)
@click.option(
    "--map",
    "map_name",
    help="A fallback map (path or shipped name): says what is a switch, repair or verify.",
)
@click.option("--format", "form", help="The logs' format, instead of telling it from their content.")
@click.option("--again", is_flag=True, help="Also learn from conversations that were fitted before.")
@click.option("--dry-run", is_flag=True, help="Count, and write no database.")
@click.option("--strict", is_flag=True, help="Stop at the first piece of a log that cannot be read.")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes that work."
)
@click.option(
    "--half-life",
    "half_life_days",
    type=click.FloatRange(0.0, min_open=True),
    help="Days after which evidence counts half, for a new database (default: never).",
)
@click.option(
    "--emit", metavar="FILE.parquet", help="Also write every attempt, for a fit by DuckDB or Spark."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def fit(
    logs: tuple[str, ...],
    database: str,
    map_name: str | None,
    form: str | None,
    again: bool,
    dry_run: bool,
    strict: bool,
    workers: int,
    half_life_days: float | None,
    emit: str | None,
    as_json: bool,
) -> None:
    """Learn from LOGS: files, folders, globs, or - for stdin; plain, .gz or .zst; the format is told from the content.

    All evidence is added in one transaction at the end, each conversation once, whatever its file is called: an
    interrupted fit leaves the database as it was, and fitting the same logs again adds nothing.
    """
    if STDIN not in logs:
        logs_to_read(logs, form)  # a wrong path is reported before a database is made
    now = time.time()
    half_life_s = _half_life(database, dry_run, half_life_days)
    store = SqlStore(None if dry_run else database, half_life_s=half_life_s, now=now)
    try:
        before = store.fitted_digests()
        work = Work(map_name, store.decay, now, frozenset() if again else before, keep=emit is not None)
        with (
            AttemptsFile(emit, work.decay) if emit is not None else nullcontext() as file,
            _progress(logs, quiet=as_json) as (watch, count),
        ):

            def on_part(part: Fit) -> None:
                count(part.conversations)
                if file is not None:
                    file.add(part.made)
                    part.made.clear()

            done = fit_logs(
                logs, work, workers=workers, format=form, strict=strict, watch=watch, on_part=on_part
            )
        if not dry_run:
            _write(store, done, before)
    finally:
        store.close()
    if as_json:
        emit_json(document(done))
    else:
        show(done, None if dry_run else database, details=dry_run)


def _half_life(database: str, dry_run: bool, days: float | None) -> float | None:
    """Return the half-life to open with: what was asked for, none for a new database, an existing one's own."""
    if days is not None and math.isnan(days):
        fail("--half-life is a number of days above 0, not nan")
    if days is not None:
        return days * 86_400.0
    exists = not dry_run and ("://" in database or Path(database).exists())
    return None if exists else math.inf


def _write(store: SqlStore, done: Fit, before: frozenset[str]) -> None:
    """Add what was learned, and the priors it leads to, in one transaction."""
    evidence = Evidence(store.evidence())
    for key, successes, failures in done.rows():
        evidence.add(key, successes, failures)
    evidence.rescale(store.decay.scale(time.time()))  # pooling is fitted to what the evidence weighs now
    new = (fitted for fitted in done.fitted if fitted.digest not in before)
    store.add_learned(done.rows(), fitted=new, priors=fit_priors(evidence))


@contextmanager
def _progress(logs: tuple[str, ...], *, quiet: bool) -> Iterator[tuple[Watch | None, Callable[[int], None]]]:
    """Show how far the fit is, on a terminal: what to tell of bytes that were read, and of conversations."""
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
        task = progress.add_task("fit", total=sum(sizes) or None, conversations=0)
        fitted = 0

        def count(conversations: int) -> None:
            nonlocal fitted
            fitted += conversations
            progress.update(task, conversations=fitted, refresh=True)

        yield lambda size: progress.update(task, advance=size, refresh=True), count
