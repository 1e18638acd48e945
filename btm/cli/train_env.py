"""``btm train-env``: check a training environment, and write its rows."""

from __future__ import annotations

from dataclasses import asdict

import click
import orjson

from btm.cli.options import JSON
from btm.cli.output import FOUND, check_writable, console, counted, emit_json, percent, replacing, table

_domain = click.option("--domain", default="shop", help="shop, or tau2:retail (extra tau2).")
_seed = click.option("--seed", type=int, default=0)


@click.group("train-env")
def train_env_group() -> None:
    """Check an environment for reinforcement learning, and write its curriculum."""


@train_env_group.command("check", short_help="Rewards of players that need no model.")
@_domain
@_seed
@click.option("--rate", type=float, default=0.4, help="Chance that a call is a failing one.")
@JSON
def check_command(domain: str, seed: int, rate: float, as_json: bool) -> None:
    """Let an oracle, one who does nothing and one who repeats a call play every task.

    Also prints the share of groups of rollouts (of a simulated, unsure policy) in which all are worth the same, with
    partial credit and without. Exits with 1 where the rewards do not tell the players apart.
    """
    from btm.training.players import check_environment  # noqa: PLC0415 - the lab loads slowly

    found = check_environment(domain, seed, rate)
    sound = all(one.sound for one in found)
    if as_json:
        emit_json(
            {"domain": domain, "seed": seed, "sound": sound, "scenarios": [asdict(one) for one in found]}
        )
    else:
        shown = table("scenario", "tasks", "oracle", "idle", "loop", "flat groups", "without partial credit")
        for one in found:
            means = (f"{value:.2f}" for value in (one.oracle, one.idle, one.loop))
            shares = percent(one.flat_groups), percent(one.flat_groups_without_partial)
            shown.add_row(one.scenario, str(one.tasks), *means, *shares)
        console().print(shown)
    if not sound:
        raise SystemExit(FOUND)


@train_env_group.command("rows", short_help="Write a phase's rows for a trainer.")
@_domain
@_seed
@click.option("--phase", type=int, default=1, help="1 to 5.")
@click.option("--split", type=click.Choice(["train", "eval"]), default="train")
@click.option("-o", "--out", required=True, metavar="FILE.jsonl")
@JSON
def rows_command(domain: str, seed: int, phase: int, split: str, out: str, as_json: bool) -> None:
    """Write the rows of a phase of the five-phase curriculum, one a line."""
    from btm.training.curriculum import Curriculum  # noqa: PLC0415 - the lab loads slowly

    check_writable(out)
    rows = Curriculum.five_phases(domain, seed).rows(phase, "eval" if split == "eval" else "train")
    with replacing(out) as file:
        file.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
    if as_json:
        emit_json({"written": len(rows), "out": out})
    else:
        console().print(f"{counted(len(rows), 'row')} in {out}", markup=False)
