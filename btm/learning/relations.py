"""What the incident tracker asks of a fallback map: the seam between attribution and authored knowledge."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from btm.model import ToolCall


class StandIn(NamedTuple):
    """What a call is worth as a substitute: the name in the evidence that it counts under, and how far it gets.

    Of two calls in a row only the second is ``complete``; ``underway`` says that an earlier one of the row changed
    something already.
    """

    target: str
    complete: bool = True
    underway: bool = False


class Relations(Protocol):
    """Relations between a call that failed and a later one. ``failed`` is the earlier call."""

    def knows(self, tool: str) -> bool:
        """Whether the map says anything about ``tool``."""

    def stands_in(self, failed: ToolCall, call: ToolCall) -> StandIn | None:
        """What ``call`` is worth as a substitute that the map offers in place of ``failed``, if it is one."""

    def repairs(self, failed: ToolCall, call: ToolCall) -> bool:
        """Whether ``call`` may repair what made ``failed`` fail."""

    def verifies(self, failed: ToolCall, call: ToolCall) -> bool:
        """Whether ``call`` is the read that shows what the write ``failed`` did."""

    def done(self, failed: ToolCall, result: Any) -> bool | None:
        """Whether a verifying read's ``result`` shows that the write happened; None when it cannot be told."""

    def answers(self, failed: ToolCall, target: str, result: Any) -> bool | None:
        """Whether the ``result`` of the substitute ``target`` says what ``failed`` asked for; None if it cannot be told."""

    def escalates(self, tool: str) -> bool:
        """Whether ``tool`` hands over to a human."""
