"""``btm merge``: the evidence of several databases in one."""

from __future__ import annotations

from pathlib import Path

import click

from btm.cli.database import open_existing
from btm.cli.output import console, emit_json, fail
from btm.store.merging import merge_into
from btm.store.sql import SqlStore


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="A.db B.db ...")
@click.option(
    "-o", "--output", required=True, help="The merged database; made anew, an existing one is not touched."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def merge(sources: tuple[str, ...], output: str, as_json: bool) -> None:
    """Add the evidence of databases: the result equals having learned everything in one place.

    The order of the databases does not matter. Conversations that were fitted into several of them from the same log
    are recognised only while fitting, so fit each log once.
    """
    if "://" not in output and Path(output).exists():
        fail(f"{output} exists; name a new file for the merged evidence")
    opened = [open_existing(source) for source in sources]
    half_life, landmark = opened[0].decay.half_life_s, max(store.decay.landmark for store in opened)
    target = SqlStore(output, half_life_s=half_life, now=landmark)
    try:
        keys = merge_into(target, opened)
    finally:
        for store in (*opened, target):
            store.close()
    if as_json:
        emit_json({"sources": list(sources), "output": output, "keys": keys})
    else:
        console().print(f"{output}: {keys} posteriors from {len(sources)} databases")
