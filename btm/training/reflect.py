"""Advantages over mixed groups of rollouts, and distillation from a policy that has seen the card.

Agent-Reflex (whose "ORPO" is no Odds Ratio Preference Optimization) normalises rewards once over a group of clean and
disturbed rollouts, and adds a loss that follows the policy's own scores with the skill card in context: with
Delta = sg[l_skill - l_theta] per token, gamma = sigmoid(beta * Delta) and L = L_RL + lambda * L_OPD. The public text does
not give L_OPD; btm's is the token mean of -gamma * l_theta. Arrays may be numpy's or torch's: no array package is imported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

EPSILON = 1e-4
"""Added to a group's standard deviation, as TRL does."""

_MOST = 60.0  # a log-odds beyond which a sigmoid is 0 or 1 to the last bit that counts

Groups = Literal["mixed", "separate"]


def group_advantages(
    rewards: Sequence[float], disturbed: Sequence[bool] | None = None, groups: Groups = "mixed"
) -> list[float]:
    """Return A_i = (R_i - mean) / (std + eps) for the rollouts of one task; std is the population's.

    ``mixed`` takes mean and std over all of them; ``separate`` over the clean and the disturbed ones each for itself, as
    NoisyAgent does: a disturbed group that failed as a whole then teaches nothing. Raises ValueError for an unknown
    ``groups`` and for lists of different lengths.
    """
    if groups not in ("mixed", "separate"):
        raise ValueError(f"groups is {groups!r}; use mixed or separate")
    marks = [False] * len(rewards) if disturbed is None or groups == "mixed" else list(disturbed)
    if len(marks) != len(rewards):
        raise ValueError(f"{len(rewards)} rewards and {len(marks)} marks of disturbance: there is one each")
    found = [0.0] * len(rewards)
    for mark in set(marks):
        own = [n for n, one in enumerate(marks) if one is mark]
        mean = math.fsum(rewards[n] for n in own) / len(own)
        std = math.sqrt(math.fsum((rewards[n] - mean) ** 2 for n in own) / len(own))
        for n in own:
            found[n] = (rewards[n] - mean) / (std + EPSILON)
    return found


def zero_variance(rewards: Sequence[float]) -> bool:
    """Whether a group's rewards are all the same: it then has no gradient."""
    return max(rewards) - min(rewards) < 1e-9 if rewards else True


def gamma(skill: Any, policy: Any, beta: float = 1.0) -> Any:
    """Return sigmoid(beta * sg[l_skill - l_theta]) per token, in (0, 1): how far the card speaks for a token.

    ``skill`` and ``policy`` are log-probabilities of the same sampled tokens with the card in context and without, of one
    shape. No gradient flows through it.
    """
    delta = _stopped(skill) - _stopped(policy)
    return 1.0 / (1.0 + math.e ** -(beta * delta).clip(-_MOST, _MOST))


def opd_loss(skill: Any, policy: Any, mask: Any, beta: float = 1.0) -> Any:
    """Return L_OPD: the mean of -gamma * l_theta over the tokens of ``mask`` (1 counts, 0 does not).

    The gradient flows through the policy's own log-probabilities alone.
    """
    weighted = -(gamma(skill, policy, beta) * policy * mask).sum()
    return weighted / mask.sum().clip(1.0)


def _stopped(values: Any) -> Any:
    detach = getattr(values, "detach", None)
    return values if detach is None else detach()
