"""ToolMemory: what users open. What every call goes through is in :mod:`btm.runtime.memory_core`."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial, wraps
from pathlib import Path
from typing import Any, Literal, ParamSpec, Self, TypeVar, overload

from btm.classify.ambiguity import is_ambiguous
from btm.classify.finding import Finding
from btm.events import Hook
from btm.fallback import FallbackMap
from btm.learning.posterior import BetaPosterior
from btm.model import BeliefModel, Effect, ErrorKind, EvidenceKey, Family, Incident, Mode, Outcome, ToolCall
from btm.planning.context import DEFAULT_BUDGET, Detail, Format
from btm.planning.plan import RecoveryContext, Skills
from btm.planning.planner import Settings
from btm.planning.policy import Policies
from btm.runtime.breaker import Breaker
from btm.runtime.memory_core import MemoryCore
from btm.runtime.naming import NamingModel
from btm.runtime.options import Durability, checked_options
from btm.runtime.plain_functions import OnFailure
from btm.store import Store
from btm.store.stand_in import open_store
from btm.support import call_ids
from btm.support.call_ids import Block
from btm.support.failsafe import SteadyClock, disabled_by_environment

P = ParamSpec("P")
R = TypeVar("R")


class ToolMemory(MemoryCore):
    """A memory of how tools fail and of what gets them going again. Thread-safe; open one per process.

    Make one with :meth:`open`. The constructor is for those who bring a :class:`~btm.store.Store` of their own:
    ``options`` are taken as they are, so give members of enums, not texts. ``believe`` replaces how evidence becomes
    belief.
    """

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
        detail: Detail | str = Detail.SHORT,
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
        name_unknown: NamingModel | None = None,
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
            The secret under which a new database names arguments (default: a random one). With it, a clock and a
            generator given, two equal runs leave equal databases.
        budget_tokens, form, detail
            Most tokens of a recovery context; its form: ``"tagged"``, ``"markdown"`` or ``"json"``; how much it says:
            ``"short"``, what to do next and what must hold, or ``"full"``, also why, what comes then and what to avoid.
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
            ``"default"``: a write that the map calls irreversible, or of a tool that it does not know the name (``pay``,
            ``send``, ``book``, ...), is on the disk, as begun, before it runs, and other writes are noted without a
            wait. ``"strict"``: all writes are, but idempotent ones. Each then waits for the disk once, some
            milliseconds as a rule.
        read_only
            Start from what a database knows and write nothing to it: what is learned ends with the process.
        strict
            Raise for a database that is damaged, locked, full, out of reach or may not be written. Otherwise one warning
            is logged, what can be read of it is known, and what is learned ends with the process; of one that is
            locked or out of reach it waits until that can be written.
        store_arguments
            Keep arguments as redacted text beside their hash.
        learn_shapes
            Learn what each tool's good results look like, and call an answer that lacks an all but certain field
            partial data or schema drift. Walks every result.
        clock, sleep, asleep, rng
            The time in epoch seconds, how to wait (and await), and the generator that spreads waits and names runs:
            for tests and simulations. While a clock fails, its latest reading stands in.
        hooks
            Functions that get every event (see :mod:`btm.events`). None: on the logger ``btm``, an INFO line for
            each action that btm takes, and a WARNING, once, for a failure that has no name or is a tool's first
            of its kind after ten others; ``()``: silence.
        breaker
            When a tool counts as down for everyone (see :mod:`btm.runtime.breaker`): the model is then told before its
            turn, guard mode refuses calls of it, and act mode goes straight to a substitute. ``"auto"``: the defaults;
            None: never. Always off in observe mode.
        skills
            Cards mined from logs, such as ``btm.skills.SkillBook.load("skills/")``.
        name_unknown
            A LangChain chat model. It is asked once for each kind of answer that is not named surely, forty of a tool at
            most: in a thread of its own, with the beginning of the redacted text. ``btm classify --taught`` lists what it
            said.

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
        options = checked_options(
            path=path,
            fallback_map=fallback_map,
            policies=policies,
            half_life_s=half_life_s,
            hash_key=hash_key,
            read_only=read_only,
            strict=strict,
            mode=mode,
            beliefs=beliefs,
            settings=settings,
            wait_up_to_s=wait_up_to_s,
            explore=explore,
            clock=clock,
            sleep=sleep,
            asleep=asleep,
            rng=rng,
            budget_tokens=budget_tokens,
            form=form,
            detail=detail,
            durability=durability,
            store_arguments=store_arguments,
            learn_shapes=learn_shapes,
            hooks=hooks,
            breaker=breaker,
            skills=skills,
            name_unknown=name_unknown,
        )
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

    # -- what is known ----------------------------------------------------------------------------------------------

    def beliefs(self) -> list[tuple[EvidenceKey, BetaPosterior]]:
        """Return every key that has evidence, with its posterior as of now."""
        return self._ledger.beliefs()

    def belief(self, key: EvidenceKey) -> BetaPosterior:
        """Return the posterior of one key as of now, whether or not it has evidence of its own."""
        return self._ledger.believed([key], self._ledger.now())[key]

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
        return self._recovery.writer.write(self._recovery.plan_for(incident))

    def standing_rules(self, conversation: str = "") -> str:
        """Return the rules for the system prompt of a conversation: they name the id that its notes bear.

        A note without it is a forgery, and a model that has these rules can tell. The adapters that make a system
        message put them there. They are the same, to the byte, for a conversation and a database.
        """
        return self._recovery.writer.rules(self._names.conversation(conversation))

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
