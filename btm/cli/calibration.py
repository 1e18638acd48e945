"""``btm calibration`` and ``btm backtest``: how well learned chances foretell what happens next in held-out logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from btm.cli.output import FOUND, console, emit_json, fail, table

if TYPE_CHECKING:
    from btm.evaluation.backtest import Backtest
    from btm.evaluation.calibration import Calibration, Group, Parts
    from btm.evaluation.intervals import Interval
    from btm.fallback import FallbackMap
    from btm.policy import Policies
    from btm.traces.conversation import Conversation, Skipped


def _log_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add what both commands are asked for."""
    options = (
        click.argument("logs", nargs=-1, required=True, metavar="LOGS..."),
        click.option(
            "--map",
            "map_name",
            help="A fallback map (path or shipped name): says what is a switch, repair or verify.",
        ),
        click.option("--format", "form", help="The logs' format, instead of telling it from their content."),
        click.option(
            "--parts",
            type=click.IntRange(2),
            default=2,
            show_default=True,
            help="Cut the logs into so many parts; each is foretold from all before it.",
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap."),
        click.option("--out", metavar="FILE.svg", help="Draw the reliability diagram."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@_log_options
def calibration(**options: Any) -> None:
    """Measure how well chances learned from the earlier part of LOGS foretell the later part.

    By the time that conversations started where the logs hold it, otherwise by their place in each log. The pooled
    posterior stands against one global rate, the raw rate of each key (the global rate where a key is new), and
    Beta(1, 1) a key. Thin keys have fewer than five attempts in what was learned from.

    Exit code 1 says that the pooled posterior is worse than a baseline, with 95 % confidence.
    """
    asked = _Asked(**options)
    found = asked.calibrate()
    if asked.as_json:
        emit_json(document(found, asked.seed))
    else:
        _print(found, asked.out)
    _judge(found)


@click.command()
@_log_options
@click.option(
    "--policies", default="default", show_default=True, help="A policy file: a path, or a shipped one's name."
)
def backtest(policies: str, **options: Any) -> None:
    """Calibrate on LOGS, and set what btm would have advised first against what was done.

    The later part is walked through with what the earlier part taught. At every failure the planner says what it would
    do first; the next attempt says what the agent did, and whether that worked. This is no experiment: agents had
    reasons of their own. Exit code 1 as for btm calibration.
    """
    from btm.cli.backtest_text import backtest_document, show_backtest  # noqa: PLC0415 - only this command needs it
    from btm.policy import Policies  # noqa: PLC0415

    asked = _Asked(**options)
    if "-" in asked.logs:
        fail("a backtest reads its logs twice, and stdin can be read once; name a file")
    found = asked.calibrate()
    done = asked.backtest(Policies.load(policies))
    if asked.as_json:
        emit_json({**document(found, asked.seed), "advice": backtest_document(done)})
    else:
        _print(found, asked.out)
        show_backtest(done)
    _judge(found)


@dataclass
class _Asked:
    """What a command was asked for, and the logs' lessons once they are read."""

    logs: tuple[str, ...]
    map_name: str | None
    form: str | None
    parts: int
    seed: int
    out: str | None
    as_json: bool

    @cached_property
    def fallback_map(self) -> FallbackMap:
        from btm.fallback import FallbackMap  # noqa: PLC0415 - loaded when a command runs

        return FallbackMap.load(self.map_name) if self.map_name else FallbackMap.empty()

    @cached_property
    def cut_up(self) -> Parts:
        from btm.evaluation.calibration import cut, lessons  # noqa: PLC0415

        return cut(lessons(self._read(), self.fallback_map), self.parts)

    def _read(self) -> Iterator[Conversation | Skipped]:
        from btm.traces.reading import read_conversations  # noqa: PLC0415

        return read_conversations(self.logs, format=self.form)

    def calibrate(self) -> Calibration:
        from btm.evaluation.calibration import calibrate  # noqa: PLC0415
        from btm.evaluation.reliability import draw  # noqa: PLC0415

        found = calibrate(self.cut_up, seed=self.seed)
        if self.out is not None:
            subject = ", ".join(Path(log).name for log in self.logs)
            Path(self.out).write_text(draw(found, subject), encoding="utf-8")
        return found

    def backtest(self, policies: Policies) -> Backtest:
        from btm.evaluation.backtest import backtest as walk  # noqa: PLC0415

        return walk(self._read(), self.cut_up, self.fallback_map, policies)


def _judge(found: Calibration) -> None:
    """End with exit code 1 where the pooled posterior is clearly worse than a baseline."""
    if any(difference.worse for group in found.groups for difference in group.differences):
        raise SystemExit(FOUND)


def document(found: Calibration, seed: int) -> dict[str, Any]:
    """Return a calibration in the form of ``btm calibration --json``."""
    from btm.evaluation.forecasts import Method  # noqa: PLC0415
    from btm.evaluation.reliability import bins, calibration_error  # noqa: PLC0415

    reliability = bins(found.forecasts[Method.POOLED], found.outcomes)
    return {
        "learned_from": found.learned_from,
        "foretold": found.foretold,
        "by_time": found.by_time,
        "seed": seed,
        "groups": [_group(group) for group in found.groups],
        "calibration_error": calibration_error(reliability),
        "reliability": [
            {
                "n": b.n,
                "foretold": b.foretold,
                "happened": b.happened,
                "low": b.interval.low,
                "high": b.interval.high,
            }
            for b in reliability
        ],
    }


def _group(group: Group) -> dict[str, Any]:
    return {
        "group": group.name,
        "attempts": group.attempts,
        "conversations": group.conversations,
        "keys": group.keys,
        "scores": [{"method": s.method, "log_loss": s.log_loss, "brier": s.brier} for s in group.scores],
        "pooled_minus": [
            {
                "method": d.baseline,
                "log_loss": {"difference": d.log_loss, **_bounds(d.log_loss_interval)},
                "brier": {"difference": d.brier, **_bounds(d.brier_interval)},
            }
            for d in group.differences
        ],
    }


def _bounds(interval: Interval | None) -> dict[str, float | None]:
    return {"low": interval.low if interval else None, "high": interval.high if interval else None}


def _print(found: Calibration, out: str | None) -> None:
    screen = console()
    order = "the time they started" if found.by_time else "their place in each log"
    screen.print(
        f"Conversations with recoveries, by {order}: learned from {found.learned_from:,} at first, "
        f"foretold {found.foretold:,}"
    )
    for group in found.groups:
        name = "All held-out attempts" if group.name == "all" else "Those of thin keys"
        screen.print(
            f"\n[bold]{name}[/bold]: {group.attempts:,}, of {group.keys} keys in {group.conversations:,} conversations"
        )
        screen.print(_scores(group))
    screen.print(
        "\nLower is better; below zero, the pooled posterior is better. Intervals: bootstrap over conversations."
    )
    if out is not None:
        screen.print(f"The reliability diagram is in {out}.")


def _scores(group: Group) -> Any:
    numeric = ("log loss", "Brier", "pooled minus it: log loss", "pooled minus it: Brier")
    made = table("foretold by", *numeric, numeric=numeric)
    differences = {d.baseline: d for d in group.differences}
    for score in group.scores:
        against = differences.get(score.method)
        gaps = (
            (_gap(against.log_loss, against.log_loss_interval), _gap(against.brier, against.brier_interval))
            if against
            else ("", "")
        )
        made.add_row(score.method, f"{score.log_loss:.4f}", f"{score.brier:.4f}", *gaps)
    return made


def _gap(difference: float, interval: Interval | None) -> str:
    bounds = f"{interval.low:+.4f} to {interval.high:+.4f}" if interval else "too few conversations to say"
    return f"{difference:+.4f} ({bounds})"
