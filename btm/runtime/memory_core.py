"""What every call goes through, and the life of a memory: the part of ToolMemory that adapters and wrappers use."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, cast, overload

from btm.events import ContextGiven, Hooks, MemoryEvent
from btm.fallback import FallbackMap
from btm.learning.incidents import Ticket
from btm.learning.posterior import flat, pooled, unlearned
from btm.maps.belonging import knows_none
from btm.model import BeliefModel, Effect, Outcome, ToolCall
from btm.planning.context import ContextWriter
from btm.planning.planner import Planner
from btm.planning.policy import Policies
from btm.runtime.call_handler import Recovery, pass_through
from btm.runtime.conditions import ToolEffects
from btm.runtime.drivers import AsyncInvoker, Handled, Invoker, Steps, adrive, drive
from btm.runtime.evidence import BeliefFunction
from btm.runtime.ledger import Ledger
from btm.runtime.naming import Namer
from btm.runtime.notices import down_tools
from btm.runtime.options import Durability, MemoryHealth, MemoryOptions
from btm.runtime.plain_functions import WrappedFunctions
from btm.store import CallEvent, SharedCalls, Store, TaughtRule, Teachable, WriteLog
from btm.store.watch import Watch
from btm.store.writer import WriteBehind
from btm.support.call_ids import NO_TURN, Names, Turn
from btm.support.failsafe import SteadyClock, is_active, safely
from btm.support.imitations import mark_of

_BELIEF_MODELS: Mapping[BeliefModel, BeliefFunction] = {
    BeliefModel.POOLED: pooled,
    BeliefModel.FLAT: flat,
    BeliefModel.NONE: unlearned,
}

_log = logging.getLogger("btm")

E = TypeVar("E", bound=MemoryEvent)


class MemoryCore:
    """A memory at work over a store: calls, conversations, hooks, and the writing of what was learned. Thread-safe."""

    def __init__(
        self,
        store: Store,
        *,
        fallback_map: FallbackMap,
        policies: Policies,
        options: MemoryOptions | None = None,
        believe: BeliefFunction | None = None,
    ) -> None:
        options = options or MemoryOptions()
        self.mode = options.mode
        self.budget_tokens = options.budget_tokens
        self._effects = ToolEffects(fallback_map)  # not of cards, which guess from names alone
        fallback_map = options.skills.extended(fallback_map) if options.skills else fallback_map
        self.fallback_map = fallback_map
        self.policies = policies
        self._sleep, self._asleep = options.sleep, options.asleep
        clock = SteadyClock(options.clock)
        self._store = store
        self._planner = Planner(
            policies, options.settings, options.explore, options.mode.acts, options.mode.guards
        )
        self._hooks = Hooks(options.hooks)
        self._writer = WriteBehind(store, self._retract, getattr(store, "journal", None))
        snapshot = store.load(clock())
        self._ledger = Ledger(
            snapshot,
            fallback_map,
            clock=clock,
            emit=self._writer.put,
            hooks=self._hooks,
            believe=believe or _BELIEF_MODELS[options.beliefs],
            write_log=cast(WriteLog, store) if getattr(store, "is_shared", False) else None,
            strict_writes=options.durability is Durability.STRICT,
            store_arguments=options.store_arguments,
            learn_shapes=options.learn_shapes,
            breaker=options.breaker if self.mode.advises else None,
        )
        self._namer: Namer | None = None
        if options.name_unknown is not None:
            self._namer = Namer(options.name_unknown, self._learn_name, clock, snapshot.taught)
            self._ledger.namer = self._namer
        self._watch: Watch | None = None
        if options.breaker is not None and self.mode.advises and isinstance(store, SharedCalls):
            self._watch = Watch(store, self._ledger.take_in_others, clock)
        # Ids of calls that came without one, and the conversation of those that named none.
        rng = options.rng or random.Random(secrets.randbits(64))  # noqa: S311 - spreads waits and names runs, no secret
        self._names = Names(rng)
        self._functions = WrappedFunctions(self, fallback_map)
        mark = partial(mark_of, secret=snapshot.hash_key or secrets.token_bytes(16))
        self._recovery = Recovery(
            self._ledger,
            fallback_map,
            self._planner,
            self.mode,
            ContextWriter(options.budget_tokens, options.form, options.detail, mark),
            jitter=rng,
            hooks=self._hooks,
            skills=options.skills,
            effects=self._effects,
        )
        self._narrowed: Recovery | None = None
        self._foreign = False

    # -- calls ------------------------------------------------------------------------------------------------------

    def call(
        self,
        call: ToolCall,
        invoke: Invoker,
        *,
        available: Collection[str] | None = None,
        turn: Turn = NO_TURN,
    ) -> Handled:
        """Make a call through btm: ``invoke(tool, arguments)`` runs a tool, returns its result or raises.

        In act mode ``invoke`` is also asked for other tools of the map; ``available`` says which there are (None: all).
        Whatever the tool gives is in the answer unchanged unless btm acted; ``Handled.unwrap()`` returns or raises it.
        ``turn`` says which answer of the model asked for the call: with it, an id that every answer uses anew is no
        replay. An id that comes with another tool or other arguments never is.
        """
        steps = self._steps(call, available, turn)
        return self._told(drive(steps, invoke, self._sleep))

    async def acall(
        self,
        call: ToolCall,
        invoke: AsyncInvoker,
        *,
        available: Collection[str] | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
        turn: Turn = NO_TURN,
    ) -> Handled:
        """Make a call through btm with a function that must be awaited; otherwise as :meth:`call`."""
        steps = self._steps(call, available, turn)
        return self._told(await adrive(steps, invoke, sleep or self._asleep))

    def begin(self, call: ToolCall, *, turn: Turn = NO_TURN) -> Ticket | None:
        """Note that a call begins which something else makes; hand what comes of it to :meth:`finish`.

        For adapters that only watch. None when btm itself failed or is off.
        """
        if not is_active():
            return None
        return safely(self._ledger.begin, *self._told_apart(call, self._names.complete(call), turn))

    def finish(self, ticket: Ticket, *, result: Any = None, error: Exception | None = None) -> Outcome | None:
        """Take in what came of a call that :meth:`begin` noted. Return its outcome, None when btm itself failed."""
        if not is_active():
            return None
        learned = safely(self._ledger.finish, ticket, result, error)
        self._hooks.deliver()
        return learned.outcome if learned is not None else None

    def _told(self, handled: Handled) -> Handled:
        """Return what came of a call, once the hooks know about it."""
        context = handled.context
        if context is not None:
            kind = handled.outcome.kind
            self._hooks.tell(
                ContextGiven(handled.call, kind, context.text, context.tokens, refused=handled.refused)
            )
        else:
            self._hooks.deliver()
        return handled

    def _steps(self, call: ToolCall, available: Collection[str] | None, turn: Turn) -> Steps:
        if not is_active():
            return pass_through(self._names.complete(call))
        recovery = self._recovery
        if available is not None:
            # Adapters hand in the same collection at every call; it is narrowed to once.
            known = self._narrowed
            if known is None or known.available is not available:
                known = self._narrowed = replace(recovery, available=available)
                safely(self._say_if_foreign, available)
            recovery = known
        whole = self._names.complete(call)
        named, print_ = self._told_apart(call, whole, turn)
        steps = recovery.handle(named, print_)
        return steps if named is whole else _as_asked(steps, whole)

    def _say_if_foreign(self, available: Collection[str]) -> None:
        """Say, once, that the map knows none of the agent's tools: it is probably that of another agent."""
        doubt = "" if self._foreign else knows_none(self.fallback_map, available)
        if doubt:
            self._foreign = True
            _log.warning("%s", doubt)

    def _told_apart(self, call: ToolCall, whole: ToolCall, turn: Turn) -> tuple[ToolCall, str]:
        """Return a call under a name of its own, and its fingerprint; those that came without an id have a name."""
        return (safely(self._ledger.conversations.told_apart, whole, turn) if call.call_id else None) or (
            whole,
            "",
        )

    def effect_of(self, tool: str, stated: Effect | None = None) -> Effect:
        """Return a tool's effect: the stated one, the map's, or a guess from its name and description.

        A tool of which nothing tells is taken for a write; that this is an assumption is remembered and said.
        """
        return self._effects.of(tool, stated)

    def describe(self, tool: str, description: str | None, *, read_only: bool | None = None) -> None:
        """Say how a tool is described to the model. Adapters do: what a tool does to the world is guessed from it.

        ``read_only`` is MCP's ``readOnlyHint``: it decides, where a server gives it.
        """
        self._effects.describe(tool, description, read_only=read_only)

    def withdraw(self, call: ToolCall) -> None:
        """Take back a call that a person refused: the recovery it belongs to is over, and nothing is learned from it."""
        safely(self._ledger.withdraw, self._names.complete(call))

    def end(self, conversation: str) -> None:
        """End a conversation: open incidents are abandoned, and nothing is learned about what was not tried."""
        safely(self._ledger.conversations.end, conversation)
        self._hooks.deliver()

    def notices(self, conversation: str = "", *, available: Collection[str] | None = None) -> list[str]:
        """Return what the model should know before its next turn, a line each: for adapters, which put it in the request.

        ``available`` names the agent's tools (None: those of the map).
        """
        if not is_active() or not self.mode.advises:
            return []
        name = self._names.conversation(conversation)
        return safely(replace(self._recovery, available=available).notices, name) or []

    def down_tools(self, available: Collection[str] | None = None) -> frozenset[str]:
        """Return the tools that are down for everyone now; the one whose turn it is to be tried again is not among them."""
        if not is_active() or not self._ledger.conditions.any_down:
            return frozenset()
        return frozenset(safely(down_tools, self._ledger, self._effects, available) or ())

    # -- hooks ------------------------------------------------------------------------------------------------------

    @overload
    def on(self, event: type[E], callback: Callable[[E], None]) -> Callable[[], None]: ...
    @overload
    def on(self, event: str, callback: Callable[[Any], None]) -> Callable[[], None]: ...
    def on(self, event: type[MemoryEvent] | str, callback: Callable[[Any], None]) -> Callable[[], None]:
        """Call ``callback`` with every event of a sort; return a function that ends that.

        ``event`` is a class of :mod:`btm.events` or its name: ``"incident_opened"``, ``"action_taken"``,
        ``"context_given"``, ``"incident_closed"``. A callback that raises is logged once and breaks nothing.

        Raises ValueError for an unknown name, TypeError for what is no event or cannot be called.
        """
        return self._hooks.on(event, callback)

    # -- the store --------------------------------------------------------------------------------------------------

    def flush(self) -> bool:
        """Wait until everything learned so far is in the database; return whether it is."""
        return self._writer.flush()

    def health(self) -> MemoryHealth:
        """Return how the writing stands: what waits for the database, what was lost, and what is wrong."""
        waiting = self._writer.waiting()
        return MemoryHealth(
            database=str(getattr(self._store, "where", "")),
            waiting=waiting.events,
            dropped=waiting.dropped,
            trouble=getattr(self._store, "why", "") or waiting.trouble,
            journal=waiting.journal,
            incidents_left=self._ledger.conversations.incidents_left,
        )

    def close(self) -> bool:
        """End all conversations, write what is left, and close the database.

        Return whether all that was learned is in it; :meth:`health` says what is not, and where that waits.
        """
        safely(self._ledger.conversations.end_all)
        self._hooks.deliver()
        if self._watch is not None:
            self._watch.close()
        if self._namer is not None:
            self._namer.close()
        written = self._writer.close()
        safely(self._store.close)
        return written

    async def aclose(self) -> None:
        """Close as :meth:`close` does, without holding up the event loop."""
        await asyncio.to_thread(self.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _learn_name(self, taught: TaughtRule) -> None:
        """Keep what a model said of answers of a tool, and go by it from now on."""
        if isinstance(self._store, Teachable):
            self._store.teach(taught)
        self._ledger.taught.add(taught)

    def _retract(self, events: Iterable[CallEvent]) -> None:
        self._ledger.retract(events)


def _as_asked(steps: Steps, call: ToolCall) -> Steps:
    """Hand the answer back under the id that the call came with, whatever name it was learned under."""
    handled = yield from steps
    return replace(handled, call=call)
