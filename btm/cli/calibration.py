"""``btm calibration`` and ``btm backtest``: how well learned chances foretell what happens next in held-out logs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from btm.cli.options import FORMAT, JSON, LOGS, POLICIES, all_of, map_option
from btm.cli.output import FOUND, check_writable, emit_json, fail

if TYPE_CHECKING:
    from btm.fallback import FallbackMap
    from btm.lab.backtest import Backtest
    from btm.lab.calibration import Calibration, Parts
    from btm.logs.conversation import Conversation, Skipped
    from btm.planning.policy import Policies


_log_options = all_of(
    LOGS,
    map_option("what is a switch, repair or verify"),
    FORMAT,
    click.option(
        "--parts",
        type=click.IntRange(2),
        default=2,
        help="Cut the logs into so many parts; each is foretold from all before it.",
    ),
    click.option("--seed", type=int, default=0, help="Of the bootstrap."),
    click.option("--out", metavar="FILE.svg", help="Draw the reliability diagram."),
    JSON,
)


@click.command()
@_log_options
def calibration(**options: Any) -> None:
    """Measure how well chances learned from the earlier part of LOGS foretell the later part.

    By the time that conversations started where the logs hold it, otherwise by their place in each log. The pooled
    posterior stands against one global rate, the raw rate of each key (the global rate where a key is new), and
    Beta(1, 1) a key. Thin keys have fewer than five attempts in what was learned from.

    Exit code 1 says that the pooled posterior is worse than a baseline, with 95 % confidence.
    """
    from btm.cli.calibration_text import calibration_document, show_calibration  # noqa: PLC0415

    asked = _CalibrationRequest(**options)
    found = asked.calibrate()
    if asked.as_json:
        emit_json(calibration_document(found, asked.seed, asked.skipped))
    else:
        show_calibration(found, asked.out, asked.skipped)
    _judge(found)


@click.command()
@_log_options
@POLICIES
def backtest(policies: str, **options: Any) -> None:
    """Calibrate on LOGS, and set what btm would have advised first against what was done.

    The later part is walked through with what the earlier part taught. At every failure the planner says what it would
    do first; the next attempt says what the agent did, and whether that worked. This is no experiment: agents had
    reasons of their own. Exit code 1 as for btm calibration.
    """
    from btm.cli.calibration_text import (  # noqa: PLC0415 - only this command needs it  # noqa: PLC0415
        backtest_document,
        calibration_document,
        show_backtest,
        show_calibration,
    )
    from btm.planning.policy import Policies  # noqa: PLC0415

    asked = _CalibrationRequest(**options)
    if "-" in asked.logs:
        fail("a backtest reads its logs twice, and stdin can be read once; name a file")
    found = asked.calibrate()
    done = asked.backtest(Policies.load(policies))
    if asked.as_json:
        document = calibration_document(found, asked.seed, asked.skipped)
        emit_json({**document, "advice": backtest_document(done)})
    else:
        show_calibration(found, asked.out, asked.skipped)
        show_backtest(done)
    _judge(found)


@dataclass
class _CalibrationRequest:
    """What a command was asked for, and the logs' lessons once they are read."""

    logs: tuple[str, ...]
    map_name: str | None
    form: str | None
    parts: int
    seed: int
    out: str | None
    as_json: bool
    skipped: list[Skipped] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.out is not None:
            if Path(self.out).suffix.lower() != ".svg":
                fail(f"the diagram is an SVG: name a .svg file with --out, not {self.out}")
            check_writable(self.out)

    @cached_property
    def fallback_map(self) -> FallbackMap:
        from btm.fallback import FallbackMap  # noqa: PLC0415 - loaded when a command runs

        return FallbackMap.load(self.map_name) if self.map_name else FallbackMap.empty()

    @cached_property
    def cut_up(self) -> Parts:
        from btm.lab.calibration import cut, lessons  # noqa: PLC0415

        with self._read(self.skipped) as conversations:
            return cut(lessons(conversations, self.fallback_map), self.parts)

    def _read(self, skipped: list[Skipped]) -> AbstractContextManager[Iterator[Conversation]]:
        from btm.cli.logs import read_logs  # noqa: PLC0415

        return read_logs(self.logs, skipped, form=self.form, quiet=self.as_json)

    def calibrate(self) -> Calibration:
        from btm.lab.calibration import calibrate  # noqa: PLC0415
        from btm.lab.reliability import draw  # noqa: PLC0415

        found = calibrate(self.cut_up, seed=self.seed)
        if self.out is not None:
            subject = ", ".join(Path(log).name for log in self.logs)
            Path(self.out).write_text(draw(found, subject), encoding="utf-8")
        return found

    def backtest(self, policies: Policies) -> Backtest:
        from btm.lab.backtest import backtest as walk  # noqa: PLC0415

        cut_up = self.cut_up
        with self._read([]) as conversations:
            return walk(conversations, cut_up, self.fallback_map, policies)


def _judge(found: Calibration) -> None:
    """End with exit code 1 where the pooled posterior is clearly worse than a baseline."""
    if any(difference.worse for group in found.groups for difference in group.differences):
        raise SystemExit(FOUND)
