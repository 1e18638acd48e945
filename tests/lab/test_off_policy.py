"""Off-policy: in simulated worlds the truth is known, so the interval's coverage is measured where it was not tuned."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean

import pytest

from btm.errors import EvaluationError
from btm.lab.backtest import Choice
from btm.lab.off_policy import LEAST_EFFECTIVE, advice_effect
from btm.model import Action, ErrorKind

Done = tuple[Action | None, str]
RETRY, SWITCH, OTHER, NOTHING = (
    (Action.RETRY, ""),
    (Action.SWITCH, "other"),
    (Action.SWITCH, "third"),
    (None, ""),
)
KINDS = (ErrorKind.TIMEOUT, ErrorKind.SERVER_ERROR)


def fixed(*words: object) -> float:
    """A number in [0, 1) that is the same for the same words."""
    return random.Random(repr(words)).random()


@dataclass(frozen=True)
class LogWorld:
    """What agents do at failures, what works, and what is advised: by (tool, kind, tries)."""

    tools: int
    habit: Callable[[str, int, float], Mapping[Done, float]]
    works: Callable[[str, Done], float]
    advice: Callable[[str], tuple[Action, str]]
    believed: float = 0.5
    most: int = 3
    spread: float = 0.0

    def logs(self, seed: int, conversations: int) -> tuple[list[Choice], float]:
        """Return choices, and how much better the advice would have done on these very failures, in expectation."""
        rng, rows, gained = random.Random(seed), [], []
        for number in range(conversations):
            hard = rng.gauss(0, self.spread)
            for _ in range(rng.randint(1, self.most)):
                tool, kind, tries = (
                    f"t{rng.randrange(self.tools)}",
                    rng.choice(KINDS),
                    rng.choice((0, 0, 1, 2)),
                )
                habit = self.habit(tool, tries, number / conversations)
                did = rng.choices(list(habit), list(habit.values()))[0]

                def chance(what: Done, tool: str = tool, hard: float = hard) -> float:
                    return 0.0 if what[0] is None else min(1.0, max(0.0, self.works(tool, what) + hard))

                action, target = self.advice(tool)
                worked = rng.random() < chance(did)
                total = sum(habit.values())
                gained.append(chance((action, target)) - sum(chance(d) * w / total for d, w in habit.items()))
                rows.append(
                    Choice(
                        tool, kind, action, target, self.believed, *did, worked, False, tries, f"c{number}"
                    )
                )
        return rows, fmean(gained)


WORLDS = {
    "half and half": LogWorld(
        3, lambda *_: {RETRY: 0.45, SWITCH: 0.45, NOTHING: 0.1}, lambda t, d: 0.3 + 0.5 * fixed(t, d), lambda _: SWITCH
    ),
    "three ways": LogWorld(
        5,
        lambda t, *_: {RETRY: 0.4, SWITCH: 0.2 + 0.2 * fixed(t), OTHER: 0.2, NOTHING: 0.1},
        lambda t, d: fixed(d, t),
        lambda t: max(SWITCH, OTHER, key=lambda d: fixed(d, t)),
    ),
    "each tool its own habit": LogWorld(
        6,
        lambda t, *_: {RETRY: 0.15 + 0.7 * fixed(t), SWITCH: 0.85 - 0.7 * fixed(t)},
        fixed,
        lambda t: SWITCH if fixed(t, SWITCH) > fixed(t, RETRY) else RETRY,
    ),
    "beliefs are wrong": LogWorld(
        4,
        lambda *_: {RETRY: 0.6, SWITCH: 0.3, NOTHING: 0.1},
        lambda _, d: 0.1 if d == SWITCH else 0.6,
        lambda _: SWITCH,
        believed=0.99,
    ),
    "habits drift": LogWorld(
        3,
        lambda _t, _n, at: {RETRY: 0.85 - 0.6 * at, SWITCH: 0.15 + 0.6 * at},
        lambda t, d: 0.4 + 0.3 * fixed(t, d),
        lambda _: RETRY,
    ),
    "hard conversations": LogWorld(
        3, lambda *_: {RETRY: 0.5, SWITCH: 0.5}, lambda _, d: 0.4 + 0.2 * (d == SWITCH), lambda _: SWITCH,
        most=8, spread=0.25,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WORLDS)
def test_the_interval_covers_the_truth(name: str) -> None:
    world, covered, off = WORLDS[name], 0, []
    runs = 100
    for seed in range(runs):
        choices, truth = world.logs(seed, 250)
        found = advice_effect(choices)
        assert found.difference is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high
        off.append(found.difference - truth)
    # 95 of 100 are wanted; 87 or fewer come by chance of a 95 % interval in one of 500 runs.
    assert covered >= 88
    assert abs(fmean(off)) < 0.02


def test_what_agents_never_did_is_left_out_and_where_that_is_most_nothing_is_said() -> None:
    half = LogWorld(
        2,
        lambda t, *_: {RETRY: 1.0} if t == "t0" else {RETRY: 0.5, SWITCH: 0.5},
        lambda *_: 0.5,
        lambda t: SWITCH if t == "t0" else RETRY,
    )
    found = advice_effect(half.logs(1, 400)[0])
    assert found.outside > 100
    never = LogWorld(2, lambda *_: {RETRY: 1.0}, lambda *_: 0.5, lambda _: SWITCH)
    refused = advice_effect(never.logs(1, 400)[0])
    assert "agents never did what btm advises" in refused.refusal
    assert refused.difference is refused.low is refused.variance is None


def test_a_small_effective_sample_is_refused() -> None:
    found = advice_effect(WORLDS["half and half"].logs(1, 40)[0])
    assert found.effective < LEAST_EFFECTIVE
    assert "too little overlap" in found.refusal or "agents never did" in found.refusal
    assert advice_effect([]).refusal


def test_handing_over_is_no_attempt() -> None:
    choices, _ = WORLDS["half and half"].logs(1, 250)
    human = [c._replace(advised=Action.ESCALATE, target="human") for c in choices[:30]]
    found = advice_effect([*human, *choices[30:]])
    assert found.hand_overs == 30


def test_where_agents_always_did_what_is_advised_nothing_changes() -> None:
    same = LogWorld(2, lambda *_: {RETRY: 1.0}, lambda t, d: 0.4 + 0.2 * fixed(t, d), lambda _: RETRY)
    found = advice_effect(same.logs(1, 300)[0])
    assert found.difference == pytest.approx(0.0, abs=1e-9)
    assert found.effective == pytest.approx(found.failures, rel=0.02)


def test_a_choice_without_its_conversation_is_refused() -> None:
    with pytest.raises(EvaluationError, match="hang together"):
        advice_effect([Choice("t", ErrorKind.TIMEOUT, Action.RETRY, "", 0.5)])
