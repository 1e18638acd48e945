"""Plays every task under every arm, and keeps each episode as soon as it is over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langchain_core.language_models import BaseChatModel

from btm.fallback import FallbackMap
from btm.lab.chat.episode import ChatEpisode, play
from btm.lab.chat.request import PlacementRequest
from btm.lab.chat.tasks import ChatTask, draw_tasks
from btm.lab.chat.trouble import trouble_for
from btm.lab.scenarios import Scenario

if TYPE_CHECKING:
    from btm.lab.chat.episode_log import EpisodeLog


@dataclass(frozen=True, slots=True)
class PlannedEpisode:
    """An episode that is to be played."""

    scenario: Scenario
    task: ChatTask
    arm: str


def plan(request: PlacementRequest) -> Iterator[PlannedEpisode]:
    """Go through a measurement's episodes.

    All arms and scenarios of one task follow each other, and tasks with the same tools: requests that begin alike come
    close together, which is what a server's prompt cache lives on. Raises EvaluationError for more tasks than there are.
    """
    most = max(request.tasks[scenario] for scenario in request.scenarios)
    tasks = draw_tasks(request.seed, most, request.families)
    numbered = sorted(enumerate(tasks), key=lambda item: item[1].tools)
    for number, task in numbered:
        for scenario in request.scenarios:
            if number < request.tasks[scenario]:
                for arm in request.arms:
                    yield PlannedEpisode(scenario, task, arm)


def measure(
    request: PlacementRequest, model: BaseChatModel, journal: EpisodeLog | None = None
) -> Iterator[ChatEpisode]:
    """Play a measurement's episodes and give each when it is over; those in the journal are not played again.

    Raises EvaluationError where the model cannot be asked (no connection, no right, no such model).
    """
    fallback_map = FallbackMap.load("shop")
    for planned in plan(request):
        task, scenario, arm = planned.task, planned.scenario, planned.arm
        episode = journal.found(scenario.value, task.task_id, arm) if journal is not None else None
        if episode is None:
            trouble = trouble_for(scenario, task, request.seed, fallback_map)
            episode = play(arm, scenario, task, trouble, model, fallback_map, shown=request.shown)
            if journal is not None:
                journal.add(episode)
        yield episode
