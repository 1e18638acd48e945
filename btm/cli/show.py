"""``btm show``: what a database has learned, per tool and error."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.markup import escape

from btm.cli.bars import ORDINALS, interval_bar
from btm.cli.database import DEFAULT_DATABASE, Learned, belief_row
from btm.cli.options import action_option, kind_option
from btm.cli.output import console, emit_json
from btm.errors import nearest
from btm.model import EvidenceKey
from btm.posterior import BetaPosterior

Row = tuple[EvidenceKey, BetaPosterior]


@click.command()
@click.option(
    "--db", "database", default=DEFAULT_DATABASE, show_default=True, help="The database (path or URL)."
)
@click.option("--tool", help="Only this tool.")
@kind_option("--error", help="Only this error kind.")
@action_option("--action", help="Only this action.")
@click.option(
    "--min-n", type=float, default=0.0, help="Only keys with at least so much evidence of their own."
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=40,
    show_default=True,
    help="Rows for people; --json gives all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def show(
    database: str,
    tool: str | None,
    error: str | None,
    action: str | None,
    min_n: float,
    limit: int,
    as_json: bool,
) -> None:
    """Show, per tool and error, which recovery works how often.

    The chance is the posterior mean; the bar is its 95 % interval from 0 to 1; n is the evidence behind it.
    """
    learned = Learned.read(database)
    everything = learned.beliefs()
    rows = [
        (key, belief)
        for key, belief in everything
        if (tool is None or key.tool == tool)
        and (error is None or key.kind == error)
        and (action is None or key.action == action)
        and belief.n >= min_n
    ]
    if as_json:
        emit_json([belief_row(key, belief) for key, belief in rows])
        return
    _print(rows, everything, tool, limit, database)


def _print(
    rows: Sequence[Row], everything: Sequence[Row], tool: str | None, limit: int, database: str
) -> None:
    out = console()
    if not rows:
        near = nearest(tool, {key.tool for key, _ in everything}) if tool else ""
        hint = f" Did you mean {near!r}?" if near else ""
        out.print(
            f"Nothing in {database} answers this.{hint}"
            if everything
            else f"{database} has learned nothing yet."
        )
        return
    width = max(len(_recovery(key)) for key, _ in rows[:limit])
    previous = None
    for key, belief in sorted(
        rows[:limit], key=lambda row: (row[0].tool, row[0].kind, row[0].action, row[0][3:])
    ):
        if (key.tool, key.kind) != previous:
            previous = (key.tool, key.kind)
            out.print(f"\n[bold]{escape(key.tool)}[/bold] after {key.kind}")
        low, high = belief.interval()
        out.print(
            f"  {_recovery(key):{width}}  {interval_bar(low, belief.mean, high)}  "
            f"{belief.mean:.2f}  {low:.2f} to {high:.2f}  n {belief.n:.4g}",
            markup=False,
        )
    if len(rows) > limit:
        out.print(f"\n{len(rows) - limit} more; --limit shows them, --tool and --error narrow the list.")


def _recovery(key: EvidenceKey) -> str:
    return f"{key.action} {key.target}".strip() + f", {ORDINALS[key.ordinal]} try"
