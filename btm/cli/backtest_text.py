"""What people and scripts see of a backtest."""

from __future__ import annotations

from typing import Any

from btm.cli.output import console, counted, paragraph, percent, table
from btm.lab.backtest import Backtest, Tally


def backtest_document(done: Backtest) -> dict[str, Any]:
    """Return a backtest in the form of ``btm backtest --json``, under ``advice``."""
    followed = done.followed.times
    return {
        "failures": done.failures,
        "dropped": done.dropped,
        "followed": _tally(done.followed),
        "otherwise": _tally(done.otherwise),
        "against_a_policy": _tally(done.forbidden),
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


def _times(did: Tally, did_not: Tally) -> int:
    return did.times + did_not.times


def _worked(tally: Tally) -> str:
    """Return how many of how many worked, and which share that is."""
    if not tally.times:
        return "-"
    return f"{tally.worked:,} of {tally.times:,} ({percent(tally.worked / tally.times)})"
