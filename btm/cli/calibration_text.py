"""What people and scripts see of a calibration, and of a backtest, in 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from btm.cli.logs import print_skipped, skipped_rows
from btm.cli.output import console, counted, interval_bar, paragraph, percent, table
from btm.lab.backtest import Backtest, Tally
from btm.lab.calibration import Calibration, Group
from btm.lab.forecasts import Method
from btm.lab.intervals import Interval
from btm.lab.off_policy import AdviceEffect, advice_effect
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
            {"n": b.n, "foretold": b.foretold, "happened": b.happened, **b.interval._asdict()}
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
        "scores": [asdict(score) for score in group.scores],
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
    return dict(interval._asdict()) if interval else {"low": None, "high": None}


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
    made = table(measure, ">score", ">btm minus it", ">95 %", "btm is")
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
    made = table(">foretold", ">happened", "from 0 to 1", ">95 %", ">attempts")
    for b in found:
        low, high = b.interval
        span, bar = f"{low * 100:.0f} to {percent(high)}", interval_bar(low, b.happened, high)
        made.add_row(percent(b.foretold), percent(b.happened), bar, span, f"{b.n:,}")
    screen.print(made)
    screen.print(f"On average, weighted by attempts, {calibration_error(found):.3f} apart.")


def backtest_document(done: Backtest) -> dict[str, Any]:
    """Return a backtest in the form of ``btm backtest --json``, under ``advice``."""
    followed = done.followed.times
    return {
        "failures": done.failures,
        "dropped": done.dropped,
        "followed": asdict(done.followed),
        "otherwise": asdict(done.otherwise),
        "against_a_policy": asdict(done.forbidden),
        "effect": asdict(advice_effect(done.choices)),
        "foretold_where_followed": done.foretold / followed if followed else None,
        "by_advice": [
            {"advised": action, "followed": asdict(did), "otherwise": asdict(did_not)}
            for action, (did, did_not) in sorted(done.by_advice.items())
        ],
        "instead": [
            {"advised": advised, "done": did, **asdict(tally)}
            for (advised, did), tally in sorted(done.instead.items(), key=lambda item: -item[1].times)
        ],
    }


def show_backtest(done: Backtest) -> None:
    """Print a backtest."""
    out = console()
    out.print(f"\n[bold]What btm would have advised first[/bold], at {counted(done.failures, 'failure')}\n")
    columns = (">agent did so: worked", ">did otherwise: worked", "instead, mostly: worked")
    rows = table("advised", *columns)
    most_first = sorted(done.by_advice.items(), key=lambda item: -sum(tally.times for tally in item[1]))
    for action, (did, did_not) in most_first:
        others = {d: t for (advised, d), t in done.instead.items() if advised is action}
        most = max(others, key=lambda d: others[d].times, default=None)
        rows.add_row(
            action, _worked(did), _worked(did_not), f"{most}: {_worked(others[most])}" if most else ""
        )
    rows.add_row("all", _worked(done.followed), _worked(done.otherwise))
    out.print(rows)
    out.print()
    paragraph(out, f"After {counted(done.dropped, 'failure')} nothing more was tried.")
    if done.followed.times:
        foretold = percent(done.foretold / done.followed.times)
        happened = percent(done.followed.worked / done.followed.times)
        paragraph(out, f"Where the agent did so, btm foretold {foretold} and {happened} worked.")
    if done.forbidden.times:
        attempts = counted(done.forbidden.times, "attempt")
        paragraph(out, f"{attempts} went against a policy: {_worked(done.forbidden)} worked.")
    paragraph(out, _effect(advice_effect(done.choices)))


def _effect(found: AdviceEffect) -> str:
    """Say what the advice would have changed, or why the logs do not tell."""
    if found.refusal or found.difference is None or found.low is None or found.high is None:
        return f"What the advice would have changed cannot be estimated: {found.refusal}."
    left = f", {found.outside} where agents hardly ever did so left out" if found.outside else ""
    return (
        f"Had the advice been followed, {found.difference * 100:+.1f} points more next attempts would have worked "
        f"(95 % {found.low * 100:+.1f} to {found.high * 100:+.1f}; {percent(found.advised or 0.0)} instead of "
        f"{percent(found.logged or 0.0)}, at {counted(found.failures, 'failure')} in "
        f"{counted(found.conversations, 'conversation')}{left}; effective sample {found.effective:.0f}). Doubly robust; "
        "it holds if nothing beyond tool, kind and number of tries decided both what agents did and whether it worked."
    )


def _worked(tally: Tally) -> str:
    """Return how many of how many worked, and which share that is."""
    if not tally.times:
        return "-"
    return f"{tally.worked:,} of {tally.times:,} ({percent(tally.worked / tally.times)})"
