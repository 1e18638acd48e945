"""Draws that depend on nothing but their names: the same seed and the same words give the same number.

A generator such as ``random.Random`` hands out numbers in the order in which they are asked for, so an agent that
makes one call more would meet other faults from there on. Here a number is a hash of a path of words, so the
faults that wait behind one call do not depend on the calls made before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from btm.support.untrusted import canonical

T = TypeVar("T")
_RESOLUTION = 2**53  # the integers that a float holds exactly


@dataclass(frozen=True, slots=True)
class Draw:
    """A place in the tree of draws. ``at`` goes deeper; the other methods take the number that lies there."""

    path: tuple[object, ...] = ()

    def at(self, *words: object) -> Draw:
        """Return the place below this one that ``words`` (JSON values) name."""
        return Draw((*self.path, *words))

    def unit(self, *words: object) -> float:
        """Return a number in [0, 1), uniform over paths."""
        digest = hashlib.blake2b(canonical([*self.path, *words]), digest_size=8).digest()
        return (int.from_bytes(digest, "big") >> 11) / _RESOLUTION

    def between(self, low: float, high: float, *words: object) -> float:
        """Return a number in [low, high)."""
        return low + (high - low) * self.unit(*words)

    def integer(self, low: int, high: int, *words: object) -> int:
        """Return a whole number from low to high, both included."""
        return low + int(self.unit(*words) * (high - low + 1))

    def pick(self, options: Sequence[T], *words: object) -> T:
        """Return one of ``options``, each as likely as the others. Raises IndexError when there is none."""
        return options[int(self.unit(*words) * len(options))]

    def weighted(self, weights: Mapping[T, float], *words: object) -> T:
        """Return a key of ``weights`` with a chance proportional to its weight.

        Keys are taken in the mapping's order. Raises ValueError when no weight is positive.
        """
        total = sum(weights.values())
        if not total > 0:
            raise ValueError(f"no weight is positive: {dict(weights)}")
        left = self.unit(*words) * total
        last: T | None = None
        for key, weight in weights.items():
            if weight <= 0:
                continue
            last = key
            left -= weight
            if left < 0:
                return key
        assert last is not None  # noqa: S101 - a positive total has a positive weight
        return last  # rounding left a hair over: the last key takes it
