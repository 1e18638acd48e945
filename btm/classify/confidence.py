"""How likely it is that an answer was named rightly: measured on answers of sources that nothing here was made with.

What decides (``Finding.confidence``, the chances of the two opinions) orders rules against each other, and is too sure of
what they do not know. What is told is a sum of signs in logits: which rule decided, and how well the second opinion agrees.
Weights: ``[confidence]`` of ``data/decision.toml``, fitted by ``tests/classify/fit_decision.py --new``. They hold where two
in five answers are successes; of a log with more of these a success is right more often than it is told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from btm.classify import guessing, rules
from btm.classify.finding import EXACT, Finding
from btm.model import SUCCESS, Outcome

Signs = Mapping[str, float]

_LEAST = 0.003
"""The nearest that a chance comes to 0 and 1."""

_RAISED = frozenset({"status", "code", "type"})
"""Rules that say of an exception what they say of a body, and are right more often there."""


def of_failure(found: Finding, likely: float | None, *, raised: bool = False) -> float:
    """Return how likely a failure is named rightly.

    ``likely`` is the second opinion's probability of its kind (None: it was not asked). What the user's rules, expectations
    or a learned shape say, and what a raised exception's status says, is as sure as its rule.
    """
    signs = signs_of_failure(found, likely)
    by = next(iter(signs))
    if by not in rules.table("decision")["confidence"] or (raised and is_as_sure_as_its_rule(found)):
        return guessing.calibrated(found.confidence)
    return _told(signs)


def is_as_sure_as_its_rule(found: Finding) -> bool:
    """Whether a finding, made of a raised exception, is as sure as its rule."""
    return found.rule.partition(":")[0] in _RAISED


def signs_of_failure(found: Finding, likely: float | None) -> Signs:
    """Return what says how likely a failure is named rightly, and how much of each."""
    by = found.rule.partition(":")[0]
    if found.confidence >= EXACT:
        return {"exact": 1.0}
    return {by: 1.0} if likely is None else {by: 1.0, "agreed": logit(likely)}


@lru_cache(maxsize=256)
def success(chance: float | None = None) -> Outcome:
    """Return a success, a failure's with this ``chance`` by the second opinion (None: it was not asked)."""
    return replace(SUCCESS, confidence=_told(signs_of_success(chance)))


def signs_of_success(chance: float | None) -> Signs:
    """Return what says how likely a success is one, and how much of each."""
    return {"success": 1.0} if chance is None else {"success": 1.0, "looked at": 1.0, "chance": logit(chance)}


def of_doubt(chance: float) -> float:
    """Return how likely a success is one that is a failure's with this ``chance`` by what decides."""
    return _told(signs_of_doubt(chance))


def signs_of_doubt(chance: float) -> Signs:
    """Return what says how likely a suspected success is one, and how much of each."""
    return {"suspected": 1.0, "doubt": logit(chance)}


def logit(chance: float) -> float:
    """Return the log odds of a chance, kept away from 0 and 1."""
    kept = min(1.0 - _LEAST, max(_LEAST, chance))
    return math.log(kept / (1.0 - kept))


def _told(signs: Signs) -> float:
    known = rules.table("decision")["confidence"]
    total = known["bias"] + sum(known.get(name, 0.0) * much for name, much in signs.items())
    return round(1.0 / (1.0 + math.exp(-total)), 4)
