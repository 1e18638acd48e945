"""One LangChain tool call through btm: what the middleware's calls and those of wrapped tools have in common."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from btm.adapters.langchain.exception_origin import PassedOn, RefusedByPerson
from btm.adapters.langchain.results import Address, Exchange, answer, view
from btm.adapters.langchain.run_context import enter, leave
from btm.adapters.notes import Notes
from btm.adapters.wording import done_text, late_text
from btm.memory import ToolMemory
from btm.model import Effect, ToolCall
from btm.planning.failure_text import error_text, result_text
from btm.runtime.drivers import AsyncInvoker, Handled, Invoker, Reply
from btm.runtime.timeouts import Limits, Timeouts
from btm.support.call_ids import NO_TURN, Turn
from btm.support.untrusted import text_of


class Kit(Protocol):
    """What the calls of one agent share. ``raises``: a failing tool raises instead of answering."""

    @property
    def memory(self) -> ToolMemory: ...
    @property
    def timeouts(self) -> Timeouts: ...
    @property
    def notes(self) -> Notes: ...
    @property
    def raises(self) -> bool: ...

    def effect(self, tool: str) -> Effect:
        """Return a tool's effect."""


@dataclass(kw_only=True)
class KitCall:
    """A call through btm. ``to`` is whose result it is, ``task`` LangGraph's task, ``turn`` the message that asked."""

    kit: Kit
    call: ToolCall
    to: Address
    task: str = ""
    turn: Turn = NO_TURN
    exchange: Exchange = field(default_factory=Exchange)

    def make(self, invoke: Invoker, available: Collection[str]) -> Any:
        """Make the call; return what the agent gets."""
        kit = self.kit
        token = enter(kit.memory, self.to.call_id, self.task)
        try:
            limited = self._limits.over(invoke) if kit.timeouts.any else invoke
            handled = kit.memory.call(self.call, limited, available=available, turn=self.turn)
        except RefusedByPerson as refused:
            self.kit.memory.withdraw(self.call)
            return refused.answer
        except PassedOn as passed:
            other = passed.error
        else:
            return self.answer(handled)
        finally:
            leave(token)
        raise other  # here, where nothing is added to what it was raised from

    async def amake(self, invoke: AsyncInvoker, available: Collection[str]) -> Any:
        """Make the call, awaited; return what the agent gets."""
        kit = self.kit
        token = enter(kit.memory, self.to.call_id, self.task)
        try:
            limited = self._limits.over_async(invoke) if kit.timeouts.any else invoke
            handled = await kit.memory.acall(self.call, limited, available=available, turn=self.turn)
        except RefusedByPerson as refused:
            self.kit.memory.withdraw(self.call)
            return refused.answer
        except PassedOn as passed:
            other = passed.error
        else:
            return self.answer(handled)
        finally:
            leave(token)
        raise other

    def answer(self, handled: Handled) -> Any:
        """Return what the agent gets: the tool's own object where that is the answer."""
        self.note(handled)
        if handled.outcome.ok and len(handled.trail) == 1:
            return self.exchange.original(handled)
        raises = self.kit.raises or not self.kit.memory.mode.advises
        # What goes to the user as it is, and a value that no model asked for, stay free of our words.
        done = "" if self.to.direct or self.to.call_id is None else done_text(handled)
        return answer(handled, self.exchange, self.to, raises=raises, tell=(done, *self.tell(handled)))

    def note(self, handled: Handled) -> None:
        """Keep what the adapter has to remember of an answer."""

    def tell(self, handled: Handled) -> tuple[str, ...]:  # noqa: ARG002 - for those that tell in the answer
        """Return texts for the model that belong into the answer itself."""
        return ()

    @property
    def _limits(self) -> Limits:
        return Limits(self.kit.timeouts.seconds, self.kit.effect, self._late)

    def _late(self, tool: str, _: Mapping[str, Any], reply: Reply) -> None:
        text = error_text(reply.error) if reply.error is not None else _late_answer(reply.result)
        self.kit.notes.add_late(self.call.conversation, late_text(tool, text))


def _late_answer(result: Any) -> str:
    """Return what a late result says, as text."""
    shown = view(result)
    content = getattr(shown, "content", shown)
    return text_of(content if isinstance(content, str) else result_text(content))
