"""``btm fit``: posteriors from logs of past conversations."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from btm.cli.database import DEFAULT_DATABASE
from btm.cli.output import console, emit_json, progress_console, table
from btm.empirical_bayes import fit_priors
from btm.fallback import FallbackMap
from btm.posterior import Evidence
from btm.store.sql import SqlStore
from btm.traces.conversation import Conversation, Skipped
from btm.traces.findings import findings
from btm.traces.fit import Fit
from btm.traces.fit import fit as fit_conversations
from btm.traces.reading import read_conversations

_SHOWN = 12


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
@click.option("--dry-run", is_flag=True, help="Count, and write nothing.")
@click.option("--strict", is_flag=True, help="Stop at the first piece of a log that cannot be read.")
@click.option(
    "--half-life",
    "half_life_days",
    type=float,
    help="Days after which evidence counts half, for a new database (default: never).",
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
    half_life_days: float | None,
    as_json: bool,
) -> None:
    """Learn from LOGS: files, folders, globs, or - for stdin; plain, .gz or .zst; the format is told from the content.

    All evidence is added in one transaction at the end, each conversation once, whatever its file is called: an
    interrupted fit leaves the database as it was, and fitting the same logs again adds nothing.
    """
    fallback_map = FallbackMap.load(map_name) if map_name else FallbackMap.empty()
    now = time.time()
    store = SqlStore(
        None if dry_run else database, half_life_s=_half_life(database, dry_run, half_life_days), now=now
    )
    try:
        before = frozenset() if again else frozenset(f.digest for f in store.fitted())
        conversations = read_conversations(logs, format=form, strict=strict)
        done = fit_conversations(
            _with_progress(conversations, quiet=as_json),
            fallback_map,
            decay=store.decay,
            now=now,
            fitted_before=before,
        )
        if not dry_run:
            _write(store, done, again)
    finally:
        store.close()
    if as_json:
        emit_json(_document(done))
    else:
        _print(done, database, dry_run)


def _half_life(database: str, dry_run: bool, days: float | None) -> float | None:
    """Return the half-life to open with: what was asked for, none for a new database, an existing one's own."""
    if days is not None:
        return days * 86_400.0
    exists = not dry_run and ("://" in database or Path(database).exists())
    return None if exists else math.inf


def _write(store: SqlStore, done: Fit, again: bool) -> None:
    store.add_learned(done.rows(), fitted=() if again else done.fitted)
    store.save_priors(fit_priors(Evidence(store.evidence())))


def _with_progress(
    conversations: Iterable[Conversation | Skipped], *, quiet: bool
) -> Iterator[Conversation | Skipped]:
    out = progress_console()
    if quiet or not out.is_terminal:
        yield from conversations
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.completed:,} conversations"),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=out, transient=True) as progress:
        task = progress.add_task("reading", total=None)
        for item in conversations:
            yield item
            progress.advance(task)


def _document(done: Fit) -> dict[str, Any]:
    return {
        "conversations": done.conversations,
        "already_fitted": done.already_fitted,
        "calls": done.calls,
        "unanswered": done.unanswered,
        "errors": dict(done.errors.most_common()),
        "incidents": done.incidents,
        "attempts": done.attempts,
        "actions": dict(done.actions.most_common()),
        "formats": dict(done.formats.most_common()),
        "skipped": [{"file": s.file, "line": s.line, "reason": s.reason} for s in done.skipped],
        "findings": [{"tool": f.tool, "kind": f.kind, "text": f.text, "n": f.n} for f in findings(done.sums)],
    }


def _print(done: Fit, database: str, dry_run: bool) -> None:
    out = console()
    formats = ", ".join(f"{name} {count:,}" for name, count in done.formats.most_common())
    out.print(
        f"{done.conversations:,} conversations ({formats or 'none new'}), {done.calls:,} calls, "
        f"{sum(done.errors.values()):,} errors, {done.incidents:,} incidents, {done.attempts:,} attempts"
    )
    if done.already_fitted:
        out.print(f"{done.already_fitted:,} conversations were fitted before and add nothing")
    if done.errors:
        shown = table("error", "calls", "most at", numeric=("calls",))
        for kind, count in done.errors.most_common(_SHOWN):
            worst = max((n, tool) for (tool, k), n in done.tool_errors.items() if k is kind)
            shown.add_row(kind, f"{count:,}", f"{worst[1]} ({worst[0]:,})")
        out.print(shown)
    for finding in findings(done.sums)[:_SHOWN]:
        out.print(f"- {finding.text}")
    for skipped in done.skipped[:_SHOWN]:
        out.print(f"skipped {skipped}", style="yellow")
    if done.skipped_count > _SHOWN:
        out.print(f"skipped {done.skipped_count - _SHOWN:,} more", style="yellow")
    out.print(
        "Nothing was written."
        if dry_run
        else f"Learned into {database}; see it with: btm show --db {database}"
    )
