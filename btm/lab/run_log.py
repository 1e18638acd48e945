"""A file of what a run has finished, one JSON object a line: one that was stopped, or killed, goes on where it was."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from btm.errors import EvaluationError


class RunLog:
    """The rows of a file, and a way to add to them. Its first line is the ``head``: which run it belongs to.

    A last line that was cut off is dropped. Raises EvaluationError when the file is another run's, or none of ``what`` it
    is to be, or cannot be read or written.
    """

    def __init__(self, path: str | Path, head: Mapping[str, Any], what: str) -> None:
        self._path, self._what = Path(path), what
        try:
            whole = self._path.read_bytes() if self._path.exists() else b""
            kept = whole[: whole.rfind(b"\n") + 1]
            self._lines = kept.splitlines()
            first = orjson.dumps(head) + b"\n"
            if kept:
                self._check(self._parsed(0), head)
            elif not first.startswith(whole):
                raise EvaluationError(f"{path} is there already, and is no {what}")
            if not kept or kept != whole:
                self._path.write_bytes(kept or first)
        except OSError as problem:
            raise EvaluationError(f"{what} {path} cannot be used: {problem.strerror}") from problem

    def _check(self, found: Any, head: Mapping[str, Any]) -> None:
        if not isinstance(found, dict) or found.get("format") != head["format"]:
            raise EvaluationError(f"{self._path} is there already, and is no {self._what}")
        differ = sorted(name for name in {*found, *head} if found.get(name) != head.get(name))
        if differ:
            now = ", ".join(f"{name} {found.get(name)!r}, now {head.get(name)!r}" for name in differ)
            raise EvaluationError(f"{self._path} belongs to another run ({now}); name another file")

    def _parsed(self, number: int, read: Callable[[Any], Any] = lambda row: row) -> Any:
        try:
            return read(orjson.loads(self._lines[number]))
        except (ValueError, TypeError, KeyError) as problem:
            raise EvaluationError(
                f"{self._path}:{number + 1}: this is no line of a {self._what}"
            ) from problem

    def rows(self, read: Callable[[Any], Any]) -> Iterator[Any]:
        """Yield each row as ``read`` has it; what it raises of ValueError, TypeError and KeyError names the line."""
        for number in range(1, len(self._lines)):
            yield self._parsed(number, read)

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep a row; it is on the disk when this returns."""
        try:
            with self._path.open("ab") as file:
                file.write(orjson.dumps(row) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise EvaluationError(
                f"{self._what} {self._path} cannot be written: {problem.strerror}"
            ) from problem
