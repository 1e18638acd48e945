"""What people and scripts see of a backtest."""

from __future__ import annotations

from typing import Any

from btm.cli.output import console, table
from btm.evaluation.backtest import Backtest, Tally


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
    out.print(f"\n[bold]What btm would have advised first[/bold], at {done.failures:,} failures\n")
    numeric = ("agent did so", "worked", "agent did otherwise", "worked ")
    rows = table("advised", *numeric, "most often", numeric=numeric)
    for action, (did, did_not) in sorted(done.by_advice.items(), key=lambda item: -_times(*item[1])):
        others = {d: t for (advised, d), t in done.instead.items() if advised is action}
        most = max(others, key=lambda d: others[d].times, default=None)
        rows.add_row(
            action,
            f"{did.times:,}",
            _share(did),
            f"{did_not.times:,}",
            _share(did_not),
            f"{most} ({others[most].times:,}, worked {_share(others[most])})" if most is not None else "",
        )
    rows.add_row(
        "all",
        f"{done.followed.times:,}",
        _share(done.followed),
        f"{done.otherwise.times:,}",
        _share(done.otherwise),
    )
    out.print(rows)
    out.print(f"\nAfter {done.dropped:,} failures nothing more was tried.")
    if done.followed.times:
        foretold = done.foretold / done.followed.times
        out.print(f"Where the agent did so, btm foretold {foretold:.0%} and {_share(done.followed)} worked.")
    if done.forbidden.times:
        out.print(
            f"{done.forbidden.times:,} attempts were against a policy; {_share(done.forbidden)} of them worked."
        )


def _times(did: Tally, did_not: Tally) -> int:
    return did.times + did_not.times


def _share(tally: Tally) -> str:
    return f"{tally.worked / tally.times:.0%}" if tally.times else "-"
