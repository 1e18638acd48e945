"""``btm judge`` and ``btm review``: calls that seemed to work and did not do what was wanted."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from btm.cli.logs import print_skipped, read_logs, skipped_rows
from btm.cli.options import FORMAT, JSON, LOGS, STRICT, Number, map_option
from btm.cli.output import check_writable, console, emit_json, fail, percent
from btm.fallback import FallbackMap
from btm.judge.agreement import EXPECTED, RECHECKED, Agreement, agreement, picked
from btm.judge.evidence import Applied, settle
from btm.judge.judging import judge_logs
from btm.judge.models import judge_of
from btm.judge.record import CallName, JudgedCall, ReviewRow, VerdictFile
from btm.judge.verdict import CallState
from btm.lab.intervals import wilson
from btm.logs.conversation import Skipped
from btm.logs.listening import Listener

_database = click.option(
    "--db", "database", metavar="FILE", help="Move the evidence of this database, to which LOGS were fitted."
)


@click.command("judge")
@LOGS
@click.option("--model", default="rules", help="rules, or a model such as openai:gpt-4o.")
@click.option("--second", help="The second judge. Without one no verdict is agreed about.")
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible server for both models.")
@click.option("-o", "--out", default="verdicts.jsonl", metavar="FILE.jsonl")
@_database
@map_option("what is a switch, repair or verify")
@click.option("--limit", type=click.IntRange(1), help="Calls to judge, at most.")
@click.option("--undo", is_flag=True, help="Ask nobody: move back, in --db, what these verdicts moved.")
@FORMAT
@STRICT
@JSON
def judge_command(
    logs: tuple[str, ...],
    model: str,
    second: str | None,
    base_url: str | None,
    out: str,
    database: str | None,
    map_name: str | None,
    limit: int | None,
    undo: bool,
    form: str | None,
    strict: bool,
    as_json: bool,
) -> None:
    """Judge the calls in LOGS that seem to have worked: did they do what was wanted?

    Verdicts are appended to a file; what stands there is not asked again. Calls that both judges found wanting count as
    failed in --db, once. Where they differ a person decides: btm review.
    """
    if undo and database is None:
        fail("--undo needs --db: verdicts without a database have moved nothing")
    check_writable(out)
    if second is not None and second == model and not model.startswith("fake:"):
        fail("--second is the same judge as --model: it would always agree")
    judges = [] if undo else [judge_of(name, base_url) for name in (model, *([second] if second else []))]
    if second == model and judges:
        judges[1] = replace(judges[1], name=f"{second} again")
    fallback_map = FallbackMap.load(map_name) if map_name else FallbackMap.empty()
    listener, file, skipped = Listener(fallback_map, now=time.time()), VerdictFile(out), list[Skipped]()
    with read_logs(logs, skipped, form=form, strict=strict, quiet=as_json) as conversations:
        done = judge_logs(conversations, listener, judges, file, clock=time.time, limit=limit)
    applied = _applied(database, file, undo=undo)
    found = agreement(judged for _, judged in file)
    if as_json:
        moved = {} if applied is None else asdict(applied)
        emit_json({**asdict(done), **_row(found), **moved, "out": out, "skipped": skipped_rows(skipped)})
        return
    said = console()
    said.print(
        f"{done.calls:,} calls, {done.asked:,} verdicts asked for, {done.requests:,} requests", markup=False
    )
    _show(found, applied)
    print_skipped(skipped, len(skipped), said)


@click.command("review")
@click.argument("verdicts", type=click.Path(exists=True, dir_okay=False), metavar="VERDICTS.jsonl")
@click.option(
    "--sample", type=Number(0.0, 1.0), default=RECHECKED, help="Share of agreed verdicts to look at, too."
)
@_database
@click.option("--who", default="person", help="Your name, for the record.")
def review_command(verdicts: str, sample: float, database: str | None, who: str) -> None:
    """Decide, one call at a time, where judges differ: y (it did what was wanted), n, s to skip, q to end."""
    if not _on_a_terminal():
        fail("btm review asks a person and needs a terminal; its input is a pipe or a file")
    file = VerdictFile(Path(verdicts))
    for call, judged in list(_waiting(file, sample)):
        answer = _asked(call, judged)
        if answer == "q":
            break
        if answer in ("y", "n"):
            note = click.prompt("note", default="", show_default=False)
            file.add(ReviewRow(call, answer == "y", who, time.time(), note[:600]))
    _show(agreement(judged for _, judged in file), _applied(database, file))


def _on_a_terminal() -> bool:
    return sys.stdin.isatty()


def _waiting(file: VerdictFile, sample: float) -> Iterator[tuple[CallName, JudgedCall]]:
    """Give the split calls, then the share of agreed ones."""
    yield from ((call, one) for call, one in file if one.state is CallState.SPLIT and len(one.verdicts) > 1)
    yield from ((call, one) for call, one in file if one.state is CallState.AGREED and picked(call, sample))


def _asked(call: CallName, judged: JudgedCall) -> str:
    said = console()
    said.print(f"\n{call[0]} {call[1]}: {judged.verdicts[0].tool}", markup=False, style="bold")
    for row in judged.verdicts:
        verdict = {True: "did what was wanted", False: f"{row.category}", None: "no verdict"}[row.satisfied]
        gap = f": {row.gap}" if row.gap else ""
        said.print(f"  {row.judge} ({row.confidence:.2f}): {verdict}{gap}", markup=False)
    return str(
        click.prompt("did it do what was wanted?", type=click.Choice(["y", "n", "s", "q"]), default="s")
    )


def _applied(database: str | None, file: VerdictFile, *, undo: bool = False) -> Applied | None:
    if database is None:
        return None
    from btm.cli.database import open_existing  # noqa: PLC0415 - only with --db

    with closing(open_existing(database, read_only=False)) as store:
        return settle(store, file, undo=undo)


def _row(found: Agreement) -> dict[str, Any]:
    low, high = wilson(found.right, found.checked)
    precision = {"right": found.right, "checked": found.checked, "low": low, "high": high}
    counts = asdict(found)
    return {name: counts[name] for name in counts if name not in ("right", "checked", "calls")} | {
        "judged": found.calls,
        "precision_of_agreed": precision,
    }


def _show(found: Agreement, applied: Applied | None) -> None:
    said = console()
    share = "-" if found.share is None else percent(found.share)
    by_chance = "-" if found.kappa is None else f"{found.kappa:.2f}"
    said.print(
        f"{found.calls:,} judged: agreed {found.agreed:,} ({share}, kappa {by_chance}), split {found.split:,}, "
        f"reviewed {found.reviewed:,}, found wanting {found.failed:,}",
        markup=False,
    )
    low, high = wilson(found.right, found.checked)
    if found.checked:
        right = f"{found.right} of {found.checked} (95 % {percent(low)} to {percent(high)})"
        said.print(f"agreed verdicts that a person found right: {right}", markup=False)
    said.print(f"({EXPECTED})", style="dim", markup=False)
    if applied is not None:
        said.print(
            f"evidence of {applied.moved:,} calls moved, of {applied.undone:,} moved back; "
            f"{applied.unknown:,} calls are not in this database",
            markup=False,
        )
