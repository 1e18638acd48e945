"""One episode: a task, the faults that wait for it, an arm; and how it ended."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel

from btm.fallback import FallbackMap
from btm.lab.chat.agents import Demonstration, shown_as, talk, tools_of
from btm.lab.chat.arms import detail_of
from btm.lab.chat.tasks import HAND_OVER, ChatTask, demonstrations
from btm.lab.chat.trouble import Trouble
from btm.lab.chat.verdict import judge
from btm.lab.faults.clock import VirtualClock
from btm.lab.faults.injector import Injector
from btm.lab.metrics import Episode
from btm.lab.scenarios import Scenario
from btm.lab.shop.tools import TOOLS, ShopSession
from btm.memory import ToolMemory
from btm.model import ErrorKind

_HASH_KEY = bytes(16)
_WAITED_S = (
    30.0  # more than a fault of the lab asks for: whether a repeat works must not depend on how long that is
)


@dataclass(frozen=True, slots=True)
class ChatEpisode:
    """How one task ended under one arm.

    ``good`` is the right end for the scenario (see :class:`~btm.lab.chat.verdict.EpisodeGrade`), ``claimed`` says
    that the closing message claims the task to be done. ``calls`` reached the tools, ``turns`` the model. ``fault`` is
    the kind that waited, ``met`` whether the model ran into it. ``problem`` is what ended the conversation early.
    """

    arm: str
    scenario: str
    task_id: str
    fault: str | None
    good: bool
    handed_over: bool
    claimed: bool
    met: bool
    calls: int
    identical_repeats: int
    double_writes: int
    turns: int
    message: str
    problem: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from the other episodes of a run."""
        return (self.scenario, self.task_id, self.arm)

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)

    def measured(self) -> Episode:
        """Return it as an episode of ``btm.lab.metrics``, where a right end counts as solved."""
        return Episode(
            arm=self.arm,
            scenario=self.scenario,
            task_id=self.task_id,
            kinds=frozenset({ErrorKind(self.fault)} if self.fault else ()),
            solved=self.good,
            escalated=self.handed_over,
            calls=self.calls,
            identical_repeats=self.identical_repeats,
            double_writes=self.double_writes,
            elapsed_s=0.0,
        )


def play(
    arm: str,
    scenario: Scenario,
    task: ChatTask,
    trouble: Trouble,
    model: BaseChatModel,
    fallback_map: FallbackMap,
    *,
    shown: bool = True,
) -> ChatEpisode:
    """Play an episode: a fresh shop, and a fresh memory that knows btm's defaults and the shop's map.

    ``shown`` puts demonstrations before the request. Raises EvaluationError where the model cannot be asked at all.
    """
    clock = VirtualClock()
    session = ShopSession(clock.time)
    injector = Injector(session.call, trouble, clock=clock)
    tools = tools_of([TOOLS[name] for name in task.tools], injector)
    examples = shown_as([_done(one) for one in demonstrations(task.tools)]) if shown else []
    with ToolMemory.open(
        None,
        fallback_map=fallback_map,
        mode="advise",
        detail=detail_of(arm),
        hash_key=_HASH_KEY,
        clock=clock.time,
        sleep=clock.sleep,
        wait_up_to_s=_WAITED_S,
        rng=random.Random(0),  # noqa: S311 - names runs, no secret
    ) as memory:
        said = talk(arm, model, task, tools, memory, examples)
    goal, _ = task.played()
    handed_over = any(made.site.tool == HAND_OVER and not made.failed for made in injector.calls)
    verdict = judge(task, session.digest(), goal, said.message, handed_over=handed_over)
    return ChatEpisode(
        arm=arm,
        scenario=scenario.value,
        task_id=task.task_id,
        fault=trouble.kind.value if trouble.kind is not None else None,
        good=verdict.good(scenario),
        handed_over=handed_over,
        claimed=verdict.claimed,
        met=any(made.fault is not None for made in injector.calls),
        calls=len(injector.calls),
        identical_repeats=injector.identical_repeats,
        # No task asks for the same change twice.
        double_writes=sum(n - 1 for n in Counter(write.change for write in session.writes).values()),
        turns=said.turns,
        message=said.message[:300],
        problem=said.problem,
    )


def _done(task: ChatTask) -> Demonstration:
    calls = zip(task.gold, task.played()[1], strict=True)
    return Demonstration(
        task.request, tuple((gold.tool, gold.arguments, result) for gold, result in calls), task.closing
    )
