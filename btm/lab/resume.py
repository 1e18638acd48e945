"""What an evaluation has finished, in a file (:mod:`btm.lab.run_log`).

An arm's memory learns from one episode to the next, so what is kept is whole: all episodes of an arm under a seed.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import btm
from btm.lab.metrics import Episode
from btm.lab.report import command_line
from btm.lab.request import Evaluation, Request
from btm.lab.run_log import RunLog
from btm.lab.scenarios import Scenario
from btm.model import ErrorKind

_FORMAT = "btm-eval-2"


class FinishedPieces:
    """The finished pieces of a file, and a way to add to them. Raises EvaluationError as :class:`RunLog` does."""

    def __init__(self, path: str | Path, request: Request) -> None:
        head = {"format": _FORMAT, "version": btm.__version__, "command": command_line(request)}
        self._log = RunLog(path, head, "evaluation to be resumed")
        self._found: dict[str, Any] = dict(self._log.rows(lambda row: (str(row["piece"]), row)))

    def get(self, piece: Request) -> Evaluation | None:
        """Return what a piece of work came to, None where it is still to be done."""
        row = self._found.get(_name(piece))
        if row is None:
            return None
        episodes = tuple(
            Episode(**{**e, "kinds": frozenset(map(ErrorKind, e["kinds"]))}) for e in row["episodes"]
        )
        left_out = {Scenario(name): count for name, count in row["left_out"].items()}
        return Evaluation(piece, episodes, left_out, row["unusable"], unmade=row["unmade"])

    def add(self, piece: Request, made: Evaluation) -> None:
        """Keep what a piece of work came to; it is on the disk when this returns."""
        self._log.add(
            {
                "piece": _name(piece),
                "episodes": [{**asdict(e), "kinds": sorted(e.kinds)} for e in made.episodes],
                "left_out": {name.value: count for name, count in made.left_out.items()},
                "unusable": dict(made.unusable),
                "unmade": dict(made.unmade),
            }
        )


def _name(piece: Request) -> str:
    return command_line(replace(piece, database=None))
