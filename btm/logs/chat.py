"""Conversations that are lists of messages, and how their calls are read.

OpenAI's messages, which most logs hold, are read right here; those of every other product by the one table (see
``btm.logs.parts``). A log whose first conversations hold no calls, or which mixes products, is read all the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from btm.logs import dialects, wire
from btm.logs.conversation import Conversation, Passed, Read, RecordedCall, Skipped
from btm.logs.finding import Found, are_updates, conversations_in, updates_in
from btm.logs.layout import SHARED_IDS, described_in, id_in, plain_in, reward_in, start_in, task_in
from btm.logs.parts import read_message
from btm.logs.records import DIGITS, MALFORMED, Log, Record, digest_of, read_each, reason
from btm.logs.sample import Sample, Shape
from btm.logs.scanner import Path
from btm.logs.shapes import is_message, is_piece, unwrapped
from btm.logs.turns import Turns
from btm.logs.values import arguments_of, time_of


def conversations(log: Log, name: str, path: Path = ()) -> Iterator[Read]:
    """Read every conversation of a log as reader ``name``; ``path`` leads to them in a large document."""
    if records_apart(log.sample) is None:
        yield from _message_a_record(log, name)
        return
    yield from read_each(log, "a conversation", lambda record: conversations_of(record, name), path)


def records_apart(sample: Sample) -> Path | None:
    """Return where the records lie that are a conversation each; None for a log whose records are messages."""
    if sample.shape is not Shape.OBJECT and are_updates(sample.records):
        return None
    # Some events may hold the messages of a model's call, and the calls are told by themselves.
    if any(map(is_piece, sample.records)):
        return None
    for record in sample.records:
        if is_message(record):
            return None
        if next(conversations_in(record), None) is not None:
            return ()
    return ()


def conversations_of(record: Record, name: str) -> Iterator[Conversation]:
    """Read the conversations of a record, of which most hold one. Raises ``MALFORMED`` when it holds none."""
    value, raw, _, place = record
    digest = digest_of(raw)
    if (
        type(value) is dict
        and (messages := plain_in(value)) is not None
        and (not messages or (type(messages[0]) is dict and _AS_THEY_ARE.isdisjoint(messages[0])))
    ):
        yield _conversation(Found(value, messages), digest, place, name)
        return
    if not value and type(value) is list:
        yield _conversation(Found({}, value), digest, place, name)
        return
    several = list(conversations_in(value))
    if not several:
        raise ValueError("no list of messages in it")
    if len(several) == 1:
        yield _conversation(several[0], digest, place, name)
        return
    parts = ((found, digest_of(f"{digest}/{index}".encode())) for index, found in enumerate(several))
    read = [(id_in(found.owner, digest), _conversation(found, own, place, name)) for found, own in parts]
    yield from told_once(read)


def told_once(read: list[tuple[str, Conversation]]) -> Iterator[Conversation]:
    """Give the conversations but those whose calls others of the same name tell as well.

    A record may hold one conversation several times: a state its items, the model's responses and the last of these.
    """
    told: defaultdict[tuple[str, str], list[RecordedCall]] = defaultdict(list)
    repeated = set()
    for index, (name, one) in sorted(enumerate(read), key=lambda item: -sum(map(len, item[1][1].batches))):
        calls = [(recorded, told[name, recorded.call.call_id]) for recorded in one.calls]
        if calls and all(any(_is_told(recorded, other) for other in known) for recorded, known in calls):
            repeated.add(index)
        for recorded, known in calls:
            known.append(recorded)
    yield from (one for index, (_, one) in enumerate(read) if index not in repeated)


def _is_told(recorded: RecordedCall, other: RecordedCall) -> bool:
    """Whether another call of the same id is this one."""
    call, same = recorded.call, other.call
    return (
        "#" not in call.call_id
        and (call.tool, call.arguments) == (same.tool, same.arguments)
        and (not recorded.answered or recorded.result == other.result)
    )


# With one of these a list may be newest first, or of pairs.
_AS_THEY_ARE = frozenset(("created_at", "call_id", "user"))


def _conversation(found: Found, digest: str, place: str, name: str) -> Conversation:
    conversation_id, started_at = id_in(found.owner, digest), start_in(found.owner)
    turns = Turns(conversation_id, started_at, digest[:8])
    read_messages(turns, found.messages)
    reward, task_id = reward_in(found.owner), task_in(found.owner)
    made = turns.conversation(place, digest, name, reward=reward, started_at=started_at, task_id=task_id)
    described = described_in(found.owner)
    return made._replace(described=described) if described and made.batches else made


def _message_a_record(log: Log, name: str) -> Iterator[Read]:
    """Read a log whose records are messages: one conversation, or one for each id that the messages name.

    Calls and answers are held until the end of the log, the other messages are not.
    """
    begun: dict[str, _Begun] = {}
    told: set[str] = set()  # records by their own ids: a resumed session repeats those that went before
    passed: Counter[str] = Counter()
    session = last = ""
    for record in log.records():
        if isinstance(record, Skipped):
            yield record
            continue
        value = record.value
        try:
            if not isinstance(value, dict):
                raise ValueError(f"expected an object, found {type(value).__name__}")  # noqa: TRY004 - it is MALFORMED
            messages = updates_in(value) or ([value] if is_message(value) else [])
            if not messages:
                session = session or _session_of(value)
                kind = value.get("type")
                passed[f"no message: {kind}" if isinstance(kind, str) else "no message"] += 1
                continue
            own = _belongs_to(value) or last  # what names no conversation is of the one that is under way
            if own and own != last and [*begun] == [""]:
                begun[own] = begun.pop("")
                begun[own].own = own
            last = own
            if type(line := value.get("uuid")) is str:
                if f"{own} {line}" in told:
                    continue
                told.add(f"{own} {line}")
            if wire.begins(value) and own in begun and begun[own].turns.settled():
                yield from begun.pop(own).conversation(name, session)
            if own not in begun:
                begun[own] = _Begun(own, record.place, start_in(value), own or log.name)
            begun[own].content.update(record.raw + b"\n")
            read_messages(begun[own].turns, messages)
        except MALFORMED as error:
            yield Skipped(log.name, record.line, f"not a message: {reason(error)}")
    for one in begun.values():
        yield from one.conversation(name, session)
    for what, count in passed.items():
        yield Passed(log.name, what, count)


class _Begun:
    """A conversation whose messages are coming by."""

    def __init__(self, own: str, place: str, start: float | None, prefix: str) -> None:
        self.own, self.place, self.start = own, place, start
        self.turns = Turns(own, start, prefix)
        self.content = sha256()

    def conversation(self, name: str, session: str) -> Iterator[Conversation]:
        """Give the conversation; none for a subagent's that holds no calls."""
        turns, digest = self.turns, self.content.hexdigest()[:DIGITS]
        conversation_id = self.own or session or digest
        found = turns.conversation(
            self.place, digest, name, conversation_id=conversation_id, started_at=self.start
        )
        if found.batches or not self.own.endswith(_SIDE):
            yield found


_SIDE = "/side"


def _belongs_to(value: Mapping[str, Any]) -> str:
    """Return the id of the conversation that a message names; a subagent's is one of its own."""
    own = next((str(value[key]) for key in SHARED_IDS if value.get(key)), "")
    if value.get("isSidechain") is True:
        return f"{own}/{value.get('agentId') or ''}{_SIDE}"
    return own


def _session_of(value: Mapping[str, Any]) -> str:
    """Return the session's id, if this is the line that begins it."""
    inner, _ = unwrapped(value)
    kind = str(value.get("type"))
    found = inner.get("id") or inner.get("sessionId") or value.get("id") if "session" in kind else None
    return str(found or "")


_TOOL_KEYS = frozenset(("role", "tool_call_id", "content", "name"))


def read_messages(turns: Turns, messages: list[Any]) -> None:
    """Give ``turns`` every call and answer of these messages. Raises one of ``MALFORMED`` for what is none."""
    result = turns.result
    for message in messages:
        role = message.get("role")
        content = message.get("content")
        if role == "tool" and type(content) is str and message.keys() <= _TOOL_KEYS and not turns.waiting:
            result(message.get("tool_call_id"), content)
        elif role == "assistant" and type(content) in _TEXT and "type" not in message:
            calls = message.get("tool_calls")
            if type(calls) is not list and (len(message) > 2 or "content" not in message):
                read_message(turns, message)
                continue
            turns.turn()
            if content:
                dialects.heard(turns, role, content)
            if calls:
                _calls(turns, message, calls)
        elif role == "user" and type(content) is str:
            dialects.heard(turns, role, content)
        elif role == "tool" and type(several := message.get("tool_messages")) is list:
            read_messages(turns, several)  # tau2 puts the answers of a turn in one message
        elif role == "tool" and message.get("requestor") == "user":
            continue  # the answer to a call that tau2's simulated user made on its own device
        elif (role == "user" and "tool_calls" in message) or (role in _SILENT and type(content) is not list):
            continue
        else:
            read_message(turns, message)


_TEXT = (str, type(None))
_SILENT = ("system", "developer")


def _calls(turns: Turns, message: Mapping[str, Any], calls: list[Any]) -> None:
    stamp = message.get("timestamp")
    at = None if stamp is None else time_of(stamp)
    if type(thought := message.get("reasoning_content")) is str and thought:
        turns.thought(thought)
    add = turns.call
    for call in calls:
        function = call.get("function") or call.get("custom") or call
        if type(function) is str:
            function = {**call, "name": function}
        arguments = function.get("arguments")
        if arguments is None:
            arguments = function.get("input", function.get("args"))
        add(function["name"], arguments_of(arguments), call.get("id"), at)
