"""What the adapters of agent frameworks share: a framework's tool call through btm, and what its agent gets for it.

An adapter says how its framework runs a tool and what its results look like; the rest is here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

import orjson

from btm.adapters.notes import Notes
from btm.adapters.outline import OutlinedMessage, answers, asks, last_answers, request
from btm.adapters.sightings import NO_RESULT, Sightings
from btm.adapters.wording import done_text, late_text, note, refusal_text
from btm.memory import ToolMemory
from btm.model import Effect, ToolCall
from btm.planning.closing import in_result
from btm.planning.failure_text import error_text, result_text
from btm.runtime.drivers import AsyncInvoker, Handled, Invoker, Reply
from btm.runtime.timeouts import Limits, Timeouts
from btm.support.bounded import BoundedDict
from btm.support.call_ids import NO_TURN, Turn
from btm.support.failsafe import is_active, safely
from btm.support.imitations import disarmed

_MAX_RUNS = 2_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """What an agent gets for a call.

    ``value`` is the tool's own object, or a text for a call that failed or was refused. ``said`` is what btm has to say
    of it, ``""`` for nothing: then the value is to be handed over untouched. ``failed`` is for frameworks that flag it.
    """

    value: Any
    said: str = ""
    failed: bool = False

    def text(self) -> str:
        """Return the value as text, with what there is to say at its end."""
        text = result_text(self.value)
        return f"{disarmed(text)}\n\n{self.said}" if self.said else text

    def with_value(self, value: Any) -> AgentAnswer:
        """Return this with another value: what of a framework's object is text, say."""
        return replace(self, value=value)

    def given(self) -> Any:
        """Return the value untouched where there is nothing to say, else the text."""
        return self.text() if self.said else self.value

    def given_or_raised(self) -> Any:
        """Return what :meth:`given` does; raises RuntimeError with the text for a call that failed.

        For frameworks that make a text of an exception themselves, and treat a failed call in ways of their own.
        """
        if self.failed:
            raise RuntimeError(self.text())
        return self.given()


class PutOff(Exception):  # noqa: N818 - a signal
    """Ends a call that was not made, or whose answer is still to come: it teaches nothing."""


class FrameworkCalls:
    """The tool calls of one agent, taken through ``memory``.

    ``view`` makes of a framework's result what the core is to see of it (the failure it flags, the value it wraps).
    ``passed_on`` are exceptions by which tools talk to their framework: they are learned from and raised again.
    ``in_result`` says where recovery contexts go: to the end of the failed call's result, or into :meth:`note`, for
    adapters that can put one into the model's next request.
    """

    def __init__(
        self,
        memory: ToolMemory,
        *,
        view: Callable[[Any], Any] | None = None,
        passed_on: tuple[type[Exception], ...] = (),
        in_result: bool = True,
    ) -> None:
        self.memory = memory
        self._view = view
        self._passed_on = passed_on
        self._in_result = in_result
        self._notes = Notes()
        self._timeouts = Timeouts(memory.fallback_map, {})

    def call(
        self,
        call: ToolCall,
        invoke: Invoker,
        *,
        available: Collection[str] | None = None,
        turn: Turn = NO_TURN,
    ) -> AgentAnswer:
        """Make a call: ``invoke(tool, arguments)`` runs a tool and returns what the framework makes of its result."""
        if not is_active():
            return AgentAnswer(invoke(call.tool, call.arguments))
        seen = Sightings()

        def viewed(tool: str, arguments: Mapping[str, Any]) -> Any:
            return self._shown(invoke(tool, arguments), seen)

        limited = self._limits(call).over(viewed) if self._timeouts.any else viewed
        return self._answer(self.memory.call(call, limited, available=available, turn=turn), seen, turn)

    async def acall(
        self,
        call: ToolCall,
        invoke: AsyncInvoker,
        *,
        available: Collection[str] | None = None,
        turn: Turn = NO_TURN,
    ) -> AgentAnswer:
        """Make a call with a function that must be awaited; otherwise as :meth:`call`."""
        if not is_active():
            return AgentAnswer(await invoke(call.tool, call.arguments))
        seen = Sightings()

        async def viewed(tool: str, arguments: Mapping[str, Any]) -> Any:
            return self._shown(await invoke(tool, arguments), seen)

        limited = self._limits(call).over_async(viewed) if self._timeouts.any else viewed
        handled = await self.memory.acall(call, limited, available=available, turn=turn)
        return self._answer(handled, seen, turn)

    async def arefused(self, call: ToolCall) -> AgentAnswer | None:
        """Return the answer to a call that may not be made, None for any other: the framework makes it itself.

        What comes of that is then handed to :meth:`afollow`.
        """

        async def invoke(_: str, __: Mapping[str, Any]) -> Any:
            raise PutOff

        try:
            return await self.acall(call, invoke, available=())
        except PutOff:
            return None

    async def afollow(
        self, call: ToolCall, came: Reply, invoke: AsyncInvoker, *, available: Collection[str] = ()
    ) -> AgentAnswer:
        """Take a call that the framework has made through btm; ``invoke`` makes those that come of it in act mode."""
        first = [came]

        async def follow(tool: str, arguments: Mapping[str, Any]) -> Any:
            if not first:
                return await invoke(tool, arguments)
            reply = first.pop()
            if reply.error is not None:
                raise reply.error
            return reply.result

        answer = await self.acall(call, follow, available=available)
        if first:  # refused, and yet it was made, beside the call that forbids it: what came of it is learned
            ticket = self.memory.begin(call)
            if ticket is not None:
                self.memory.finish(ticket, result=came.result, error=came.error)
        return answer

    def tool_call(
        self,
        tool: str,
        arguments: Any,
        conversation: str,
        call_id: str | None = "",
        *,
        description: str | None = None,
    ) -> ToolCall:
        """Return a tool call; ``arguments`` that are no JSON object are kept as they came.

        ``description`` is what the model is told about the tool.
        """
        self.memory.describe(tool, description)
        if isinstance(arguments, str | bytes):
            with suppress(orjson.JSONDecodeError):
                arguments = orjson.loads(arguments or "{}")
        known = arguments if isinstance(arguments, Mapping) else {"unreadable": arguments}
        named = self.memory.current_conversation or conversation
        return ToolCall(tool, known, self.memory.effect_of(tool), named, call_id or "")

    def rules(self, conversation: str) -> str | None:
        """Return the standing rules for the system prompt of a conversation, None where no context is given."""
        if not is_active() or not self.memory.mode.advises:
            return None
        return self.memory.standing_rules(self.memory.current_conversation or conversation)

    def note(self, conversation: str, entries: Sequence[OutlinedMessage], available: Collection[str]) -> str:
        """Return what is to stand at the end of the model's next request, ``""`` for nothing.

        ``entries`` are the messages of that request.
        """
        if not is_active() or not self.memory.mode.advises:
            return ""
        return safely(self._note, self.memory.current_conversation or conversation, entries, available) or ""

    def _note(self, conversation: str, entries: Sequence[OutlinedMessage], available: Collection[str]) -> str:
        lines = self._notes.take_late(conversation)
        lines += self.memory.notices(conversation, available=available)
        told = self._notes.contexts(conversation, last_answers(entries, asks, answers))
        return note(told, request(entries), lines, budget=self.memory.budget_tokens)

    def _answer(self, handled: Handled, seen: Sightings, turn: Turn) -> AgentAnswer:
        if not self._in_result:
            self._notes.keep(handled, handled.call.call_id, turn.name)
        context = in_result(handled.context) if self._in_result else ""
        late = self._notes.take_late(handled.call.conversation) if self._in_result and context else ()
        said = "\n\n".join(text for text in (done_text(handled), context, *late) if text)
        if handled.refused:
            return AgentAnswer(refusal_text(handled), context, failed=True)
        if handled.error is None:
            raw = seen.original(handled)
            return AgentAnswer(handled.result if raw is NO_RESULT else raw, said)
        if not self.memory.mode.advises or isinstance(handled.error, self._passed_on):
            raise handled.error
        return AgentAnswer(error_text(handled.error, handled.call.arguments), said, failed=True)

    def _shown(self, raw: Any, seen: Sightings) -> Any:
        shown = raw if self._view is None else self._view(raw)
        seen.note(shown, raw)
        return shown

    def _limits(self, call: ToolCall) -> Limits:
        def late(tool: str, _: Mapping[str, Any], reply: Reply) -> None:
            text = error_text(reply.error) if reply.error is not None else result_text(reply.result)
            self._notes.add_late(call.conversation, late_text(tool, text))

        return Limits(self._timeouts.seconds, self._effect, late)

    def _effect(self, tool: str) -> Effect:
        return self.memory.effect_of(tool)


_MODEL_STATE = ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")


def fronted(tool: T, front: type, *btm: Any) -> T:
    """Return a copy of ``tool`` with the methods of ``front`` before those of its own class.

    A tool that has them already is returned as it is. The copy is an object of that class, whose name errors and traces
    show. ``btm`` is what the methods find as ``_btm``.
    """
    if isinstance(tool, front):
        return tool
    kind = type(tool)
    made: T = object.__new__(type(kind.__name__, (front, kind), {"__module__": kind.__module__}))
    made.__dict__.update(tool.__dict__, _btm=btm)
    for name in _MODEL_STATE:
        if hasattr(tool, name):
            object.__setattr__(made, name, getattr(tool, name))
    return made


class RunNames:
    """Names of conversations for frameworks that have objects for their runs, but no names. Bounded."""

    def __init__(self) -> None:
        # The objects are held, so that no id is used twice.
        self._runs: BoundedDict[int, tuple[Any, str]] = BoundedDict(_MAX_RUNS)
        self._lock = Lock()

    def name(self, run: Any) -> str:
        """Return the name of a run: the same for the same object."""
        if run is None:
            return ""
        with self._lock:
            known = self._runs.get(id(run))
            if known is None:
                known = self._runs[id(run)] = (run, f"run-{uuid4().hex[:12]}")
            return known[1]
