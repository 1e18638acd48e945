"""What people and scripts see of a calibration, in 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from btm.cli.bars import interval_bar
from btm.cli.logs import print_skipped, skipped_rows
from btm.cli.output import console, counted, paragraph, percent, table
from btm.lab.calibration import Calibration, Group
from btm.lab.forecasts import Method
from btm.lab.intervals import Interval
from btm.lab.reliability import Bin, bins, calibration_error
from btm.logs.conversation import Skipped

_NAMES = {
    Method.POOLED: "btm (pooled)",
    Method.SHIPPED: "shipped priors",
    Method.GLOBAL: "one global rate",
    Method.RAW: "each key's rate",
    Method.FLAT: "Beta(1, 1) a key",
}
_LOG_LOSS, _BRIER = "log loss", "Brier score"
_GROUPS = {"all": "All held-out attempts", "thin": "Those of thin keys"}


def calibration_document(found: Calibration, seed: int, skipped: Sequence[Skipped] = ()) -> dict[str, Any]:
    """Return a calibration in the form of ``btm calibration --json``."""
    reliability = bins(found.forecasts[Method.POOLED], found.outcomes)
    return {
        "learned_from": found.learned_from,
        "foretold": found.foretold,
        "by_time": found.by_time,
        "seed": seed,
        "groups": [_group(group) for group in found.groups],
        "calibration_error": calibration_error(reliability),
        "reliability": [
            {
                "n": b.n,
                "foretold": b.foretold,
                "happened": b.happened,
                "low": b.interval.low,
                "high": b.interval.high,
            }
            for b in reliability
        ],
        "skipped": skipped_rows(skipped),
    }


def _group(group: Group) -> dict[str, Any]:
    return {
        "group": group.name,
        "attempts": group.attempts,
        "conversations": group.conversations,
        "keys": group.keys,
        "scores": [{"method": s.method, "log_loss": s.log_loss, "brier": s.brier} for s in group.scores],
        "pooled_minus": [
            {
                "method": d.baseline,
                "log_loss": {"difference": d.log_loss, **_bounds(d.log_loss_interval)},
                "brier": {"difference": d.brier, **_bounds(d.brier_interval)},
            }
            for d in group.differences
        ],
    }


def _bounds(interval: Interval | None) -> dict[str, float | None]:
    return {"low": interval.low if interval else None, "high": interval.high if interval else None}


def show_calibration(found: Calibration, out: str | None, skipped: Sequence[Skipped] = ()) -> None:
    """Print a calibration; ``out`` is where its diagram was drawn."""
    screen = console()
    order = "the time they started" if found.by_time else "their place in each log"
    paragraph(
        screen,
        f"Conversations with recoveries, by {order}: learned from {found.learned_from:,} at first, "
        f"foretold {found.foretold:,}",
    )
    for group in found.groups:
        where = f"{counted(group.keys, 'key')}, {counted(group.conversations, 'conversation')}"
        screen.print(f"\n[bold]{_GROUPS[group.name]}[/bold]: {group.attempts:,} ({where})")
        for measure in (_LOG_LOSS, _BRIER):
            screen.print()
            screen.print(_scores(group, measure))
    screen.print()
    paragraph(
        screen,
        "Lower is better; below zero, btm is better than the baseline. Intervals: bootstrap over conversations.",
    )
    _print_reliability(bins(found.forecasts[Method.POOLED], found.outcomes), screen)
    if out is not None:
        screen.print(f"\nThe reliability diagram is in {out}.", markup=False)
    if skipped:
        screen.print()
        print_skipped(skipped, len(skipped), screen)


def _scores(group: Group, measure: str) -> Table:
    """Return how well each method foretold by one measure, and how btm stands against it."""
    numeric = ("score", "btm minus it", "95 %")
    made = table(measure, *numeric, "btm is", numeric=numeric)
    differences = {d.baseline: d for d in group.differences}
    for score in group.scores:
        against = differences.get(score.method)
        if measure == _BRIER:
            value, gap = score.brier, _gap(against.brier, against.brier_interval) if against else ()
        else:
            value, gap = score.log_loss, _gap(against.log_loss, against.log_loss_interval) if against else ()
        made.add_row(_NAMES[score.method], f"{value:.4f}", *gap)
    return made


def _gap(difference: float, interval: Interval | None) -> tuple[str, str, str]:
    """Return a difference, its interval, and what follows from it."""
    if interval is None:
        return f"{difference:+.4f}", "", "too few to say"
    judged = "better" if interval.high < 0.0 else "worse" if interval.low > 0.0 else "not told apart"
    return f"{difference:+.4f}", f"{interval.low:+.4f} to {interval.high:+.4f}", judged


def _print_reliability(found: Sequence[Bin], screen: Console) -> None:
    """Print what happened where btm foretold about this or that chance: the reliability diagram as lines of text."""
    screen.print("\n[bold]What btm foretold, and what happened[/bold]")
    numeric = ("foretold", "happened", "95 %", "attempts")
    made = table(*numeric[:2], "from 0 to 1", *numeric[2:], numeric=numeric)
    for b in found:
        low, high = b.interval
        bar = interval_bar(low, b.happened, high)
        made.add_row(
            percent(b.foretold), percent(b.happened), bar, f"{low * 100:.0f} to {percent(high)}", f"{b.n:,}"
        )
    screen.print(made)
    screen.print(f"On average, weighted by attempts, {calibration_error(found):.3f} apart.")
