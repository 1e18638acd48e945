"""A file of finished episodes (:mod:`btm.lab.run_log`): a measurement that was stopped goes on where it was."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from btm.lab.chat.episode import ChatEpisode
from btm.lab.run_log import RunLog

_FORMAT = "btm-placement-1"


class EpisodeLog:
    """The episodes of a file that were played under some ``settings``. Raises EvaluationError as :class:`RunLog` does."""

    def __init__(self, path: str | Path, settings: Mapping[str, Any]) -> None:
        self._log = RunLog(path, {"format": _FORMAT, **settings}, "journal of btm placement")
        played = self._log.rows(lambda row: ChatEpisode(**row))
        self._episodes: dict[tuple[str, str, str], ChatEpisode] = {one.key: one for one in played}

    def __len__(self) -> int:
        return len(self._episodes)

    def found(self, scenario: str, task_id: str, arm: str) -> ChatEpisode | None:
        """Return an episode that is over already."""
        return self._episodes.get((scenario, task_id, arm))

    def add(self, episode: ChatEpisode) -> None:
        """Keep an episode. Raises EvaluationError when it cannot be written."""
        self._log.add(episode.to_json())
        self._episodes[episode.key] = episode
