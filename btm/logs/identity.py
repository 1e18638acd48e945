"""What a conversation is known by: the calls that were answered in it, one after the other.

A log that is dumped again after its conversation went on holds another content, and the same beginning. Each answered
call gives a digest of everything up to it; one of those that was learned from before says how far.
"""

from __future__ import annotations

import re
from collections.abc import Container
from hashlib import sha256
from typing import NamedTuple

from btm.logs.conversation import NO_RESULT, Conversation, RecordedCall
from btm.logs.records import DIGITS
from btm.model import ToolCall
from btm.support.untrusted import canonical

_UNIQUE = 12  # characters of a conversation's id that is not given twice
_RANDOM = re.compile(r"(?=[A-Za-z]*\d)[0-9A-Za-z]{12}")  # as model servers and tracers make ids


class Beginnings(NamedTuple):
    """A digest for each answered call of a conversation: of it, of those before it, and of what the conversation is.

    ``sure`` says that no other conversation can have these: it, or its calls, have ids that are not given twice. Where
    they have none, one that is equally long and was told in other words may be another run of the same task.
    """

    digests: list[str]
    sure: bool


def beginnings(conversation: Conversation) -> Beginnings:
    """Return what a conversation is known by.

    A call whose id is not given twice is known by it, its tool and its outcome: a proxy, a tracer and the framework's own
    log tell of it in other words, under another conversation's id.
    """
    told, sure = sha256(), False
    digests: list[str] = []
    for recorded in conversation.calls:
        if not recorded.answered:
            continue
        unique = _is_unique(recorded.call)
        if not digests:
            name, sure = ("", True) if unique else _named(conversation)
            told.update(name.encode("utf-8", "surrogatepass"))
        told.update(_name_of(recorded) + (b"" if unique else _words_of(recorded)))
        digests.append(told.hexdigest()[:DIGITS])
    return Beginnings(digests, sure)


def _is_unique(call: ToolCall) -> bool:
    own = call.call_id
    return "#" not in own and _RANDOM.search(own) is not None and call.tool not in own


def _name_of(recorded: RecordedCall) -> bytes:
    """Return a call's own id with its tool and how it ended: kept answers of a model come again, ids and all."""
    call, outcome = recorded.call, recorded.outcome
    own = "" if "#" in call.call_id else call.call_id
    said = f"\0{own}\0{call.tool}\0{'' if outcome is None else outcome.kind}\0"
    return said.encode("utf-8", "surrogatepass")


def _words_of(recorded: RecordedCall) -> bytes:
    """Return what a log says of a call's arguments and its answer."""
    result = recorded.result
    text = result if type(result) is str else ""
    given = canonical(recorded.call.arguments)
    if not text and result is not NO_RESULT:
        given += canonical(result)
    return f"{text}\0".encode("utf-8", "surrogatepass") + given


def _named(conversation: Conversation) -> tuple[str, bool]:
    own = conversation.conversation_id
    if own != conversation.digest and "@" not in own and len(own) >= _UNIQUE:
        return own, True
    return f"{conversation.format}\0{own.partition('@')[0] if '@' in own else ''}\0{conversation.task}", False


def told_before(
    conversation: Conversation, begun: Beginnings, places: tuple[Container[str], ...]
) -> int | None:
    """Return how many of a conversation's answered calls were told before, as ``places`` remember; None when all were.

    One that was told whole is known by its content, or by its last beginning where no other can have that.
    """

    def held(digest: str) -> bool:
        return any(digest in place for place in places)

    whole = (conversation.digest, *(begun.digests[-1:] if begun.sure else ()))
    if any(digest and held(digest) for digest in whole):
        return None
    earlier = range(len(begun.digests) - 1, 0, -1)
    return next((count for count in earlier if held(begun.digests[count - 1])), 0)
