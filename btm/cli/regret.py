"""``btm regret``: what deciding by learned numbers loses against the best, in a world whose true chances are known."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from btm.cli.options import JSON, Number
from btm.cli.output import console, counted, emit_json, paragraph, progress, table

if TYPE_CHECKING:
    from btm.lab.regret import Floats, Total
    from btm.lab.simulation import Game

WINDOW = 100
_BEFORE, _AFTER = 500, 4 * WINDOW


@click.command()
@click.option("--games", type=click.IntRange(1), default=8, help="How many worlds to average over.")
@click.option("--incidents", type=click.IntRange(100), default=2_000, help="Before the change-point.")
@click.option("--seed", type=int, default=0, help="Of the first world; the others follow.")
@click.option(
    "--half-life",
    "half_life_days",
    type=Number(0, min_open=True),
    default=7.0,
    help="Days after which evidence counts half; there is a failure every hour.",
)
@click.option(
    "--optimal",
    is_flag=True,
    help="Instead: the planner, told the true chances, against dynamic programming on random incidents.",
)
@JSON
def regret(
    games: int, incidents: int, seed: int, half_life_days: float, optimal: bool, as_json: bool
) -> None:
    """Measure what the planner loses against the best decisions, where the true chances are known.

    A simulated fleet of 20 tools fails in six ways; each tool has three substitutes, the chances drift, and after
    --incidents a third of them turn into their opposite. Regret counts in calls (what is enough is worth V of them).

    \b
    btm            the planner with pooled posteriors, as a memory uses it
    priors-only    the planner with what it is shipped with, nothing learned
    flat           the planner with Beta(1, 1) a key, without pooling
    shuffled       the planner with its evidence dealt out to other keys
    rules          three repeats, then the first substitute, then give up
    patient rules  three repeats, then every substitute in turn
    order:...      a fixed order over repeats and every substitute
    thompson       Thompson sampling that knows how the chances were drawn
    informed       the same knowledge, without exploring
    """  # noqa: D301 - click reads the backslash
    from btm.lab.regret import play, recovery  # noqa: PLC0415 - only this command needs it
    from btm.lab.simulation import Game  # noqa: PLC0415

    if optimal:
        _optimal(seed, as_json)
        return
    half_life_s = half_life_days * 86_400.0
    played = [
        Game(seed + n, incidents + _AFTER, change_at=incidents, half_life_s=half_life_s) for n in range(games)
    ]
    lost, unchanged = [], []
    with progress("playing", "worlds") as tell:
        for number, game in enumerate(played):
            tell(number, games)
            lost.append(play(game))
            unchanged.append(play(replace(game, change_at=None), ("btm",))["btm"])
    recovered = recovery([one["btm"] for one in lost], unchanged, incidents)
    if as_json:
        emit_json({**document(played[0], games, lost), "recovery": recovered})
    else:
        _print(played[0], games, lost, recovered)


def _optimal(seed: int, as_json: bool) -> None:
    """Print what the planner loses against dynamic programming when it is told the chances."""
    from btm.lab.optimum import against_optimum  # noqa: PLC0415

    found = against_optimum(seed=seed)
    if as_json:
        emit_json([{**asdict(one), "share": one.share} for one in found])
        return
    out = console()
    paragraph(
        out,
        f"What the planner loses against the best decisions (dynamic programming) when it is told the true chances, on "
        f"{found[0].incidents} random incidents of each sort, in calls.",
    )
    out.print()
    rows = table("repeats", "substitutes", ">best", ">lost", ">of it", ">most")
    for one in found:
        of_it = f"{one.share * 100:.2f} %"
        rows.add_row(
            one.healing, one.substitutes, f"{one.best:.2f}", f"{one.lost:.4f}", of_it, f"{one.most:.2f}"
        )
    out.print(rows)


def _stretches(game: Game) -> dict[str, tuple[int, int]]:
    change = game.change_at or 0
    found = {"before": (0, change), "last before": (max(change - _BEFORE, 0), change)}
    for start in range(0, _AFTER, WINDOW):
        found[f"after {start} to {start + WINDOW}"] = (change + start, change + start + WINDOW)
    return found


def document(game: Game, games: int, lost: list[dict[str, Floats]]) -> dict[str, Any]:
    """Return regrets in the form of ``btm regret --json``: calls per game, by stretch of incidents."""
    from btm.lab.regret import totals  # noqa: PLC0415

    return {
        "games": games,
        "seed": game.seed,
        "incidents": game.change_at,
        "half_life_s": game.half_life_s,
        "stretches": [
            {
                "stretch": name,
                "start": start,
                "stop": stop,
                "players": [{"player": t.player, "regret": t.mean, "standard_error": t.error} for t in found],
            }
            for name, (start, stop) in _stretches(game).items()
            for found in (totals(lost, start, stop),)
        ],
    }


def _print(game: Game, games: int, lost: list[dict[str, Floats]], recovered: float) -> None:
    from btm.lab.regret import SETTLED, totals  # noqa: PLC0415

    out = console()
    change, stretches = game.change_at or 0, _stretches(game)
    worlds = f"seed {game.seed}" if games == 1 else f"seeds {game.seed} to {game.seed + games - 1}"
    paragraph(
        out,
        f"Regret in calls: what was lost against the best decisions, the mean of {counted(games, 'simulated world')} "
        f"({worlds}). First over all {change:,} incidents before the change, then per incident: on the last "
        f"{min(_BEFORE, change):,} before it, and by hundreds after it.",
    )
    out.print()
    after = [name for name in stretches if name.startswith("after")]
    columns = (f">to {stretches[name][1] - change}" for name in after)
    rows = table("decided by", ">in all", ">x btm's", ">before", *columns)
    found = {name: totals(lost, start, stop) for name, (start, stop) in stretches.items()}
    for number, total in enumerate(found["before"]):
        rows.add_row(
            total.player,
            f"{total.mean:,.0f} ± {total.error:,.0f}",
            f"{total.mean / found['before'][0].mean:.2f}",
            *(_each(found[name][number], *stretches[name]) for name in ("last before", *after)),
        )
    out.print(rows)
    out.print()
    paragraph(out, "± is the standard error over worlds.")
    paragraph(
        out,
        f"Incidents {SETTLED[0]} to {SETTLED[1]} after the change cost btm {recovered:.2f} times what they cost "
        "in the same worlds without it.",
    )


def _each(total: Total, start: int, stop: int) -> str:
    return f"{total.mean / (stop - start):.3f}"
