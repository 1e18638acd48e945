"""``btm sft``: fine-tuning data from recoveries, built and checked."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from btm.cli.options import JSON
from btm.cli.output import FOUND, console, counted, emit_json, table

_SHOWN = 10


@click.group("sft")
def sft_group() -> None:
    """Build fine-tuning data from recoveries, and check it."""


@sft_group.command("build", short_help="Write samples from a simulated agent's runs.")
@click.option("--domain", default="shop", help="shop, or tau2:retail (extra tau2).")
@click.option(
    "--cards", "places", multiple=True, metavar="FOLDER", help="Cards that help.  [default: mined for this]"
)
@click.option("--per-task", type=click.IntRange(1, 100), default=3, help="Episodes a task and scenario.")
@click.option("--seed", type=int, default=0)
@click.option("--pairs", is_flag=True, help="Also write preference pairs.")
@click.option("--parquet", is_flag=True, help="Also write Parquet (extra parquet).")
@click.option("-o", "--out", default="sft", metavar="FOLDER")
@JSON
def build_command(
    domain: str,
    places: tuple[str, ...],
    per_task: int,
    seed: int,
    pairs: bool,
    parquet: bool,
    out: str,
    as_json: bool,
) -> None:
    """Let a simulated agent do the training tasks under faults, and write what can be learned from how it went.

    self_reflection goes on before the first wrong step, skill_recovery begins anew, user_centric goes on after a user's
    correction; own is what went right. Cards help while sampling and are stripped. Kept is what the environment found
    done. The same seed gives the same bytes.
    """
    from btm.skills.card import load_cards  # noqa: PLC0415 - the lab loads slowly
    from btm.training.sft_build import build  # noqa: PLC0415
    from btm.training.sft_files import write_data  # noqa: PLC0415

    data = build(domain, seed=seed, per_task=per_task, cards=load_cards(*places) if places else None)
    about = {"domain": domain, "seed": seed, "per-task": per_task}
    made = write_data(data, out, about=about, parquet=parquet, pairs=pairs)
    kinds = Counter(str(sample.kind) for sample in data.samples)
    if as_json:
        dropped = dict(sorted(data.dropped.items()))
        written = [str(path) for path in made]
        emit_json(
            {
                "samples": len(data.samples),
                "kinds": kinds,
                "pairs": len(data.pairs),
                "dropped": dropped,
                "written": written,
            }
        )
        return
    said = console()
    said.print(
        f"{counted(len(data.samples), 'sample')} in {out}: simulated runs, each checked by its environment",
        markup=False,
    )
    said.print(table("kind", ">samples", rows=sorted(kinds.items())))


@sft_group.command("check", short_help="Look for what is left of cards, and run samples again.")
@click.argument("folder", metavar="FOLDER")
@JSON
def check_command(folder: str, as_json: bool) -> None:
    """Check a folder of btm sft build. Exits with 1 when something was found.

    A leak is a message that shares eight words in a row with a card's text (all of a shorter one), or is marked as a note.
    """
    from btm.training.sft_files import check  # noqa: PLC0415 - the lab loads slowly

    found = check(folder)
    if as_json:
        row: dict[str, Any] = {
            "samples": found.samples,
            "kinds": found.kinds,
            "leaks": [{"line": line, "message": message} for line, message in found.leaks],
            "malformed": [{"line": line, "problem": problem} for line, problem in found.malformed],
            "not_done": found.not_done,
        }
        emit_json(row)
    else:
        said = console()
        said.print(
            f"{counted(found.samples, 'sample')}: {counted(len(found.leaks), 'leak')}, "
            f"{len(found.malformed)} malformed, {len(found.not_done)} that do not reach the task's end",
            markup=False,
        )
        for line, message in found.leaks[:_SHOWN]:
            said.print(f"line {line}: message {message} holds words of a card", markup=False)
        for line, problem in found.malformed[:_SHOWN]:
            said.print(f"line {line}: {problem}", markup=False)
    if not found.clean:
        raise SystemExit(FOUND)
