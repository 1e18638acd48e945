"""``btm merge``: the evidence of several databases in one."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import click

from btm.cli.database import open_existing
from btm.cli.options import JSON
from btm.cli.output import check_writable, console, counted, emit_json, fail, shown
from btm.store.merging import made_whole, merged
from btm.store.sql import SqlStore


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="A.db B.db ...")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT.db",
    help="The merged database; made anew, an existing one is not touched.",
)
@JSON
def merge(sources: tuple[str, ...], output: str, as_json: bool) -> None:
    """Add the evidence of databases: the result equals having learned everything in one place.

    The order of the databases does not matter. Databases that learned from the same conversations of a log cannot be
    merged, since those would count twice. Calls and incidents are not copied: they stay where they happened.
    """
    if "://" not in output and Path(output).exists():
        fail(f"{output} exists; name a new file for the merged evidence")
    if "://" not in output:
        check_writable(output)
    again = [name for name, count in Counter(map(_identity, sources)).items() if count > 1]
    if again:
        fail(f"{shown(again[0])} is named twice; it would count twice")
    with ExitStack() as held:
        # Before the output is made: databases that do not go together leave nothing behind.
        found = merged([held.enter_context(closing(open_existing(s))) for s in sources], time.time())
        place = held.enter_context(made_whole(output))
        made = SqlStore(place, half_life_s=found.decay.half_life_s, now=found.decay.landmark)
        with closing(made) as target:
            target.add_learned(found.evidence, shapes=found.shapes, fitted=found.fitted, priors=found.priors)
    keys = len(found.evidence)
    if as_json:
        emit_json({"sources": [*map(shown, sources)], "output": shown(output), "keys": keys})
    else:
        found_in = f"{counted(keys, 'posterior')} from {counted(len(sources), 'database')}"
        console().print(f"{shown(output)}: {found_in}", markup=False)


def _identity(source: str) -> str:
    return source if "://" in source else str(Path(source).resolve())
