"""What the incident tracker asks of a fallback map: the seam between attribution and authored knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from btm.model import ToolCall


class Emptiness(StrEnum):
    """What an empty answer of a tool is."""

    OK = "ok"  # the answer: there is nothing
    SUSPICIOUS = "suspicious"  # perhaps the answer; ask elsewhere if you can
    ERROR = "error"  # never the answer


class StandIn(NamedTuple):
    """What a call is worth as a substitute: the name in the evidence that it counts under, and how far it gets.

    Of two calls in a row only the second is ``complete``; ``underway`` says that an earlier one of the row changed
    something already.
    """

    target: str
    complete: bool = True
    underway: bool = False


class VerifyingRead(NamedTuple):
    """The call of a read that shows what a write did; it ``tells`` where the map says how to see that from its result.

    Its word ``settles`` that a write that answered well can be made again, unless that could not be undone.
    """

    tool: str
    arguments: Mapping[str, Any]
    tells: bool = True
    settles: bool = True

    def made_by(self, call: ToolCall) -> bool:
        """Whether a call is this one."""
        return call.tool == self.tool and all(
            call.arguments.get(k, v) == v for k, v in self.arguments.items()
        )


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

    def shown_by(self, write: ToolCall) -> VerifyingRead | None:
        """Which read shows what ``write`` did, as far as its arguments follow from the write's own."""

    def done(self, failed: ToolCall, result: Any) -> bool | None:
        """Whether a verifying read's ``result`` shows that the write happened; None when it cannot be told."""

    def answers(self, failed: ToolCall, target: str, result: Any) -> bool | None:
        """Whether the ``result`` of the substitute ``target`` says what ``failed`` asked for; None if it cannot be told."""

    def shown(self, failed: ToolCall, target: str, result: Any) -> Any:
        """What the ``result`` of the substitute ``target`` says in the form of ``failed``'s; None if it cannot be told."""

    def emptiness(self, tool: str) -> Emptiness | None:
        """What an empty answer of ``tool`` is, where somebody said so."""

    def cross_checked(self, tool: str) -> bool:
        """Whether another tool can confirm what ``tool`` answers."""

    def same_wish(self, failed: ToolCall, call: ToolCall) -> bool:
        """Whether two calls of one tool ask for the same thing, however they are spelled."""

    def general(self, call: ToolCall) -> bool:
        """Whether the tool takes any command, so that another call of it is no answer to this one."""

    def related(self, failed: ToolCall, call: ToolCall, result: Any) -> bool:
        """Whether a call of a tool that nobody declared asks for what ``failed`` did; ``result`` None if it gave none."""

    def escalates(self, tool: str) -> bool:
        """Whether ``tool`` hands over to a human."""
