"""A file of finished episodes, one JSON object a line: a measurement that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from btm.errors import EvaluationError
from btm.lab.chat.episode import ChatEpisode

_FORMAT = "btm-placement-1"


class EpisodeLog:
    """The episodes of a file, and a way to add to it. The first line says under which ``settings`` they were played.

    Raises EvaluationError when the file is no journal, was written under other settings, or cannot be written. A last
    line that was cut off as the run was stopped is dropped.
    """

    def __init__(self, path: str | Path, settings: Mapping[str, Any]) -> None:
        self._path = Path(path)
        self._episodes: dict[tuple[str, str, str], ChatEpisode] = {}
        head = {"format": _FORMAT, **settings}
        try:
            text = self._path.read_text("utf-8") if self._path.exists() else ""
            whole = text[: text.rfind("\n") + 1]
            self._read(whole, head)
            if not whole:
                self._path.write_text(json.dumps(head) + "\n", "utf-8")
            elif whole != text:
                self._path.write_text(whole, "utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise EvaluationError(f"the journal {path} cannot be used: {problem}") from problem

    def __len__(self) -> int:
        return len(self._episodes)

    def _read(self, text: str, head: Mapping[str, Any]) -> None:
        for number, line in enumerate(text.splitlines(), start=1):
            try:
                row = json.loads(line)
                if number > 1:
                    episode = ChatEpisode.from_json(row)
                    self._episodes[episode.key] = episode
                    continue
            except (ValueError, TypeError) as problem:
                raise EvaluationError(
                    f"{self._path}:{number}: this is no episode of btm placement"
                ) from problem
            if not isinstance(row, dict) or row.get("format") != _FORMAT:
                raise EvaluationError(f"{self._path} is there already, and is no journal of btm placement")
            differ = sorted(key for key in {*row, *head} if row.get(key) != head.get(key))
            if differ:
                raise EvaluationError(
                    f"{self._path} was written with other settings ({', '.join(differ)}); name another file"
                )

    def found(self, scenario: str, task_id: str, arm: str) -> ChatEpisode | None:
        """Return an episode that is over already."""
        return self._episodes.get((scenario, task_id, arm))

    def add(self, episode: ChatEpisode) -> None:
        """Keep an episode. Raises EvaluationError when it cannot be written."""
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(episode.to_json(), ensure_ascii=False) + "\n")
        except OSError as problem:
            raise EvaluationError(f"the journal {self._path} cannot be written: {problem}") from problem
        self._episodes[episode.key] = episode
