"""What evidence is pooled over, and what beliefs start from before there is any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from btm.model import MAX_ORDINAL, Action, ErrorKind, EvidenceKey, Family

Level = tuple[str, ...]
"""A pooling level's name: ``("family", "transient", "retry", "1")`` and so on, general to special."""


class Counts(NamedTuple):
    """Summed weights of successes and failures."""

    successes: float
    failures: float

    @property
    def total(self) -> float:
        """All weight together."""
        return self.successes + self.failures

    def times(self, factor: float) -> Counts:
        """Return both sums multiplied."""
        return Counts(self.successes * factor, self.failures * factor)


NOTHING = Counts(0.0, 0.0)


@lru_cache(maxsize=4_096)
def levels(key: EvidenceKey) -> tuple[Level, ...]:
    """Return the levels that a key is pooled over, most general first, the key itself last.

    A retry or a revise is pooled over the error's family, then its kind: what heals a timeout here heals one
    there. An action on another tool (switch, repair, verify) is pooled over all such actions, then over that target:
    whether a substitute answers depends on the substitute, hardly on how the first tool failed. The level before the
    key holds what this tool did after other errors: some tools are bad after anything.
    """
    ordinal = str(key.ordinal)
    here: Level = ("tool", key.tool, key.action, key.target, ordinal)
    own: Level = ("key", key.tool, key.kind, key.action, key.target, ordinal)
    return (*pools_of(key), here, own)


def pools_of(key: EvidenceKey) -> tuple[Level, Level]:
    """Return the two levels that a key shares with other tools' keys, the first of :func:`levels`."""
    return _pools(None if key.target else key.kind, key.action, key.target, key.ordinal)


@lru_cache(maxsize=4_096)
def _pools(kind: ErrorKind | None, action: Action, target: str, ordinal: int) -> tuple[Level, Level]:
    number = str(ordinal)
    if kind is None:
        return ("action", action, number), ("target", action, target, number)
    return ("family", kind.family, action, number), ("kind", kind, action, number)


# What the shipped beliefs start from, by family and action, for the first, second and later tries. They are weak
# (see Priors.strengths) and give way to a handful of observations. The shape follows the design's table of what
# usually helps; that an unchanged call after a caller's error does not work is measured: `btm fit` of the InterCode
# SQL logs counts 0 of 1,530 (what a pool says is never surer than 0.03, see posterior.py).
_START: Mapping[tuple[Family | None, Action], tuple[float, float, float]] = {
    (Family.TRANSIENT, Action.RETRY): (0.65, 0.5, 0.3),
    (Family.PERSISTENT, Action.RETRY): (0.05, 0.03, 0.03),
    (Family.CALLER, Action.RETRY): (0.03, 0.03, 0.03),
    (Family.SILENT, Action.RETRY): (0.1, 0.05, 0.05),
    (Family.UNKNOWN, Action.RETRY): (0.4, 0.2, 0.1),
    (Family.CALLER, Action.REVISE): (0.6, 0.45, 0.3),
    (None, Action.REVISE): (0.35, 0.25, 0.15),
    (None, Action.REPAIR): (0.6, 0.3, 0.1),
    (None, Action.SWITCH): (0.75, 0.55, 0.35),
    (None, Action.VERIFY): (0.9, 0.7, 0.5),
    (None, Action.ESCALATE): (0.95, 0.9, 0.9),
    (None, Action.ABANDON): (0.5, 0.5, 0.5),
}


def start_mean(family: Family, action: Action, ordinal: int) -> float:
    """Return the shipped starting chance of an action after an error of this family."""
    means = _START.get((family, action)) or _START[(None, action)]
    return means[min(ordinal, MAX_ORDINAL) - 1]


ACROSS = 12.0
"""See :class:`Priors`. Chosen on simulated tools, alike and different, none of which a claim is made on."""


@dataclass(frozen=True, slots=True)
class Priors:
    """How strongly each level believes its parent, and what the top level starts from.

    ``strengths`` are pseudo-counts s for (top, middle, key), ``across`` those that a tool's record after other errors has
    to outweigh. ``means`` overrides the shipped starting chance of a
    top level; offline fitting estimates both (see :mod:`btm.learning.priors`).
    """

    strengths: tuple[float, float, float] = (14.0, 9.0, 5.0)
    means: Mapping[Level, float] = field(default_factory=dict)
    across: float = ACROSS

    def top_mean(self, key: EvidenceKey) -> float:
        """The mean that the top level of ``key`` starts from."""
        fitted = self.means.get(levels(key)[0]) if self.means else None
        return start_mean(key.kind.family, key.action, key.ordinal) if fitted is None else fitted
