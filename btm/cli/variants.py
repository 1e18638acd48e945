"""``btm variants``: one failure trajectory becomes several, with other names and values and the same failure."""

from __future__ import annotations

from typing import Any

import click
import orjson

from btm.cli.options import JSON
from btm.cli.output import FOUND, check_writable, console, counted, emit_json, fail, replacing
from btm.support.open_files import open_to_read

_SHOWN = 5


@click.command(short_help="Make variants of failure trajectories, for training.")
@click.argument("source", metavar="TRAJECTORIES.jsonl")
@click.option("--n", "number", type=click.IntRange(1, 1_000), default=10, help="For each.")
@click.option("--seed", type=int, default=0)
@click.option("-o", "--out", required=True, metavar="FILE.jsonl", help="The file to write.")
@JSON
def variants(source: str, number: int, seed: int, out: str, as_json: bool) -> None:
    """Write variants of what 'btm export trajectories' wrote: other tools, ids, e-mail addresses, dates and error texts.

    Names of people and places stay. A variant whose failures or decisions do not read as its parent's is left out and
    counted (exit code 1 when any was). The same seed gives the same variants.
    """
    from btm.training.variants import variants as made_of  # noqa: PLC0415 - the lab loads slowly

    check_writable(out)
    made = made_of(_read(source), number, seed=seed)
    with replacing(out) as file:
        file.writelines(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in made.records)
    if as_json:
        emit_json({"written": len(made.records), "left_out": made.thrown, "out": out})
    else:
        console().print(
            f"{counted(len(made.records), 'variant')} in {out}, {made.thrown:,} left out", markup=False
        )
    raise SystemExit(FOUND if made.thrown else 0)


def _read(source: str) -> list[dict[str, Any]]:
    records, wrong = [], []
    with open_to_read(source) as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            try:
                match orjson.loads(line or b"null"):
                    case {"trajectory_id": str(), "steps": [*steps]} as record if all(map(_is_step, steps)):
                        records.append(record)
                    case None:
                        pass
                    case _:
                        wrong.append(f"{source}:{number}: no failure trajectory")
            except ValueError as error:
                wrong.append(f"{source}:{number}: no JSON: {error}")
    if wrong:
        more = f"\nand {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
        fail("\n".join(wrong[:_SHOWN]) + f"{more}\n{source} is to be what 'btm export trajectories' writes")
    return records


def _is_step(step: object) -> bool:
    match step:
        case {"tool_name": str(), **rest}:
            return all(isinstance(rest.get(name) or {}, dict) for name in ("input_params", "response"))
        case _:
            return False
