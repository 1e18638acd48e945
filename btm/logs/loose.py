"""Calls that are logged one by one (spans, runs, events), brought together as conversations.

A call that begins before any call of the same turn has ended was made together with them: it cannot have been
decided on in the light of an answer. Logs that name the turn are believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import orjson

from btm.logs.conversation import NO_RESULT, Conversation, Entry, Item, Read, Skipped
from btm.logs.eventlog import outcome_from, reported
from btm.logs.groups import Groups
from btm.logs.joining import LONE, SNAPSHOT, gathered, joined, snapshot
from btm.logs.records import MALFORMED, Log, Record, digest_of, read_each, reason
from btm.logs.scanner import Path
from btm.logs.turns import Turns, answer
from btm.model import Effect, Outcome
from btm.support.untrusted import redact

_DUMP = orjson.OPT_NON_STR_KEYS
_AGAIN = "\0"
_SHOWN, _FEW = 60, 3


class LooseCall(NamedTuple):
    """A call as one record of a log has it.

    ``own_id`` names the record: one that comes again (exporters repeat what was not acknowledged) counts once.
    ``parent`` is the ``own_id`` of the record around it, ``turn`` what calls of one turn have in common, where the
    log says so. ``start`` and ``end`` are seconds since the epoch. ``verdict`` holds the fields of an Outcome.
    """

    conversation: str
    own_id: str
    tool: str
    arguments: dict[str, Any]
    call_id: str = ""
    start: float | None = None
    end: float | None = None
    has_result: bool = False
    result: Any = None
    is_error: bool | None = None
    error_type: str | None = None
    parent: str = ""
    turn: str | None = None
    intent: str | None = None
    effect: str = "read"
    verdict: dict[str, Any] | None = None
    trace: str = ""


class Report(NamedTuple):
    """What was found out later about a call: it had failed after all, with this error kind."""

    conversation: str
    call_id: str
    kind: str


class Reward(NamedTuple):
    """The score of a conversation."""

    conversation: str
    reward: float


class Asked(NamedTuple):
    """A model's call: the messages of the conversation so far. It counts where no call of its trace is told by itself."""

    trace: str
    session: str
    messages: list[Any]
    start: float | None = None


class TracedFunction(NamedTuple):
    """A function that was traced, of which nothing says whether it is a tool. It counts for nothing, but not in silence."""

    name: str


Loose = LooseCall | Report | Reward | Asked | TracedFunction
_KINDS: tuple[type[Any], ...] = (LooseCall, Report, Reward)


class Gathered(NamedTuple):
    """All that the logs say about one conversation, not put in order yet: that can be left to another process."""

    format: str
    conversation: str
    records: tuple[bytes, ...]


def entries(
    log: Log, name: str, parse: Callable[[Any], Iterable[Loose]], path: Path = ()
) -> Iterator[Entry | Skipped]:
    """Read a log whose records ``parse`` turns into what they say about conversations."""
    given, functions = 0, Counter[str]()
    for item in read_each(
        log, f"a record of {name}", lambda one: _entries(one, name, parse, functions), path
    ):
        given += type(item) is Entry
        yield item
    if functions and not given:
        some = ", ".join(redact(function, _SHOWN) for function, _ in functions.most_common(_FEW))
        why = f"no call is said to be a tool's, and {functions.total()} are of functions ({some}): trace tools as tools"
        yield Skipped(log.name, 0, why, lost=True)


class Gathering:
    """Brings the entries of one conversation together, whichever log they come from. A context manager."""

    def __init__(self) -> None:
        self._groups = Groups()
        self._told: set[str] = set()  # traces of which calls are told by themselves

    def __enter__(self) -> Self:
        self._groups.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._groups.__exit__()

    def of(self, items: Iterable[Item]) -> Iterator[Read]:
        """Keep the entries among ``items``, and pass everything else on."""
        for item in items:
            if type(item) is Entry:
                if not item.again:
                    self._told.update(item.traces)
                elif not self._told.isdisjoint(item.traces):
                    continue
                self._groups.add(f"{item.format} {_AGAIN * item.again}{item.conversation}", item.record)
            else:
                yield item  # type: ignore[misc] # it is none

    def __iter__(self) -> Iterator[Gathered]:
        """Give what was kept, once there is no more to come."""
        for key, records in self._groups:
            name, _, conversation = key.partition(" ")
            if conversation.startswith(_AGAIN):
                kept = tuple(r for r in records if self._told.isdisjoint(orjson.loads(r)[-1]))
            else:
                kept = tuple(records)
            if kept:
                yield Gathered(name, conversation, kept)


def put_in_order(
    items: Iterable[Read | Gathered],
) -> Iterator[Read]:
    """Make conversations of what was gathered; everything else is passed on."""
    for item in items:
        if type(item) is not Gathered:
            yield item  # type: ignore[misc] # it is none
            continue
        name, key, records = item
        loaded = [orjson.loads(record) for record in records]
        try:
            if loaded[0][0] == SNAPSHOT:
                yield from joined(loaded, name)
            elif loaded[0][0] == LONE:
                yield from gathered(loaded)
            else:
                yield _conversation(key, loaded, name)
        except MALFORMED as error:
            log = str(loaded[0][1]).rpartition(":")[0]
            yield Skipped(log, 0, f"conversation {redact(key)}: {reason(error)}")


def _entries(
    record: Record, name: str, parse: Callable[[Any], Iterable[Loose]], functions: Counter[str]
) -> Iterator[Entry]:
    digest = ""
    for loose in parse(record.value):
        if isinstance(loose, TracedFunction):
            functions[loose.name] += 1
            continue
        if isinstance(loose, Asked):
            yield from snapshot(loose.messages, record.place, name, loose.trace, loose.session, loose.start)
            continue
        if type(loose) is LooseCall and not (isinstance(loose.tool, str) and loose.tool):
            raise ValueError("a call without the name of its tool")
        digest = digest or digest_of(record.raw)
        said = [_KINDS.index(type(loose)), record.place, digest, tuple(loose)]
        traces = (loose.conversation, loose.trace) if type(loose) is LooseCall else ()
        yield Entry(name, loose.conversation, orjson.dumps(said, option=_DUMP, default=str), traces)


def _conversation(conversation_id: str, entries: list[list[Any]], name: str) -> Conversation:
    things = [_KINDS[kind]._make(fields) for kind, _, _, fields in entries]
    calls = _in_order(thing for thing in things if type(thing) is LooseCall)
    reports = {thing.call_id: thing.kind for thing in things if type(thing) is Report}
    rewards = [thing.reward for thing in things if type(thing) is Reward]
    digests = sorted({digest for _, _, digest, _ in entries})
    digest = digest_of("".join(digests).encode())
    started_at = next((call.start for call in calls if call.start is not None), None)
    turns = Turns(conversation_id, started_at, digest[:8])
    for call, joins in zip(calls, _joins(calls), strict=True):
        if not joins:
            turns.turn()
        _add(turns, call, reports)
    reward = rewards[-1] if rewards else None
    return turns.conversation(entries[0][1], digest, name, reward=reward, started_at=started_at)


def _in_order(calls: Iterable[LooseCall]) -> list[LooseCall]:
    """Sort by start, drop repetitions, and drop a call that only passes on the call of the record around it."""
    unique: dict[str, LooseCall] = {}
    for call in calls:
        name = call.own_id or f"{len(unique)}"
        if name not in unique:
            unique[name] = call
        elif call.has_result and not unique[name].has_result:  # it was told when it began, too
            unique[name] = call._replace(start=unique[name].start or call.start)
    around: Mapping[str, LooseCall] = unique

    def passes_on(call: LooseCall) -> bool:  # an MCP client's span in the agent's own span of the same call
        return call.parent in around and around[call.parent].tool == call.tool

    kept = [call for call in unique.values() if not passes_on(call)]
    return sorted(kept, key=lambda call: call.start or 0.0)


def _joins(calls: list[LooseCall]) -> Iterator[bool]:
    """Say for each call whether it belongs to the turn of the one before it."""
    turn: str | None = None
    earliest_end: float | None = None
    for index, call in enumerate(calls):
        if index and call.turn is not None and turn is not None:
            joins = call.turn == turn
        else:
            joins = call.start is not None and earliest_end is not None and call.start < earliest_end
        yield joins
        turn = call.turn
        if not joins or earliest_end is None:
            earliest_end = call.end
        elif call.end is not None:
            earliest_end = min(earliest_end, call.end)


def _add(turns: Turns, call: LooseCall, reports: Mapping[str, str]) -> None:
    effect = Effect(call.effect)
    own = call.call_id or call.own_id
    slot = turns.call(call.tool, call.arguments, own, call.start, intent=call.intent, effect=effect)
    outcome: Outcome | None = None if call.verdict is None else outcome_from(call.verdict)
    if (kind := reports.get(call.call_id)) is not None:
        outcome = reported(kind)
    latency_s = call.end - call.start if call.end is not None and call.start is not None else None
    result = call.result if call.has_result else NO_RESULT
    answer(slot, result, call.is_error, call.error_type, latency_s=latency_s, outcome=outcome)
