"""Logs that tell a conversation again and again: each record holds all that went before it.

A proxy logs every request with its history, a checkpoint every state, a tracer every model call. The records of one
task are brought together and laid into each other: one whose calls and words are the beginning of another's says
nothing new. A chain of the Responses API (``previous_response_id``) is put together first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from btm.logs.chat import read_messages
from btm.logs.conversation import NO_RESULT, Conversation, Entry, Passed, Skipped
from btm.logs.finding import Found, conversations_in
from btm.logs.layout import SHARED_IDS, described_in, reward_in, start_in
from btm.logs.records import Log, Record, digest_of, read_each
from btm.logs.sample import Sample, Shape
from btm.logs.scanner import Path
from btm.logs.shapes import is_message
from btm.logs.turns import Turns
from btm.support.untrusted import canonical

SNAPSHOT, LONE = -1, -2
"""What the entries of this module begin with, where those of ``btm.logs.loose`` have the number of their kind."""

_PLAINEST = "openai_chat"
_NUMBER = re.compile(r"(\d+)")
_DUMP = orjson.OPT_NON_STR_KEYS


def are_snapshots(sample: Sample) -> bool:
    """Whether a log's first records are requests with their responses, or states of a conversation."""
    before: list[Any] = []
    for record in sample.records:
        if is_message(record):
            return False
        for found in conversations_in(record):
            if found.exchange or "checkpoint" in found.owner or "checkpoint_id" in found.owner:
                return True
            shorter, longer = sorted((before, found.messages), key=len)
            if shorter and len(shorter) < len(longer) and longer[: len(shorter)] == shorter:
                return True  # it is told again after it went on
            before = found.messages
    return False


def snapshots(log: Log, name: str, path: Path = ()) -> Iterator[Entry | Skipped | Passed]:
    """Read the records of such a log; each goes to those with the same first words of the user."""
    roots: dict[str, str] = {}
    nothing = 0

    def told(record: Record) -> Iterator[Entry]:
        nonlocal nothing
        several = list(conversations_in(record.value))
        nothing += not several
        for found in several:
            key, own, before = _key(found, roots)
            about = start_in(found.owner), reward_in(found.owner), _session(found.owner)
            entry = [
                SNAPSHOT, record.place, digest_of(record.raw), own, before, found.messages, *about,
                described_in(found.owner), (),
            ]  # fmt: skip
            yield Entry(name, key, orjson.dumps(entry, option=_DUMP, default=str))

    yield from read_each(log, "a conversation", told, path)
    if nothing:
        yield Passed(log.name, "no messages", nothing)


def snapshot(
    messages: list[Any], place: str, name: str, trace: str, session: str, start: float | None
) -> Iterator[Entry]:
    """Give the entry of a model's call of a trace; none where no tool was called."""
    turns, key = _begun(messages)
    if not turns.batches():
        return
    digest = digest_of(orjson.dumps(messages, option=_DUMP, default=str))
    traces = tuple(filter(None, (trace, session)))
    entry = [SNAPSHOT, place, digest, "", "", messages, start, None, session or trace, (), traces]
    yield Entry(name, key, orjson.dumps(entry, option=_DUMP, default=str), traces, again=True)


def _key(found: Found, roots: dict[str, str]) -> tuple[str, str, str]:
    """Return what the records of one task share, this response's id, and the id of the one that it goes on from."""
    response, request = found.owner.get("response"), found.owner.get("request")
    sides = [side for side in (response, request, found.owner) if isinstance(side, dict)]
    before = str(next(filter(None, (side.get("previous_response_id") for side in sides)), ""))
    own = str(next(filter(None, (side.get("id") for side in sides if side.get("object") == "response")), ""))
    key = roots.get(before, before) if before else _begun(found.messages)[1]
    if own:
        roots[own] = key
    return key, own, before


def _begun(messages: list[Any]) -> tuple[Turns, str]:
    """Return what messages tell, and what all records of their task share: the user's first words."""
    turns = Turns("")
    read_messages(turns, messages)
    return turns, digest_of((turns.task or repr(messages[0])).encode("utf-8", "surrogatepass"))


def _session(owner: Mapping[str, Any]) -> str:
    """Return the conversation's id, where the log says one that is not the request's."""
    named = [owner.get(name) for name in ("metadata", "checkpoint", "configurable", "conversation")]
    for place in (owner, *(inside for inside in named if isinstance(inside, dict))):
        for name in ("session_id", "thread_id", "conversation_id", "litellm_trace_id", "trace_id"):
            if isinstance(value := place.get(name), str) and value:
                return value
    return ""


def is_lone(sample: Sample) -> bool:
    """Whether a log is one message and nothing else, of a conversation that is kept as a folder of them."""
    one = len(sample.records) == 1 and sample.shape is not Shape.ARRAY
    return one and is_message(sample.records[0])


def lone(log: Log, name: str) -> Iterator[Entry | Skipped]:
    """Read such a log: its conversation is what it names itself, else the folder that it lies in."""

    def told(record: Record) -> Iterator[Entry]:
        session = next((str(record.value[key]) for key in SHARED_IDS if record.value.get(key)), "")
        entry = [LONE, record.place, digest_of(record.raw), log.name, name, record.value, session]
        folder = log.name.rpartition("/")[0]
        yield Entry("", session or folder, orjson.dumps(entry, option=_DUMP, default=str))

    return read_each(log, "a message", told)


def gathered(entries: list[list[Any]]) -> Iterator[Conversation]:
    """Make a conversation of messages that lie in a file each, in the order of the files' names."""
    ordered = sorted(
        entries, key=lambda entry: [int(n) if n.isdigit() else n for n in _NUMBER.split(entry[3])]
    )
    digest = digest_of("".join(entry[2] for entry in ordered).encode())
    conversation_id = ordered[0][6] or digest
    turns = Turns(conversation_id, None, digest[:8])
    read_messages(turns, [entry[5] for entry in ordered])
    names = Counter(entry[4] for entry in ordered).most_common()
    name = next((name for name, _ in names if name != _PLAINEST), _PLAINEST)
    yield turns.conversation(ordered[0][1], digest, name)


class _Trail(Turns):
    """Turns that remember in which order everything was said, called and answered."""

    __slots__ = ("trail",)

    def __init__(self, conversation: str, started_at: float | None = None, prefix: str = "") -> None:
        super().__init__(conversation, started_at, prefix)
        self.trail: list[tuple[Any, ...]] = []

    def asked(self, text: str) -> None:
        self.trail.append((text,))
        super().asked(text)

    def call(
        self, tool: str, arguments: dict[str, Any], call_id: object, at: float | None = None, **more: Any
    ) -> list[Any]:
        before = self._count
        slot = super().call(tool, arguments, call_id, at, **more)
        if self._count > before:
            self.trail.append((tool, canonical(arguments), str(call_id or "")))
        return slot

    def result(self, call_id: object, value: Any, *flags: Any, **more: Any) -> None:
        self.trail.append(("answer", "" if value is NO_RESULT else canonical(value)))
        super().result(call_id, value, *flags, **more)

    def was_answered(self) -> bool:
        """Whether anybody but the model said something: the user, or a tool."""
        return any(len(step) == 1 or step[0] == "answer" for step in self.trail)

    def beginnings(self) -> list[int]:
        """Return a number for each beginning of the trail: equal where the beginnings are."""
        found, so_far = [], 0
        for step in self.trail:
            so_far = hash((so_far, step))
            found.append(so_far)
        return found


def joined(entries: list[list[Any]], name: str) -> Iterator[Conversation]:
    """Make conversations of all snapshots of one task."""
    whole: dict[str, list[Any]] = {}
    read: list[tuple[_Trail, list[Any], str]] = []
    for entry in entries:
        _, _, digest, own, before, messages, start, _, session, *_ = entry
        messages = [*whole.get(before, ()), *messages]
        if own:
            whole[own] = messages
        turns = _Trail(session or digest, start, digest[:8])
        read_messages(turns, messages)
        read.append((turns, entry, session))
    known: set[int] = set()
    kept = []
    for place, (turns, entry, session) in sorted(enumerate(read), key=lambda one: -len(one[1][0].trail)):
        beginnings = turns.beginnings()
        if not beginnings or (beginnings[-1] in known and turns.was_answered()):
            continue  # calls alone are alike in runs apart
        known.update(beginnings)
        kept.append((place, turns, entry, session))
    names: set[str] = set()
    for _, turns, entry, session in sorted(kept, key=lambda one: one[0]):
        digest = digest_of(orjson.dumps([name, turns.trail], option=_DUMP, default=str))
        conversation_id = session if session and session not in names else digest
        names.add(conversation_id)
        _, place, _, _, _, _, start, reward, _, described, _ = entry
        made = turns.conversation(
            place, digest, name, conversation_id=conversation_id, reward=reward, started_at=start
        )
        yield made._replace(described=tuple(map(tuple, described)))
