"""How arms behave when tools fail, beyond what they solve: one row an arm, each column defined in ``DEFINITIONS``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from btm.errors import EvaluationError
from btm.lab.faults.kinds import RETURNED
from btm.lab.intervals import Pairs
from btm.lab.metrics import Episode, pair_up
from btm.lab.scenarios import Scenario

CHARACTERS_A_TOKEN = 4
"""What an English text has by the usual rule of thumb: enough to compare arms by, not to bill by."""

DEFINITIONS: Mapping[str, str] = {
    "helped": "of the tasks that the first arm does not solve, the share that this one does (solvable scenarios)",
    "harmed": "of the tasks that the first arm solves, the share that this one does not",
    "premature": "of the episodes that can be solved, the share handed over to a human",
    "abstained": "of the episodes that cannot be solved, the share handed over",
    "noticed": "of the episodes in which a silent fault struck, the share that did not act on it: solved, or handed over "
    "without a wrong change",
    "false_alarms": "of the episodes in which nothing fails, the share in which the arm said something or handed over",
    "catastrophic": "of the episodes that were not solved, the share that ended as if all had been done",
    "trajectory": "of the episodes that can be solved, the share solved without a wrong or doubled change on the way",
    "repeats": "calls repeated unchanged right after they failed, an episode",
    "longest_loop": "the most often that one failed call was repeated in an episode",
    "doubled": "changes made more often than asked for",
    "wrong": "changes that the task does not ask for",
    "calls": "calls that reached the tools, an episode",
    "waited_s": "simulated seconds spent in failing calls and between calls, an episode",
    "tokens": f"what the arm said to the agent, an episode, at {CHARACTERS_A_TOKEN} characters a token",
    "model_tokens": "what the agent's model read and wrote, an episode, by its server's count; none without a model",
    "money": "calls and tokens at the prices given, an episode; none without prices",
}
"""What each column means. Shares are None where there is no such episode."""


SHARES = tuple(DEFINITIONS)[:8]
"""The columns that are shares of episodes, ``helped`` to ``trajectory``."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What a call of a tool and a token said to the agent cost, in any one currency."""

    call: float = 0.0
    token: float = 0.0

    @classmethod
    def read(cls, text: str) -> Prices:
        """Read ``call=0.002,token=0.000003``. Raises EvaluationError."""
        found: dict[str, float] = {}
        for part in text.split(","):
            name, _, number = part.strip().partition("=")
            try:
                found[name] = float(number)
            except ValueError:
                found[name] = -1.0
            if name not in ("call", "token") or not found[name] >= 0:
                raise EvaluationError(f"{part.strip()!r} is no price: expected call=0.002,token=0.000003")
        return cls(**found)


@dataclass(frozen=True, slots=True)
class BehaviourRow:
    """An arm's behaviour over a run; ``DEFINITIONS`` says what each number is."""

    arm: str
    helped: float | None
    harmed: float | None
    premature: float | None
    abstained: float | None
    noticed: float | None
    false_alarms: float | None
    catastrophic: float | None
    trajectory: float | None
    repeats: float
    longest_loop: int
    doubled: int
    wrong: int
    calls: float
    waited_s: float
    tokens: float
    model_tokens: float | None = None
    money: float | None = None


def behaviour(episodes: Sequence[Episode], prices: Prices | None = None) -> tuple[BehaviourRow, ...]:
    """Return a row an arm, in the order of the run; the first arm is what the others are held against."""
    arms = list(dict.fromkeys(e.arm for e in episodes))
    solvable = [e for e in episodes if e.scenario != Scenario.IMPOSSIBLE]
    pairs = {arm: pair_up(solvable, arms[0], arm) for arm in arms}
    return tuple(_row(arm, [e for e in episodes if e.arm == arm], pairs[arm], prices) for arm in arms)


def _row(arm: str, mine: Sequence[Episode], pairs: Pairs, prices: Prices | None) -> BehaviourRow:
    solvable = [e for e in mine if e.scenario != Scenario.IMPOSSIBLE]
    silent = [e for e in solvable if e.kinds & set(RETURNED) and e.faults_met]
    clean = [e for e in mine if e.scenario == Scenario.CLEAN and not e.faults_met]
    each = max(1, len(mine))
    calls = sum(e.calls for e in mine) / each
    tokens = sum(e.injected_chars for e in mine) / CHARACTERS_A_TOKEN / each
    return BehaviourRow(
        arm,
        helped=_of(pairs.only_b, pairs.neither),
        harmed=_of(pairs.only_a, pairs.both),
        premature=_share([e.escalated for e in solvable]),
        abstained=_share([e.escalated for e in mine if e.scenario == Scenario.IMPOSSIBLE]),
        noticed=_share([e.solved or (e.escalated and not e.wrong_writes) for e in silent]),
        false_alarms=_share([e.escalated or e.injected_chars > 0 for e in clean]),
        catastrophic=_share([e.claimed for e in mine if not e.solved]),
        trajectory=_share([e.cleanly for e in solvable]),
        repeats=sum(e.identical_repeats for e in mine) / each,
        longest_loop=max((e.longest_loop for e in mine), default=0),
        doubled=sum(e.double_writes for e in mine),
        wrong=sum(e.wrong_writes for e in mine),
        calls=calls,
        waited_s=sum(e.waited_s for e in mine) / each,
        tokens=tokens,
        model_tokens=sum(e.model_tokens for e in mine) / each or None,
        money=None if prices is None else calls * prices.call + tokens * prices.token,
    )


def _of(these: int, others: int) -> float | None:
    return these / (these + others) if these + others else None


def _share(found: Sequence[bool]) -> float | None:
    return sum(found) / len(found) if found else None
