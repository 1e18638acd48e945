"""ToolMemory: the whole path on one screen."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from types import NoneType, TracebackType
from typing import Any, Literal, ParamSpec, Self, TypeVar, cast, overload

from btm.classify.ambiguity import is_ambiguous
from btm.classify.finding import Finding
from btm.events import ContextGiven, Hook, Hooks, MemoryEvent, log_actions
from btm.fallback import FallbackMap
from btm.learning.matching import Ticket
from btm.learning.posterior import BetaPosterior, flat, pooled, unlearned
from btm.maps.belonging import knows_none
from btm.model import BeliefModel, Effect, ErrorKind, EvidenceKey, Family, Incident, Mode, Outcome, ToolCall
from btm.planning.context import DEFAULT_BUDGET, Format, render
from btm.planning.plan import RecoveryContext
from btm.planning.planner import Planner, Settings
from btm.planning.policy import Policies
from btm.planning.skills import Skills
from btm.runtime.breaker import Breaker
from btm.runtime.call_handler import Recovery, pass_through
from btm.runtime.drivers import AsyncInvoker, Handled, Invoker, Reply, Steps, adrive, drive
from btm.runtime.evidence import BeliefFunction
from btm.runtime.notices import down_tools
from btm.runtime.options import Durability, MemoryHealth, MemoryOptions
from btm.runtime.plain_functions import OnFailure, WrappedFunctions
from btm.runtime.state import Ledger
from btm.store import CallEvent, SharedCalls, Store, WriteLog, meta
from btm.store.stand_in import open_store
from btm.store.watch import Watch
from btm.store.writer import WriteBehind
from btm.support import call_ids
from btm.support.blocks import Block
from btm.support.call_ids import NO_TURN, Names, Turn
from btm.support.clocks import SteadyClock
from btm.support.effects import guess_effect
from btm.support.failsafe import safely
from btm.support.options import OptionChecks
from btm.support.switch import disabled_by_environment, is_active

_BELIEF_MODELS: Mapping[BeliefModel, BeliefFunction] = {
    BeliefModel.POOLED: pooled,
    BeliefModel.FLAT: flat,
    BeliefModel.NONE: unlearned,
}

_BREAKER = (Breaker, NoneType), '"auto", a Breaker or None'
_log = logging.getLogger("btm")

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=MemoryEvent)


class ToolMemory:
    """A memory of how tools fail and of what gets them going again. Thread-safe; open one per process.

    Make one with :meth:`open`. The constructor is for those who bring a :class:`~btm.store.Store` of their own:
    ``options`` are taken as they are, so give members of enums, not texts. ``believe`` replaces how evidence becomes
    belief.
    """

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
        fallback_map = options.skills.extended(fallback_map) if options.skills else fallback_map
        self.fallback_map = fallback_map
        self.policies = policies
        self._sleep, self._asleep = options.sleep, options.asleep
        clock = SteadyClock(options.clock)
        self._store = store
        self._planner = Planner(policies, options.settings, options.explore, options.mode.acts)
        self._hooks = Hooks(options.hooks)
        self._writer = WriteBehind(store, self._retract, getattr(store, "journal", None))
        self._ledger = Ledger(
            store.load(clock()),
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
        self._watch: Watch | None = None
        if options.breaker is not None and self.mode.advises and isinstance(store, SharedCalls):
            self._watch = Watch(store, self._ledger.take_in_others, clock)
        # Ids of calls that came without one, and the conversation of those that named none.
        rng = options.rng or random.Random(secrets.randbits(64))  # noqa: S311 - spreads waits and names runs, no secret
        self._names = Names(rng)
        self._functions = WrappedFunctions(self, fallback_map)
        self._recovery = Recovery(
            self._ledger,
            fallback_map,
            self._planner,
            self.mode,
            options.budget_tokens,
            options.form,
            jitter=rng,
            hooks=self._hooks,
            skills=options.skills,
        )
        self._narrowed: Recovery | None = None
        self._foreign = False

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        fallback_map: str | Path | FallbackMap | None = None,
        policies: str | Path | Policies = "default",
        mode: Mode | str = Mode.ADVISE,
        half_life_s: float | None = None,
        hash_key: bytes | None = None,
        budget_tokens: int = DEFAULT_BUDGET,
        form: Format | str = Format.TAGGED,
        beliefs: BeliefModel | str = BeliefModel.POOLED,
        settings: Settings | None = None,
        wait_up_to_s: float | None = None,
        explore: random.Random | None = None,
        durability: Durability | str = Durability.DEFAULT,
        read_only: bool = False,
        strict: bool = False,
        store_arguments: bool = False,
        learn_shapes: bool = False,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        asleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
        hooks: Iterable[Hook] | None = None,
        breaker: Breaker | Literal["auto"] | None = "auto",
        skills: Skills | None = None,
    ) -> Self:
        """Open a memory kept in a SQLite file (or at a database URL); ``None`` keeps it in this process only.

        Parameters
        ----------
        path
            A file, a database URL, or None.
        fallback_map, policies
            A path, the name of a shipped file, or a loaded one.
        mode
            How far btm may go: ``"observe"``, ``"advise"``, ``"guard"`` or ``"act"`` (see :class:`~btm.model.Mode`).
        half_life_s
            Seconds after which evidence counts half; ``math.inf``: it is never forgotten. Default: what the database
            states, fourteen days for a new one.
        hash_key
            The secret under which a new database names arguments (default: a random one).
        budget_tokens, form
            Most tokens of a recovery context, and its form: ``"tagged"``, ``"markdown"`` or ``"json"``.
        beliefs
            ``"pooled"``, or one of the baselines ``"flat"`` and ``"none"`` (see :class:`~btm.model.BeliefModel`).
        settings
            What plans weigh with.
        wait_up_to_s
            Seconds that btm waits by itself before a repeat that comes too early (default: 10). When a later one may
            be made is told; before that guard mode refuses it, and in advise mode its failure teaches nothing.
        explore
            A generator for Thompson draws; without one, plans use posterior means.
        durability
            ``"default"``: a write that the map calls irreversible is on the disk, as begun, before it runs, and other
            writes are noted without a wait. ``"strict"``: all but idempotent ones are, and each waits for the disk.
        read_only
            Start from what a database knows and write nothing to it.
        strict
            Raise for a database that fails. Otherwise one warning is logged, and what is learned ends with the process.
        store_arguments
            Keep arguments as redacted text beside their hash.
        learn_shapes
            Learn what good results look like; one that lacks an all but certain field is partial data or schema drift.
        clock, sleep, asleep, rng
            The time in epoch seconds, how to wait (and await), and the generator that spreads waits and names runs:
            for tests and simulations. While a clock fails, its latest reading stands in.
        hooks
            Functions that get every event (see :mod:`btm.events`). None: an INFO line for each action; ``()``: silence.
        breaker
            When a tool counts as down for everyone, and what follows (see :mod:`btm.runtime.breaker`). ``"auto"``: the
            defaults; None: never. Always off in observe mode.
        skills
            Cards mined from logs, such as ``btm.skills.SkillBook.load("skills/")``.

        Raises
        ------
        TypeError, ValueError
            For wrong options; the text names each of them and what it may be.
        FallbackMapError, PolicyError
            For a wrong authored file.
        StoreError
            For a database that states another half-life, is of a newer schema or of no kind that btm knows; with
            ``strict`` or ``read_only`` also for one that fails, with the cure where one is known. A database that fails
            later breaks no call: what was learned waits until it can be written.

        """
        checks = OptionChecks()
        checks.instance("path", path, (str, Path, NoneType), "a path, a database URL or None")
        checks.instance(
            "fallback_map",
            fallback_map,
            (str, Path, FallbackMap, NoneType),
            "a path, a name or a FallbackMap",
        )
        checks.instance("policies", policies, (str, Path, Policies), "a path, a name or Policies")
        checks.instance("hash_key", hash_key, (bytes, NoneType), "bytes or None")
        if half_life_s is not None:
            checks.run(meta.seconds, half_life_s)
        given = checks.instance("settings", settings, (Settings, NoneType), "Settings") or Settings()
        if wait_up_to_s is not None:
            checks.instance("wait_up_to_s", wait_up_to_s, (int, float), "a number of seconds")
            checks.at_least("wait_up_to_s", wait_up_to_s, 0)
            given = replace(given, wait_up_to_s=wait_up_to_s)
        options = MemoryOptions(
            mode=checks.choice("mode", Mode, mode),
            beliefs=checks.choice("beliefs", BeliefModel, beliefs),
            settings=given,
            explore=checks.instance("explore", explore, (random.Random, NoneType), "a random.Random"),
            clock=checks.function("clock", clock),
            sleep=checks.function("sleep", sleep),
            asleep=checks.function("asleep", asleep),
            rng=checks.instance("rng", rng, (random.Random, NoneType), "a random.Random"),
            budget_tokens=checks.instance("budget_tokens", budget_tokens, int, "a whole number of tokens"),
            form=checks.choice("form", Format, form),
            durability=checks.choice("durability", Durability, durability),
            store_arguments=checks.instance("store_arguments", store_arguments, bool, "True or False"),
            learn_shapes=checks.instance("learn_shapes", learn_shapes, bool, "True or False"),
            hooks=(log_actions,) if hooks is None else checks.functions("hooks", hooks),
            breaker=Breaker() if breaker == "auto" else checks.instance("breaker", breaker, *_BREAKER),
            skills=checks.instance("skills", skills, (Skills, NoneType), "a SkillBook or None"),
        )
        checks.at_least("budget_tokens", budget_tokens, 1)
        checks.instance("read_only", read_only, bool, "True or False")
        checks.instance("strict", strict, bool, "True or False")
        checks.raise_problems()
        if not isinstance(fallback_map, FallbackMap):
            fallback_map = FallbackMap.load(fallback_map) if fallback_map else FallbackMap.empty()
        if not isinstance(policies, Policies):
            policies = Policies.load(policies)
        if disabled_by_environment():  # then no file is touched
            path = None
        store: Store = open_store(
            path, half_life_s, SteadyClock(clock)(), hash_key, read_only=read_only, strict=strict
        )
        try:
            return cls(store, fallback_map=fallback_map, policies=policies, options=options)
        except BaseException:
            store.close()
            raise

    @classmethod
    @wraps(open.__func__, assigned=())  # type: ignore[attr-defined]  # noqa: A003 - the method above
    async def aopen(cls, *args: Any, **options: Any) -> Self:
        """Open as :meth:`open` does, with its options, without holding up the event loop; close with :meth:`aclose`."""
        return await asyncio.to_thread(partial(cls.open, *args, **options))

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
        learned = safely(self._ledger.finish, ticket, Reply(result, error))
        self._hooks.deliver()
        return learned.outcome if learned is not None else None

    def _told(self, handled: Handled) -> Handled:
        """Return what came of a call, once the hooks know about it."""
        context = handled.context
        if context is not None:
            kind = handled.outcome.kind
            self._hooks.post(
                ContextGiven(handled.call, kind, context.text, context.tokens, refused=handled.refused)
            )
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
        return (safely(self._ledger.told_apart, whole, turn) if call.call_id else None) or (whole, "")

    def effect_of(self, tool: str, stated: Effect | None = None) -> Effect:
        """Return a tool's effect: the stated one, the map's, or a guess from its name (a write unless it reads)."""
        return stated or self.fallback_map.effect(tool) or guess_effect(tool)

    # -- plain functions -------------------------------------------------------------------------------

    @overload
    def wrap(
        self,
        function: Callable[P, R],
        *,
        name: str | None = ...,
        effect: Effect | str | None = ...,
        timeout_s: float | None = ...,
        on_failure: str = ...,
    ) -> Callable[P, R]: ...
    @overload
    def wrap(
        self,
        function: None = ...,
        *,
        name: str | None = ...,
        effect: Effect | str | None = ...,
        timeout_s: float | None = ...,
        on_failure: str = ...,
    ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
    def wrap(
        self,
        function: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        effect: Effect | str | None = None,
        timeout_s: float | None = None,
        on_failure: str = "raise",
    ) -> Callable[..., Any]:
        """Return ``function`` with every call made through btm; sync or async, called with any arguments.

        A failed call raises the tool's own exception, with the recovery context as its last note
        (``error.__notes__``). In act mode other wrapped functions of this memory can stand in for it
        (in a sync call only sync ones). ``timeout_s`` ends a call that takes longer as a timeout; default: the map's,
        0 or infinity: none. Functions of one ``name`` (default: their own) are one tool, so name them apart. What is
        yet to run when it is returned, as generators are, is handed over as it is and teaches nothing.

        ``on_failure="return"`` is for frameworks whose models only see what a tool returns, and whose runs an exception
        ends: a call that failed (or was refused) returns its error and the context as a text. Where btm has no context
        (observe mode) it raises all the same.

        As a decorator it takes options or none: ``@memory.wrap`` and ``@memory.wrap(name="search")``.

        Raises TypeError for what cannot be called and for a LangChain tool (``wrap_tools`` of
        :mod:`btm.adapters.langchain` takes those), ValueError for an unknown ``effect`` and for a ``timeout_s`` that is
        no time limit.
        """
        stated = Effect(effect) if effect is not None else None
        wrap = partial(
            self._functions.wrap,
            name=name,
            effect=stated,
            timeout_s=timeout_s,
            on_failure=OnFailure(on_failure),
        )
        return wrap if function is None else wrap(function)

    def withdraw(self, call: ToolCall) -> None:
        """Take back a call that a person refused: the recovery it belongs to is over, and nothing is learned from it."""
        safely(self._ledger.withdraw, self._names.complete(call))

    # -- conversations ----------------------------------------------------------------------------------------------

    def conversation(self, name: str) -> AbstractContextManager[None]:
        """Name the conversation of the calls made inside (in this thread or task); ends it on leaving."""

        def begin() -> Callable[[], None]:
            named = call_ids.conversation(name)
            named.__enter__()

            def end() -> None:
                named.__exit__()
                self.end(name)

            return end

        return Block(begin)

    @property
    def current_conversation(self) -> str:
        """The conversation named by :meth:`conversation` in this thread or task, or ``""``."""
        return call_ids.current_conversation()

    def end(self, conversation: str) -> None:
        """End a conversation: open incidents are abandoned, and nothing is learned about what was not tried."""
        safely(self._ledger.end, conversation)
        self._hooks.deliver()

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

    # -- what is known ----------------------------------------------------------------------------------------------

    def beliefs(self) -> list[tuple[EvidenceKey, BetaPosterior]]:
        """Return every key that has evidence, with its posterior as of now."""
        return self._ledger.beliefs()

    def belief(self, key: EvidenceKey) -> BetaPosterior:
        """Return the posterior of one key as of now, whether or not it has evidence of its own."""
        return self._ledger.belief(key)

    def context(
        self, tool: str, kind: ErrorKind | str, call: ToolCall | None = None, *, detail: str = ""
    ) -> RecoveryContext:
        """Return the recovery context for a first failure of ``tool`` as ``kind``, as a model would get it."""
        kind = ErrorKind(kind)
        call = self._names.complete(call or ToolCall(tool, effect=self.effect_of(tool)))
        silent = kind.family is Family.SILENT
        unsure = is_ambiguous(Finding(kind, "given", ""), call) or (silent and call.effect is Effect.WRITE)
        outcome = Outcome(kind, detail=detail, ambiguous=unsure, silent=silent)
        incident = Incident(
            f"{call.conversation}/{call.call_id}", call.conversation, call, kind, outcome, call.at
        )
        plan = self._recovery.plan_for(incident)
        return render(plan, budget=self._recovery.budget, form=self._recovery.form)

    def report(self, call_id: str, kind: ErrorKind | str, *, conversation: str = "") -> bool:
        """Say later that a call which had seemed to succeed had failed: its evidence moves. Return whether it is known.

        ``conversation`` is that of the call; default: this memory's own, for calls that named none. An id that came
        again names the first call; the names of the others are in the event log.
        Raises :class:`~btm.errors.StoreError` when the database cannot be used.
        """
        self.flush()
        reported = self._store.report(self._names.conversation(conversation), call_id, ErrorKind(kind))
        self._ledger.moved(reported.attempts)
        return reported.found

    def forget_shape(self, tool: str) -> None:
        """Forget what a tool's good results looked like (``learn_shapes``): its form changed, and rightly so.

        Raises :class:`~btm.errors.StoreError` when the database cannot be used.
        """
        self.flush()
        self._store.forget_shape(tool)
        self._ledger.forget_shape(tool)

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
        if not is_active() or not self._ledger.any_down:
            return frozenset()
        return frozenset(safely(down_tools, self._ledger, self.fallback_map, available) or ())

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
            incidents_left=self._ledger.incidents_left,
        )

    def close(self) -> bool:
        """End all conversations, write what is left, and close the database.

        Return whether all that was learned is in it; :meth:`health` says what is not, and where that waits.
        """
        safely(self._ledger.end_all)
        self._hooks.deliver()
        if self._watch is not None:
            self._watch.close()
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

    def _retract(self, events: Iterable[CallEvent]) -> None:
        self._ledger.retract(events)


def _as_asked(steps: Steps, call: ToolCall) -> Steps:
    """Hand the answer back under the id that the call came with, whatever name it was learned under."""
    handled = yield from steps
    return replace(handled, call=call)
