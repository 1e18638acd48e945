"""How often a tool's answers turned out wrong where a second source was asked: whether asking is worth its cost."""

from __future__ import annotations

from collections import Counter

_WRONG, _RIGHT = 1.0, 9.0  # what is believed of tools that nobody asked about yet: one answer in ten is wrong
_POOLED = 4.0  # how many answers of its own outweigh what is known of the other tools


class Trust:
    """Beta posteriors of "is an answer of this tool wrong?", pooled over tools. Not thread-safe: its owner holds the lock.

    Only answers that somebody held against a second source count. A tool that was found wrong is believed less at once;
    where second sources keep agreeing, asking them ceases to be worth its cost.
    """

    def __init__(self) -> None:
        self._right: Counter[str] = Counter()
        self._wrong: Counter[str] = Counter()

    def agreed(self, tool: str) -> None:
        """Note that a second source said the same."""
        self._right[tool] += 1

    def contradicted(self, tool: str) -> None:
        """Note that a second source said otherwise."""
        self._wrong[tool] += 1

    def chance_wrong(self, tool: str) -> float:
        """Return the expected chance that an answer of this tool is wrong."""
        wrong, right = self._wrong.total(), self._right.total()
        shared = (_WRONG + wrong) / (_WRONG + _RIGHT + wrong + right)
        own = self._wrong[tool] + self._right[tool]
        return (_POOLED * shared + self._wrong[tool]) / (_POOLED + own)

    def suspected(self, tool: str) -> bool:
        """Whether more speaks against the tool's answers than what is believed of every tool."""
        return self.chance_wrong(tool) > _WRONG / (_WRONG + _RIGHT)
