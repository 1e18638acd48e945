"""What each tool of an agent does to the world, as far as anybody has said."""

from __future__ import annotations

from collections.abc import Iterable

from btm.fallback import FallbackMap
from btm.model import Effect, ToolCall
from btm.support.effects import Guess, guess

_MOST = 10_000  # tools of one process, and names that a model made up


class ToolEffects:
    """Effects by tool: stated ones, the map's, and guesses from names and descriptions."""

    def __init__(self, fallback_map: FallbackMap) -> None:
        self._map = fallback_map
        self._descriptions: dict[str, str] = {}
        self._hinted: dict[str, Effect] = {}
        self._guesses: dict[str, Guess] = {}

    def describe(self, tool: str, description: str | None, *, read_only: bool | None = None) -> None:
        """Take in how a tool is described to the model: that tells more than its name, and a server's hint decides.

        Who knows of no description takes none back: of an agent's adapters one may see it, and another only the name.
        """
        if read_only is not None:
            self._hinted[tool] = Effect.READ if read_only else Effect.WRITE
            _bound(self._hinted)
        if description and self._descriptions.get(tool) != description:
            self._descriptions[tool] = description
            self._guesses.pop(tool, None)
            _bound(self._descriptions)

    def of(self, tool: str, stated: Effect | None = None) -> Effect:
        """Return a tool's effect: the stated one, the map's, its server's hint, or a guess (a write unless it reads)."""
        known = stated or self._map.effect(tool) or self._hinted.get(tool)
        if known is not None:
            self._guesses.pop(tool, None)
            return known
        found = self._guesses.get(tool)
        if found is None:
            found = self._guesses[tool] = guess(tool, self._descriptions.get(tool, ""))
            _bound(self._guesses)
        return found.effect

    def likely(self, tool: str) -> Effect:
        """Return what :meth:`of` would, where no call is made: that it was a guess is not remembered."""
        known = self._map.effect(tool) or self._hinted.get(tool)
        return known or guess(tool, self._descriptions.get(tool, "")).effect

    @property
    def mapped(self) -> Iterable[str]:
        """The tools that the map knows."""
        return self._map.tools

    def is_assumed(self, call: ToolCall) -> bool:
        """Whether a call is taken for a write only because nothing says that it is a read."""
        found = self._guesses.get(call.tool)
        return found is not None and not found.known and call.effect is Effect.WRITE


def _bound(entries: dict[str, str] | dict[str, Guess] | dict[str, Effect]) -> None:
    if len(entries) > _MOST:
        entries.pop(next(iter(entries)), None)
