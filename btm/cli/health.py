"""``btm show --health``: how each tool has been doing in the last minutes, and what is down for everyone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing

from rich.markup import escape

from btm.cli.database import open_existing
from btm.cli.output import console, emit_json, shown, table
from btm.runtime.breaker import Breaker, Circuits
from btm.store import RecentCall
from btm.store.queries import RECENT_S

Row = dict[str, object]


def show_health(database: str, tool: str | None, *, as_json: bool) -> None:
    """Print the health of the tools that were called in the last 20 minutes, by whichever process.

    ``state`` is ``open`` while calls are kept from a tool, ``half_open`` when its next call is to try it, else
    ``closed``: under the default thresholds, and without groups, which are the map's.
    """
    now = time.time()
    with closing(open_existing(database)) as store:
        calls = store.recent_calls(now - RECENT_S, now)
    rows = [row for row in health_rows(calls, now) if tool in (None, row["tool"])]
    if as_json:
        emit_json(rows)
    elif rows:
        _print(rows, now)
    else:
        console().print(
            f"No calls in the last {RECENT_S / 60:.0f} minutes in {shown(database)}.", markup=False
        )


def health_rows(calls: Sequence[RecentCall], now: float) -> list[Row]:
    """Return a row a tool, those that are down first."""
    circuits = Circuits(Breaker())
    for call in calls:
        circuits.record(call.tool, call.kind, call.at, call.effect, call.began_at)
    down = {found.name: found for found in circuits.all_open(now)}
    rows: list[Row] = []
    for name in dict.fromkeys(call.tool for call in calls):
        mine = [call for call in calls if call.tool == name]
        failed = [call for call in mine if call.kind is not None]
        found = down.get(name)
        state = "closed" if found is None else "open" if now < found.probe_at else "half_open"
        rows.append(
            {
                "tool": name,
                "state": state,
                "calls": len(mine),
                "failed": len(failed),
                "last_error": failed[-1].kind if failed else None,
                "last_call_at": mine[-1].at,
                "down_since": found.since if found is not None else None,
                "next_try_at": found.probe_at if found is not None else None,
            }
        )
    return sorted(rows, key=lambda row: (row["state"] == "closed", str(row["tool"])))


def _print(rows: Sequence[Row], now: float) -> None:
    made = table("tool", "state", ">failed", "last error", "last call")
    for row in rows:
        state = str(row["state"]).replace("_", "-")
        if isinstance(row["down_since"], float):
            state += f" for {(now - row['down_since']) / 60:.0f} min"
        ago = f"{now - float(str(row['last_call_at'])):.0f} s ago"
        counts = f"{row['failed']} of {row['calls']}"
        made.add_row(escape(str(row["tool"])), state, counts, str(row["last_error"] or ""), ago)
    console().print(made)
