"""What an evaluation has finished, in a file: one that was stopped, or killed, goes on where it was.

An arm's memory learns from one episode to the next, so what is kept is whole: all episodes of an arm under a seed. Each is
written in one go and flushed to the disk; a line that was cut off is dropped.
"""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson

import btm
from btm.errors import EvaluationError
from btm.lab.metrics import Episode
from btm.lab.report import command_line
from btm.lab.request import Evaluation, Request
from btm.lab.scenarios import Scenario
from btm.model import ErrorKind

_FORMAT = "btm-eval-2"


class FinishedPieces:
    """The finished pieces of a file, and a way to add to them. The first line says which run they belong to.

    Raises EvaluationError when the file is another run's, or no such file, or cannot be written.
    """

    def __init__(self, path: str | Path, request: Request) -> None:
        self._path = Path(path)
        self._found: dict[str, Any] = {}
        head = {"format": _FORMAT, "version": btm.__version__, "command": command_line(request)}
        try:
            whole = self._path.read_bytes() if self._path.exists() else b""
            lines = whole[: whole.rfind(b"\n") + 1].splitlines()
            if not lines:
                self._path.write_bytes(orjson.dumps(head) + b"\n")
                return
            self._check(_parsed(lines[0], self._path, 1), head)
            for number, line in enumerate(lines[1:], start=2):
                row = _parsed(line, self._path, number)
                self._found[str(row["piece"])] = row
            if len(whole) > whole.rfind(b"\n") + 1:
                self._path.write_bytes(b"".join(line + b"\n" for line in lines))
        except OSError as problem:
            raise EvaluationError(f"{path} cannot be used to resume: {problem.strerror}") from problem

    def _check(self, found: Any, head: dict[str, str]) -> None:
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise EvaluationError(f"{self._path} is there already, and no evaluation wrote it to be resumed")
        for name in ("version", "command"):
            if found.get(name) != head[name]:
                other = f"{name} {found.get(name)!r}, now {head[name]!r}"
                raise EvaluationError(f"{self._path} belongs to another run ({other}); name another file")

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
        episodes = [{**asdict(e), "kinds": sorted(e.kinds)} for e in made.episodes]
        left_out = {name.value: count for name, count in made.left_out.items()}
        row = {
            "piece": _name(piece), "episodes": episodes, "left_out": left_out, "unusable": dict(made.unusable),
            "unmade": dict(made.unmade),
        }  # fmt: skip
        try:
            with self._path.open("ab") as file:
                file.write(orjson.dumps(row) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise EvaluationError(f"{self._path} cannot be written: {problem.strerror}") from problem


def _parsed(line: bytes, path: Path, number: int) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as problem:
        raise EvaluationError(f"{path}:{number}: this is no line of a resumable evaluation") from problem


def _name(piece: Request) -> str:
    return command_line(replace(piece, database=None))
