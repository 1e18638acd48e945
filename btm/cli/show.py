"""``btm show``: what a database has learned, per tool and error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import click
from rich.markup import escape

from btm.cli.database import StoredEvidence, belief_rows, trends_of
from btm.cli.health import show_health
from btm.cli.options import JSON, Number, action_option, database_option, kind_option
from btm.cli.output import BAR, console, emit_json, fail, interval_bar, shown, write_file
from btm.errors import did_you_mean
from btm.lab.html_page import Chance, Section, table_page
from btm.learning.changepoint import Direction, Trend
from btm.learning.posterior import BetaPosterior
from btm.model import ErrorKind, EvidenceKey

Row = tuple[EvidenceKey, BetaPosterior]
Counted = tuple[EvidenceKey, float]

_BESIDE_THE_BAR = 34  # columns for margins, chance, interval and n
_SHORTEST_BAR = 5
_ONE_BY_ONE = 1_000
_ORDINALS = {1: "1st", 2: "2nd", 3: "3rd+"}


@click.command()
@database_option("The database")
@click.option("--tool", help="Only this tool.")
@kind_option("--error", help="Only this error kind.")
@action_option("--action", help="Only this action.")
@click.option(
    "--min-n", type=Number(0.0), default=0.0, help="Only keys with at least so much evidence of their own."
)
@click.option("--limit", type=click.IntRange(1), default=40, help="Rows for people; --json gives all.")
@click.option(
    "--health",
    is_flag=True,
    help="Instead: how each tool did in the last 20 minutes, and what is down for everyone.",
)
@click.option("--html", "page", metavar="FILE", help="Write a page of it: one file that needs no other.")
@JSON
def show(
    database: str,
    tool: str | None,
    error: str | None,
    action: str | None,
    min_n: float,
    limit: int,
    health: bool,
    page: str | None,
    as_json: bool,
) -> None:
    """Show, per tool and error, which recovery works how often.

    The chance is the posterior mean, as a memory that opens the database believes it; the bar is its 95 % interval from 0
    to 1; n is the evidence behind it, without what was seen before the chance changed. "better" or
    "worse" says that the later half of the attempts went clearly otherwise than the earlier half (at 95 %); only what
    a memory lived through has an order, not what was fitted from logs.
    """
    if health:
        show_health(database, tool, as_json=as_json)
        return
    learned = StoredEvidence.read(database)
    everything = learned.counted()
    if tool is not None and everything:
        _check_tool(tool, everything, database)
    asked = [
        key
        for key, n in everything
        if (tool is None or key.tool == tool)
        and (error is None or key.kind == error)
        and (action is None or key.action == action)
        and n >= min_n
    ]
    rows = [(key, learned.belief(key)) for key in (asked if as_json else asked[:limit])]
    found: Mapping[EvidenceKey, Trend] = {}
    if page is not None or as_json or rows:
        found = trends_of(database, _one_by_one(asked, everything) if as_json else [key for key, _ in rows])
    if page is not None:
        _write(page, database, rows, found)
    if as_json:
        emit_json(belief_rows(rows, found))
    elif rows:
        _print(rows, found, len(asked) - len(rows))
    else:
        answer = "Nothing in {} answers this." if everything else "{} has learned nothing yet."
        console().print(answer.format(shown(database)), markup=False)


def _one_by_one(asked: list[EvidenceKey], everything: Sequence[Counted]) -> list[EvidenceKey] | None:
    """Return the keys to look up one by one, or None where it is quicker to read every attempt."""
    return asked if len(asked) < min(len(everything), _ONE_BY_ONE) else None


def _check_tool(tool: str, everything: Sequence[Counted], database: str) -> None:
    known = {key.tool for key, _ in everything}
    if tool not in known:
        fail(f"nothing is known about a tool {tool!r} in {shown(database)}{did_you_mean(tool, known)}")


def _print(rows: Sequence[Row], found: Mapping[EvidenceKey, Trend], left: int) -> None:
    out = console()
    width = max(len(_recovery(key)) for key, _ in rows)
    bar = max(_SHORTEST_BAR, min(BAR, out.width - width - _BESIDE_THE_BAR))
    previous = None
    for key, belief in sorted(rows, key=lambda row: (row[0].tool, row[0].kind, row[0].action, row[0][3:])):
        if (key.tool, key.kind) != previous:
            previous = (key.tool, key.kind)
            out.print(f"\n[bold]{escape(key.tool)}[/bold] after {key.kind}")
        low, high = belief.interval()
        line = (
            f"  {_recovery(key):{width}}  {interval_bar(low, belief.mean, high, bar)}  "
            f"{belief.mean:.2f}  {low:.2f} to {high:.2f}  n {belief.n:<6.4g}"
        )
        trend = _trend(found.get(key))
        if len(line) + len(trend) > out.width:
            out.print(line.rstrip(), markup=False)
            line, trend = "  ", trend.strip()
        if (line + trend).strip():
            out.print((line + trend).rstrip(), markup=False)
    if left:
        out.print(f"\n{left} more; --limit shows them, --tool and --error narrow the list.")


def _write(page: str, database: str, rows: Sequence[Row], found: Mapping[EvidenceKey, Trend]) -> None:
    """Write what was learned as a page: chances with their intervals, and a table of the same."""
    sections = []
    for (tool, kind), group in groupby(sorted(rows, key=_asked_about), key=_asked_about):
        here = list(group)
        drawn = [Chance(_recovery(key), b.mean, *b.interval(), b.n) for key, b in here]
        table = [
            (
                c.label,
                f"{c.mean:.2f}",
                f"{c.low:.2f} to {c.high:.2f}",
                f"{c.n:.4g}",
                _trend(found.get(key)).strip(),
            )
            for c, (key, _) in zip(drawn, here, strict=True)
        ]
        heading = f"{tool} after {kind}"
        sections.append(Section(heading, ("recovery", "chance", "95 %", "n", "trend"), table, drawn))
    about = "The chance that a recovery works, per tool and error, with its 95 % interval; n is the evidence behind it."
    facts = {"database": shown(database), "command": f"btm show --db {shown(database)} --html {page}"}
    write_file(page, table_page("What was learned", about, sections, facts))


def _asked_about(row: Row) -> tuple[str, ErrorKind]:
    return row[0].tool, row[0].kind


def _trend(trend: Trend | None) -> str:
    """Return which way a recovery went, with the counts of both halves; nothing where that is not clear."""
    if trend is None or trend.direction is Direction.STEADY:
        return ""
    halves = (f"{half.successes:.0f} of {half.total:.0f}" for half in (trend.earlier, trend.later))
    return f"  {trend.direction}: {', then '.join(halves)}"


def _recovery(key: EvidenceKey) -> str:
    return f"{key.action} {key.target}".strip() + f", {_ORDINALS[key.ordinal]} try"
