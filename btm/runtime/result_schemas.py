"""Learned result shapes, one profile a tool: what a process knows of them and what it adds to the store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from btm.classify import ShapeProfile
from btm.store import ShapeRow
from btm.support.untrusted import ask

LEARNED_FROM = 200
"""Answers of a tool that its shape is learned from; later ones are only judged by it."""

ROOT = "$"


class ResultSchemas:
    """The shape of every tool's good results. Not thread-safe: its owner holds the lock."""

    def __init__(self, rows: Iterable[ShapeRow] = ()) -> None:
        by_tool: dict[str, list[tuple[str, str, float]]] = {}
        for tool, path, json_type, answers in rows:
            by_tool.setdefault(tool, []).append((path, json_type, answers))
        self._profiles = {tool: ShapeProfile.from_rows(found) for tool, found in by_tool.items()}

    def profile(self, tool: str) -> ShapeProfile | None:
        """Return what is known of a tool's results, or None before the first one."""
        return self._profiles.get(tool)

    def learn(self, tool: str, result: Any) -> tuple[ShapeRow, ...]:
        """Take in a good result; return the rows that it adds to the store."""
        profile = self._profiles.get(tool) or ShapeProfile()
        answers = sum(count for kind, count in profile.counts.get(ROOT, {}).items() if kind)
        if answers >= LEARNED_FROM:
            return ()
        added = ask(profile.evidence, result)
        self._profiles[tool] = profile.merge(ShapeProfile.from_rows(added))
        return tuple((tool, *row) for row in added)

    def forget(self, tool: str) -> None:
        """Forget a tool's shape: it changed, and rightly so."""
        self._profiles.pop(tool, None)
