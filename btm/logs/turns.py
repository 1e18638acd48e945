"""Putting calls and their answers together, as they come by in a list of messages."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from btm.logs.conversation import NO_RESULT, Batch, Conversation, RecordedCall
from btm.logs.values import arguments_of
from btm.model import Effect, Outcome, ToolCall

_READ = Effect.READ  # what a tool does is not in these logs: the fit asks the map
_CALL, _RESULT, _IS_ERROR, _ERROR_TYPE, _LATENCY, _OUTCOME, _INTENT_FROM, _OBSERVED, _REASONING = range(9)
_UNIQUE = 12  # an id of this length is not given to two calls
_RECENT = 50  # turns back that an answer without an id is still taken for one to

_tuple = tuple.__new__


def _name(tool: object) -> str:
    """Return the name of a tool that is no plain text; a number can be one."""
    if isinstance(tool, str | int) and not isinstance(tool, bool) and str(tool):
        return str(tool)
    raise ValueError("a call without the name of its tool")


class Turns:
    """Collects the calls of one conversation, turn by turn, and gives each the answer with its id.

    A call without an id is named by its place (``#3``, after ``prefix``). An id that comes up again names another
    call (small models and servers reuse ``call_0``), and is made unique by its place (``call_0#3``); answers go to
    the latest. A call without a time is put a second after the one before it, from ``started_at`` or 0.0 on.

    What is said around the calls is kept with them: the assistant's text beside a call is its intent, else the user's
    last words; the assistant's next text is what it made of the answer.
    """

    __slots__ = (
        "_asked", "_at", "_batches", "_beside", "_by_id", "_conversation", "_count", "_early", "_heard", "_key", "_open",
        "_prefix", "_streams", "_thought", "guessed", "orphans", "task", "waiting",
    )  # fmt: skip

    def __init__(self, conversation: str, started_at: float | None = None, prefix: str = "") -> None:
        self._prefix = prefix
        self._conversation = conversation
        self._at = -1.0 if started_at is None else started_at - 1.0
        self._batches: list[list[list[Any]]] = []
        self._by_id: dict[str, list[Any]] = {}
        self._count = 0
        self._open: list[list[Any]] | None = None
        self._asked: str | None = None
        self._beside: str | None = None
        self._thought: str | None = None
        self._heard: list[list[Any]] = []  # the calls whose answers the assistant has not spoken after
        self._key: object = None
        self._streams: dict[object, list[Any]] = {}
        self._early: dict[str, tuple[Any, bool | None, str | None]] = {}  # answers logged before their calls
        self.task = ""
        self.waiting = False
        """Whether calls in the text of messages wait for answers in the text of messages."""
        self.guessed: list[list[Any]] = []
        """Calls in the text of messages that are none if nothing answers them: an example in HTML, an advised command."""
        self.orphans = 0
        """Answers that belong to no call."""

    def turn(self, key: object = None) -> None:
        """Say that the calls that follow are a new turn; pieces of one turn that are logged apart share a ``key``."""
        if key is not None and key == self._key and self._batches:
            self._open = self._batches[-1]
            return
        self._key = key
        self._open = self._beside = self._thought = None

    def asked(self, text: str) -> None:
        """Say what the user said."""
        self._asked = text
        self.task = self.task or text

    def said(self, text: str) -> None:
        """Say what the assistant said: in this turn, and after the answers that it has had."""
        self._beside = text
        if self._heard:
            for slot in self._heard:
                slot[_OBSERVED] = text
            self._heard = []

    def thought(self, text: str) -> None:
        """Say what the assistant thought before the calls of this turn."""
        self._thought = text

    def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        call_id: object,
        at: float | None = None,
        *,
        intent: str | None = None,
        effect: Effect = _READ,
    ) -> list[Any]:
        """Add a call to the turn, and return the slot in which its answer goes (see ``answer``).

        Raises ValueError when the tool has no name.
        """
        if type(tool) is not str or not tool:
            tool = _name(tool)
        name = call_id if type(call_id) is str else "" if call_id is None else str(call_id)
        by_id = self._by_id
        if name in by_id and (same := self._again(name, tool, arguments)) is not None:
            return same
        unique = name if name and name not in by_id else f"{name or self._prefix}#{self._count}"
        self._count += 1
        self._at = at = self._at + 1.0 if at is None else at
        source = "log"
        if intent is None:
            intent, source = (self._beside, "assistant") if self._beside else (self._asked, "user")
        call = ToolCall(tool, arguments, effect, self._conversation, unique, at, intent)
        self._heard = []
        slot = [call, NO_RESULT, None, None, None, None, source if intent else None, None, self._thought]
        by_id[name] = slot
        if unique is not name:
            by_id[unique] = slot
        if self._open is None:
            self._open = [slot]
            self._batches.append(self._open)
        else:
            self._open.append(slot)
        if self._early and (early := self._early.pop(name, None)) is not None:
            slot[_RESULT : _ERROR_TYPE + 1] = early
            self._heard.append(slot)
            self.orphans -= 1
        return slot

    def _again(self, call_id: str, tool: str, arguments: dict[str, Any]) -> list[Any] | None:
        """Return the call with this id if this is the same one, told twice (as asked for, and as it began)."""
        slot = self._by_id[call_id]
        call = slot[_CALL]
        fewer, more = sorted((call.arguments, arguments), key=len)
        told = call.tool == tool and fewer.items() <= more.items()
        if not (told and call_id and slot[_RESULT] is NO_RESULT):
            return None
        if arguments and not call.arguments:  # it was told when it began, before its arguments had come
            slot[_CALL] = replace(call, arguments=arguments)
        return slot

    def streamed(self, key: object, call_id: object, tool: str, at: float | None = None) -> None:
        """Add a call whose arguments follow in pieces, which name it by ``key``."""
        slot = self.call(tool, {}, call_id, at)
        self._streams[key] = [slot, ""]

    def streams(self, key: object, text: object) -> None:
        """Add a piece of the text of a call's arguments; one for no call is passed over."""
        if (stream := self._streams.get(key)) is not None and isinstance(text, str):
            stream[1] += text
            slot = stream[0]
            if text.rstrip().endswith("}"):  # it may be the last one
                slot[_CALL] = replace(slot[_CALL], arguments=arguments_of(stream[1]))

    def result(
        self,
        call_id: object,
        value: Any,
        is_error: bool | None = None,
        error_type: str | None = None,
        *,
        tool: str | None = None,
    ) -> None:
        """Give the call with this id its answer; one that belongs to no call is counted as an orphan.

        Without an id the answer goes to the first call without one: of ``tool``, or of the last turn.
        """
        self._open = None
        slot = self._by_id.get(call_id) if type(call_id) is str and call_id else None
        if slot is None:
            slot = self._unanswered(call_id, tool)
        if slot is None:
            self.orphans += 1
            if type(call_id) is str and len(call_id) >= _UNIQUE and len(self._early) < _RECENT:
                self._early[call_id] = (value, is_error, error_type)
            return
        slot[_RESULT] = value
        slot[_IS_ERROR] = is_error
        slot[_ERROR_TYPE] = error_type
        self._heard.append(slot)

    def settled(self) -> bool:
        """Whether there are calls, and each has its answer."""
        return bool(self._batches) and all(
            s[_RESULT] is not NO_RESULT for batch in self._batches for s in batch
        )

    def awaits(self, call_id: str) -> bool:
        """Whether a call with this id is there and has no answer yet."""
        return call_id in self._by_id and self._by_id[call_id][_RESULT] is NO_RESULT

    def expects(self) -> bool:
        """Whether a call of the last turn has no answer yet."""
        return bool(self._batches) and any(slot[_RESULT] is NO_RESULT for slot in self._batches[-1])

    def _unanswered(self, call_id: object, tool: str | None) -> list[Any] | None:
        if call_id is not None and (slot := self._by_id.get(str(call_id))) is not None:
            return slot
        if tool is None:
            waiting = [s for b in self._batches[-1:] for s in b if s[_RESULT] is NO_RESULT]
        else:
            recent = (s for b in self._batches[-_RECENT:] for s in b)
            waiting = [s for s in recent if s[_RESULT] is NO_RESULT and s[_CALL].tool == tool]
        if call_id:  # the call itself has no id of its own
            waiting = [slot for slot in waiting if "#" in slot[_CALL].call_id]
        return waiting[0] if waiting else None

    def conversation(
        self,
        source: str,
        digest: str,
        format_name: str,
        *,
        conversation_id: str | None = None,
        reward: float | None = None,
        started_at: float | None = None,
        task_id: str = "",
    ) -> Conversation:
        """Return what has been collected as a conversation."""
        own = self._conversation if conversation_id is None else conversation_id
        batches = self.batches(own)
        about = (reward, started_at, digest, format_name, self.task, self.orphans, task_id)
        return Conversation(own, source, batches, *about)

    def batches(self, conversation: str | None = None) -> tuple[Batch, ...]:
        """Return what has been collected, under another conversation id if one is given."""
        if conversation is not None and conversation != self._conversation:
            for slot in (slot for batch in self._batches for slot in batch):
                slot[_CALL] = replace(slot[_CALL], conversation=conversation)
        if mistaken := {id(slot) for slot in self.guessed if slot[_RESULT] is NO_RESULT}:
            kept = ([slot for slot in batch if id(slot) not in mistaken] for batch in self._batches)
            self._batches = [batch for batch in kept if batch]
        starts = (batch[0][_CALL].at for batch in self._batches)
        if len(self._batches) > 1 and all(later > earlier for later, earlier in pairwise(starts)):
            self._batches.reverse()  # it was logged newest first: calls without a time are put one after the other
        return tuple([tuple([_tuple(RecordedCall, slot) for slot in batch]) for batch in self._batches])


def told(slot: list[Any], observed: str | None, reasoning: str | None, intent_from: str | None) -> None:
    """Put what a log says about a call beside its slot: see :class:`RecordedCall`."""
    slot[_INTENT_FROM], slot[_OBSERVED], slot[_REASONING] = intent_from, observed, reasoning


def answer(
    slot: list[Any],
    value: Any,
    is_error: bool | None = None,
    error_type: str | None = None,
    *,
    latency_s: float | None = None,
    outcome: Outcome | None = None,
) -> None:
    """Put an answer in the slot that ``Turns.call`` returned."""
    slot[_RESULT:_INTENT_FROM] = [value, is_error, error_type, latency_s, outcome]
