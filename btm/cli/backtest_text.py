"""What people and scripts see of a backtest."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from btm.cli.output import console, counted, paragraph, percent, table
from btm.lab.backtest import Backtest, Tally
from btm.lab.off_policy import AdviceEffect, advice_effect


def backtest_document(done: Backtest) -> dict[str, Any]:
    """Return a backtest in the form of ``btm backtest --json``, under ``advice``."""
    followed = done.followed.times
    return {
        "failures": done.failures,
        "dropped": done.dropped,
        "followed": _tally(done.followed),
        "otherwise": _tally(done.otherwise),
        "against_a_policy": _tally(done.forbidden),
        "effect": asdict(advice_effect(done.choices)),
        "foretold_where_followed": done.foretold / followed if followed else None,
        "by_advice": [
            {"advised": action, "followed": _tally(did), "otherwise": _tally(did_not)}
            for action, (did, did_not) in sorted(done.by_advice.items())
        ],
        "instead": [
            {"advised": advised, "done": did, **_tally(tally)}
            for (advised, did), tally in sorted(done.instead.items(), key=lambda item: -item[1].times)
        ],
    }


def _tally(tally: Tally) -> dict[str, int]:
    return {"times": tally.times, "worked": tally.worked}


def show_backtest(done: Backtest) -> None:
    """Print a backtest."""
    out = console()
    out.print(f"\n[bold]What btm would have advised first[/bold], at {counted(done.failures, 'failure')}\n")
    numeric = ("agent did so: worked", "did otherwise: worked")
    rows = table("advised", *numeric, "instead, mostly: worked", numeric=numeric)
    for action, (did, did_not) in sorted(done.by_advice.items(), key=lambda item: -_times(*item[1])):
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


def _times(did: Tally, did_not: Tally) -> int:
    return did.times + did_not.times


def _worked(tally: Tally) -> str:
    """Return how many of how many worked, and which share that is."""
    if not tally.times:
        return "-"
    return f"{tally.worked:,} of {tally.times:,} ({percent(tally.worked / tally.times)})"
