"""What was read that a second source can confirm, over all conversations, and how far each tool's answers are trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from btm.fallback import FallbackMap
from btm.model import Incident, Outcome, ToolCall
from btm.runtime.conversations import ConversationState, LiveConversations
from btm.runtime.known_values import SeenRead, behind

_WRONG, _RIGHT = 1.0, 9.0  # what is believed of tools that nobody asked about yet: one answer in ten is wrong
_POOLED = 4.0  # how many answers of its own outweigh what is known of the other tools


class ConfirmableReads:
    """The reads of every conversation. Thread-safe: the lock of the conversations guards it too.

    How far a tool is trusted is a Beta posterior of "is an answer of it wrong?", pooled over tools. Only answers that
    somebody held against a second source count: a tool that was found wrong is believed less at once, and where second
    sources keep agreeing, asking them ceases to be worth its cost.
    """

    def __init__(self, conversations: LiveConversations, fallback_map: FallbackMap) -> None:
        self._conversations, self._map = conversations, fallback_map
        self._right: Counter[str] = Counter()
        self._wrong: Counter[str] = Counter()

    def note(self, conversation: ConversationState, call: ToolCall, result: Any) -> None:
        """Keep a good answer that a second source could confirm."""
        if self._map.entry(call.tool).cross_check is not None:
            conversation.reads.keep(call, result, self.digest)

    def digest(self, call: ToolCall, result: Any) -> str:
        """Return a name for one answer to one call."""
        return self._conversations.digest(call.tool, [call.arguments, result])

    def unconfirmed_behind(self, call: ToolCall) -> tuple[SeenRead, ...]:
        """Return the reads whose values a call uses and that no second source has confirmed, newest first."""
        with self._conversations.lock:
            reads = self._conversations.get(call.conversation).reads.unconfirmed()
        return behind(call, reads)

    def unconfirmed(self, conversation: str) -> tuple[SeenRead, ...]:
        """Return the reads of a conversation that no second source has confirmed, newest first."""
        with self._conversations.lock:
            known = self._conversations.find(conversation)
            return known.reads.unconfirmed() if known is not None else ()

    def doubtful(self, call: ToolCall) -> SeenRead | None:
        """Return what a read just gave, if its tool was found wrong before in this conversation."""
        with self._conversations.lock:
            return self._conversations.get(call.conversation).reads.doubtful(call)

    def confirm(self, conversation: str, *digests: str) -> None:
        """Note that these answers need no further second source."""
        with self._conversations.lock:
            self._conversations.get(conversation).reads.confirm(digests)

    def ask(self, conversation: str, digests: Iterable[str]) -> bool:
        """Note that the agent is asked to have these answers confirmed; return whether that is new of any."""
        with self._conversations.lock:
            return self._conversations.get(conversation).reads.ask(digests)

    def suspect(self, read: SeenRead, outcome: Outcome) -> Incident:
        """Open an incident for a read that had seemed to succeed."""
        with self._conversations.lock:
            self._conversations.get(read.call.conversation).reads.doubt(read.call.tool)
            return self._conversations.suspect(read.call, outcome)

    def compared(self, tool: str, *, agreed: bool) -> None:
        """Note that a second source said the same as ``tool``, or otherwise."""
        with self._conversations.lock:
            (self._right if agreed else self._wrong)[tool] += 1

    def chance_wrong(self, tool: str) -> float:
        """Return the expected chance that an answer of ``tool`` is wrong."""
        with self._conversations.lock:
            wrong, right = self._wrong.total(), self._right.total()
            shared = (_WRONG + wrong) / (_WRONG + _RIGHT + wrong + right)
            own = self._wrong[tool] + self._right[tool]
            return (_POOLED * shared + self._wrong[tool]) / (_POOLED + own)

    def suspected(self, tool: str) -> bool:
        """Whether more speaks against a tool's answers than what is believed of every tool."""
        return self.chance_wrong(tool) > _WRONG / (_WRONG + _RIGHT)
