"""``btm watch``: what goes wrong now, read from the database while agents write it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click

from btm.cli.database import open_existing
from btm.cli.options import age_s, database_option
from btm.cli.output import console, inert
from btm.support.signatures import signature

_EVERY_S = 2.0
NOW = "now"
_STYLES = {"open": "red", "resolved": "green", "escalated": "yellow", "abandoned": "dim"}


@click.command(short_help="Show incidents as they happen, and what never failed so before.")
@database_option("The database to watch")
@click.option("--since", default=NOW, metavar="AGE", help="Begin with what is younger: 10m, 1h, 2d.")
@click.option("--once", is_flag=True, help="Show what there is, and end.")
@click.option("--novel", is_flag=True, help="Show only failures of a signature never seen before.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document a line.")
def watch(database: str, since: str, once: bool, novel: bool, as_json: bool) -> None:
    """Show incidents as they open and end, read every two seconds without holding up who writes.

    NEW marks a failure of a signature (tool, kind, and the text without its numbers and names) that the database
    did not hold before.
    """
    looking = Incidents(database, time.time() - (0.0 if since == NOW else age_s(since)))
    while True:
        for row in looking.look():
            if novel and not row["new"]:
                continue
            _print(row, as_json=as_json)
        if once:
            return
        time.sleep(_EVERY_S)


class Incidents:
    """The incidents of a database since a moment; each look gives those that are new or have ended since."""

    def __init__(self, database: str, since: float) -> None:
        self._database = database
        self._since = since
        self._seen: dict[str, str] = {}
        with closing(open_existing(database)) as store:
            self._known = {signature(*row).digest for row in store.failures(until=since)}

    def look(self) -> Iterator[dict[str, Any]]:
        """Give what changed, oldest first. Raises StoreError when the database cannot be read."""
        with closing(open_existing(self._database)) as store:
            found = store.incidents(self._since)
        for row in found:
            name = row.pop("incident_id")
            if self._seen.get(name) == row["state"]:
                continue
            mark = signature(row["tool"], row["kind"], row.pop("rule"), row["detail"])
            new = name not in self._seen and mark.digest not in self._known
            self._known.add(mark.digest)
            self._seen[name] = row["state"]
            yield {**row, "template": mark.template, "new": new}


def _print(row: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        import orjson  # noqa: PLC0415 - only where it is asked for

        click.echo(inert(orjson.dumps(row, option=orjson.OPT_NON_STR_KEYS).decode()))
        return
    from rich.text import Text  # noqa: PLC0415 - as above

    at = time.strftime("%H:%M:%S", time.localtime(row["closed_at"] or row["opened_at"]))
    line = Text.assemble(
        f"{at}  ",
        (f"{row['state']:9}", _STYLES.get(row["state"], "")),
        ("  NEW  " if row["new"] else "       ", "bold red"),
        f"{row['tool']} {row['kind']}  {row['conversation']}",
    )
    if row["state"] == "open" or row["new"]:
        line.append(f"  {row['detail'][:80]}", "dim")
    console().print(line)
