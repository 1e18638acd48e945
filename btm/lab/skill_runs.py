"""What skill cards are worth, in simulation: mined from one half of a world's tasks, used on the other.

In each heterogeneous world (:mod:`btm.lab.world`) a bare agent and one with btm's advice go through one half of the tasks,
and cards are mined from how those runs differ. The other half is run with the cards, without, and with the same cards dealt
out to other failures. Every arm meets the same faults and starts each episode from the same evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from btm.fallback import FallbackMap
from btm.lab.agent import ToolResponse
from btm.lab.arms import Arm, OverheardArm, plain_arm
from btm.lab.desk import Desk
from btm.lab.environment import Environment, load_environment
from btm.lab.episodes import APART_S, run_episode
from btm.lab.faults.clock import START
from btm.lab.faults.draw import Draw
from btm.lab.faults.plan import NoFaults
from btm.lab.faults.settings import FaultSettings
from btm.lab.frozen_arms import FrozenArm
from btm.lab.holdout import EpisodeCounter, HoldoutWorld
from btm.lab.loading import map_of
from btm.lab.memory_arms import MemoryArm
from btm.lab.metrics import Episode
from btm.lab.request import Progress, Request
from btm.lab.resampling import Cell, Mean, mean_over
from btm.lab.runner import choose_tasks
from btm.lab.scenarios import Scenario, Setup, Stage
from btm.lab.world import World
from btm.logs.conversation import Conversation, RecordedCall
from btm.logs.listening import Listener
from btm.model import ToolCall
from btm.skills.book import SkillBook
from btm.skills.card import SkillCard, SkillTrial
from btm.skills.mining import Mined, mine
from btm.skills.tries import run_record
from btm.store import EvidenceRow

SETTINGS = tuple((mapped, learned) for mapped in (True, False) for learned in (False, True))
"""Whether the memory has the map, and whether it starts from the first half's evidence."""


def recorded(
    arm: Arm, setups: Iterable[tuple[Stage, Setup]], name: str
) -> list[tuple[Conversation, Episode]]:
    """Run episodes and return each as a log would hold it, a conversation with a reward, and as an episode."""
    made: list[RecordedCall] = []

    def hear(desk: Desk, tool: str, arguments: Mapping[str, Any], answer: ToolResponse) -> None:
        effect, call_id = desk.environment.tools[tool].effect, f"c{len(made)}"
        call = ToolCall(tool, dict(arguments), effect, desk.conversation, call_id, desk.clock.time())
        # What the agent's framework shows: btm's note stands elsewhere, and is no part of the tool's answer.
        made.append(RecordedCall(call, answer.value, answer.is_error or None))

    found = []
    for number, (stage, setup) in enumerate(setups):
        made.clear()
        episode = run_episode(OverheardArm(arm, hear), setup, stage, START + number * APART_S)
        task = setup.task
        conversation = Conversation(
            f"{name}-{number}-{task.task_id}",
            f"{name}#{number}",
            tuple((one,) for one in made),
            float(episode.solved),
            START + number * APART_S,
            format="episodes",
            task=task.request,
            task_id=task.task_id,
        )
        found.append((conversation, episode))
    return found


def mined_from(
    setups: Sequence[tuple[Stage, Setup]], fallback_map: FallbackMap, seed: int, domain: str
) -> tuple[Mined, tuple[EvidenceRow, ...]]:
    """Return the cards, and the evidence, that a bare agent's runs and an advised one's teach."""
    with closing(plain_arm("bare")) as bare:
        runs = recorded(bare, setups, "bare")
    with closing(MemoryArm("btm:advise", fallback_map, seed)) as advised:
        runs += recorded(advised, setups, "advised")
        rows = advised.evidence()
    listener = Listener(fallback_map, now=START)
    records = [run_record(conversation, listener.listen(conversation)) for conversation, _ in runs]
    return mine(records, domain, created_at=START), rows


def dealt_out(cards: Sequence[SkillCard], seed: int) -> tuple[SkillCard, ...]:
    """Return the cards with their steps and evidence dealt out to other triggers: the control for what they say."""
    order = sorted(range(len(cards)), key=lambda n: Draw((seed, "cards")).unit(n))
    step_of = dict(zip(order, [*order[1:], *order[:1]], strict=True))
    return tuple(
        cards[step_of[n]].model_copy(update={"trigger": card.trigger, "id": card.id})
        for n, card in enumerate(cards)
    )


@dataclass(frozen=True)
class SkillWorld:
    """One world's two halves, with what the first taught.

    ``clean`` is what each task of the second costs when nothing fails, with the map and without.
    """

    mined: Mined
    rows: tuple[EvidenceRow, ...]
    tests: tuple[tuple[Stage, Setup], ...]
    fallback_map: FallbackMap
    seed: int
    clean: dict[bool, list[float]] = field(default_factory=dict)

    @classmethod
    def of(cls, request: Request, environment: Environment, number: int) -> SkillWorld:
        """Return the world of a seed: mine on one half of the tasks, set up the other."""
        authored = map_of(environment)
        world = World.of(request.faults.seed + number, authored, request.contrast, request.allowance)
        run = HoldoutWorld(request, environment, world, world.priced(authored), EpisodeCounter(0, None))
        learned, tested = run.halves(choose_tasks(environment, request.tasks))
        setups = [one for n in range(request.passes) for one in run.set_up(learned, f"pass {n + 1}")]
        mined, rows = mined_from(setups, run.fallback_map, world.seed, environment.domain)
        return cls(mined, rows, tuple(run.set_up(tested, "test")), run.fallback_map, world.seed)

    def run(self, cards: Sequence[SkillCard] | None, *, learned: bool, mapped: bool) -> list[Episode]:
        """Run the second half, advised, with these cards (None: without any), each task within its budget.

        ``learned`` says whether the memory starts from the first half's evidence, ``mapped`` whether it has the map.
        """
        fallback_map = self.fallback_map if mapped else FallbackMap.empty()
        with closing(_CardArm(fallback_map, self.seed, self.rows if learned else (), cards)) as arm:
            # When nothing fails, cards and evidence change nothing.
            if mapped not in self.clean:
                self.clean[mapped] = [_clean_cost(arm, stage, setup) for stage, setup in self.tests]
            clean = self.clean[mapped]
            return [
                run_episode(arm, setup, stage, START + n * APART_S, clean[n])
                for n, (stage, setup) in enumerate(self.tests)
            ]


def _clean_cost(arm: Arm, stage: Stage, setup: Setup) -> float:
    clean = Setup(Scenario.CLEAN, Scenario.CLEAN, setup.task, NoFaults())
    return run_episode(arm, clean, stage, START).cost


class _CardArm(FrozenArm):
    """An advised agent whose memory starts every episode from the same evidence and the same cards."""

    def __init__(
        self,
        fallback_map: FallbackMap,
        seed: int,
        learned: Sequence[EvidenceRow],
        cards: Sequence[SkillCard] | None,
    ) -> None:
        # Like the arm's memory it forgets nothing: episodes lie a day apart.
        self.skills = None if cards is None else SkillBook(cards, half_life_s=math.inf)
        super().__init__("btm:advise", fallback_map, seed, learned)


@dataclass(frozen=True)
class SkillComparison:
    """What cards came to in one setting, over worlds: shares solved, and paired differences with 95 % intervals."""

    mapped: bool
    learned: bool
    episodes: int
    without: float
    with_cards: float
    dealt_out: float
    gain: Mean
    over_dealt_out: Mean


def compared(
    request: Request, progress: Progress | None = None
) -> tuple[list[SkillComparison], list[SkillWorld]]:
    """Return what cards are worth in each setting, and the worlds they were mined in. Simulated; see the module."""
    environment = load_environment(request.domain)
    solved: dict[tuple[bool, bool], list[dict[Cell, float]]] = {}
    worlds = []
    for number in range(request.worlds):
        world = SkillWorld.of(request, environment, number)
        worlds.append(world)
        sets = (None, world.mined.cards, dealt_out(world.mined.cards, world.seed))
        for setting in SETTINGS:
            sums = solved.setdefault(setting, [{}, {}, {}])
            for own, cards in zip(sums, sets, strict=True):
                for episode in world.run(cards, mapped=setting[0], learned=setting[1]):
                    own[world.seed, episode.task_id] = float(episode.solved)
        if progress is not None:
            progress(number + 1, request.worlds)
    return [_comparison(*setting, *solved[setting]) for setting in SETTINGS], worlds


def _comparison(
    mapped: bool, learned: bool, none: dict[Cell, float], own: dict[Cell, float], dealt: dict[Cell, float]
) -> SkillComparison:
    def less(other: dict[Cell, float]) -> Mean:
        return mean_over({cell: (own[cell] - other[cell], 1) for cell in own})

    without, cards, dealt_share = (sum(one.values()) / len(one) for one in (none, own, dealt))
    return SkillComparison(mapped, learned, len(own), without, cards, dealt_share, less(none), less(dealt))


def replayed(card: SkillCard, environment: Environment, most: int = 6) -> SkillTrial:
    """Replay a card on tasks of an environment, its tool blocked with its kind of fault: an agent with no map but the card.

    A task that the card's tool has no part in, or that cannot be blocked so, is passed over.
    """
    fallback_map = map_of(environment)
    setups: list[tuple[Stage, Setup]] = []
    for kind in sorted(card.trigger.kinds)[:1]:
        stage = Stage(environment, fallback_map, FaultSettings(weights={kind: 1.0}))
        found = (stage.blocked(task, card.trigger.tool, kind) for task in environment.tasks)
        setups = [(stage, setup) for setup in found if setup is not None][:most]
    world = SkillWorld(Mined(0, 0, 0, (), (card,)), (), tuple(setups), fallback_map, 0)
    episodes = world.run((card,), learned=False, mapped=False)
    return SkillTrial(
        by=environment.domain, worked=sum(episode.solved for episode in episodes), tried=len(episodes)
    )
