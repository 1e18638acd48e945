"""Conversations that are lists of messages, and how their calls are read.

One walk understands the messages of every chat format, so that a log whose first conversations hold no calls, or
which mixes providers, is read whichever reader its beginning called for. What is particular to a provider stands in
its own module: Anthropic's content blocks, the items of the Responses API, LangChain's message dumps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from btm.logs import blocks, items, lc
from btm.logs.conversation import Conversation, Skipped
from btm.logs.layout import LISTS, SHARED_IDS, layout_of, messages_of
from btm.logs.records import DIGITS, Log, Record, digest_of
from btm.logs.sample import Sample
from btm.logs.scanner import Path
from btm.logs.turns import Turns
from btm.logs.values import arguments_of, content_of, time_of

MALFORMED = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
"""What reading a record of an unexpected form can raise: a text where an object belongs, and so on."""


def reason(error: Exception) -> str:
    """Return why a record could not be read, for people: ``error`` is one of ``MALFORMED``."""
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]!r}" if error.args else "something is missing in it"
    if isinstance(error, ValueError):
        return str(error)
    return (
        "it is nested too deep" if isinstance(error, RecursionError) else "a value in it is of another form"
    )


def conversations(log: Log, name: str, path: Path = ()) -> Iterator[Conversation | Skipped]:
    """Read every conversation of a log as reader ``name``; ``path`` leads to them in a large document."""
    if records_apart(log.sample) is None:
        yield from _message_a_record(log, name)
        return
    for record in log.records(path):
        if type(record) is Skipped:
            yield record
            continue
        try:
            yield conversation_of(record, name)  # type: ignore[arg-type] # it is no Skipped
        except MALFORMED as error:
            yield Skipped(log.name, record.line, f"not a conversation: {reason(error)}")


def records_apart(sample: Sample) -> Path | None:
    """Return where the records lie that are a conversation each; None for a log whose records are messages."""
    return None if sample.records and is_message(unwrapped(sample.records[0])) else ()


def conversation_of(record: Record, name: str) -> Conversation:
    """Read one conversation. Raises ValueError, or another of ``MALFORMED``, when the record is none."""
    value, raw, _, place = record
    digest = digest_of(raw)
    if type(value) is list:
        conversation_id, started_at, reward, messages = digest, None, None, value
    else:
        layout = layout_of(value)
        conversation_id, started_at = layout.id_in(value, digest), layout.start_in(value)
        reward, messages = layout.reward_in(value), layout.messages_in(value)
    turns = Turns(conversation_id, started_at, digest[:8])
    read_messages(turns, messages)
    return Conversation(
        conversation_id, place, turns.batches(), reward, started_at, digest, name, _task(messages)
    )


def _task(messages: list[Any]) -> str:
    """Return the first thing that the user said."""
    for message in messages:
        if message.get("role") == "user" or message.get("type") == "human":
            content = content_of(message.get("content"))
            return content if type(content) is str else ""
    return ""


def _message_a_record(log: Log, name: str) -> Iterator[Conversation | Skipped]:
    """Read a log whose records are messages: one conversation, or one for each id that the messages name.

    Calls and answers are held until the end of the log, the other messages are not.
    """
    # The third is a hash object; the library has no public name for its type.
    begun: dict[str, tuple[str, Turns, Any, float | None]] = {}
    for record in log.records():
        if isinstance(record, Skipped):
            yield record
            continue
        try:
            layout = layout_of(record.value)
            own = next((str(record.value[key]) for key in SHARED_IDS if record.value.get(key)), "")
            if own not in begun:
                start = layout.start_in(record.value)
                begun[own] = (record.place, Turns(own, start, own or log.name), sha256(), start)
            _, turns, content, _ = begun[own]
            content.update(record.raw + b"\n")
            read_messages(turns, [unwrapped(record.value)])
        except MALFORMED as error:
            yield Skipped(log.name, record.line, f"not a message: {reason(error)}")
    for own, (place, turns, content, start) in begun.items():
        digest = content.hexdigest()[:DIGITS]
        conversation_id = own or digest
        yield Conversation(conversation_id, place, turns.batches(conversation_id), None, start, digest, name)


def sampled_messages(sample: Sample) -> Iterator[Mapping[str, Any]]:
    """Give the messages of a log's first records."""
    for record in sample.records:
        value = unwrapped(record)
        try:
            messages = [value] if is_message(value) else messages_of(value)
        except MALFORMED:
            continue  # it will be skipped, with the reason, when it is read
        yield from (message for message in messages if isinstance(message, dict))


def unwrapped(value: Any) -> Any:
    """Return the message that a line of a transcript wraps (``{"sessionId": ..., "message": {...}}``)."""
    if isinstance(value, dict) and isinstance(message := value.get("message"), dict) and "role" in message:
        return message
    return value


def is_message(value: object) -> bool:
    """Whether a value is a message or item of a conversation, in any of the formats."""
    if not isinstance(value, dict) or any(isinstance(value.get(key), list) for key in LISTS):
        return False
    return isinstance(value.get("role"), str) or items.is_item(value) or lc.is_message(value)


def read_messages(turns: Turns, messages: list[Any]) -> None:
    """Give ``turns`` every call and answer of these messages. Raises one of ``MALFORMED`` for what is none."""
    result = turns.result
    for message in messages:
        role = message.get("role")
        if role == "tool":
            call_id = message.get("tool_call_id")
            if call_id is None or message.get("error") is not None:
                _unusual_answer(turns, message)
            else:
                result(call_id, content_of(message.get("content")))
        elif role == "assistant":
            if calls := message.get("tool_calls"):
                _calls(turns, message, calls)
            elif type(content := message.get("content")) is list:
                blocks.assistant(turns, content, time_of(message.get("timestamp")))
            elif function := message.get("function_call"):  # the form before tool_calls
                _calls(turns, message, [function])
        else:
            _read_other(turns, role, message)


def _read_other(turns: Turns, role: object, message: Mapping[str, Any]) -> None:
    if role == "user":
        if type(content := message.get("content")) is list:
            blocks.user(turns, content)
    elif role == "function":
        _unusual_answer(turns, message)
    elif lc.is_message(message):
        lc.read_message(turns, message)
    elif items.is_item(message):
        items.read_item(turns, message)


def _calls(turns: Turns, message: Mapping[str, Any], calls: list[Any]) -> None:
    turns.turn()
    stamp = message.get("timestamp")
    at = None if stamp is None else time_of(stamp)
    add = turns.call
    for call in calls:
        function = call.get("function") or call.get("custom") or call
        arguments = function.get("arguments")
        if arguments is None:
            arguments = function.get("input", function.get("args"))
        add(function["name"], arguments_of(arguments), call.get("id"), at)


def _unusual_answer(turns: Turns, message: Mapping[str, Any]) -> None:
    """Read an answer that carries an error flag, is tau2's, or has no id."""
    if (
        type(several := message.get("tool_messages")) is list
    ):  # tau2 puts the answers of a turn in one message
        for one in several:
            _unusual_answer(turns, one)
        return
    if message.get("requestor") == "user":
        return  # the answer to a call that tau2's simulated user made on its own device
    content, error = message.get("content"), message.get("error")
    if isinstance(error, str) and error:
        content, error = content or error, True
    call_id = message.get("tool_call_id") or message.get("id")
    turns.result(call_id, content_of(content), error if isinstance(error, bool) else None)
