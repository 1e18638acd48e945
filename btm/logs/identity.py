"""What a conversation is known by: the calls that were answered in it, one after the other.

A log that is dumped again after its conversation went on holds another content, and the same beginning. Each answered
call gives a digest of everything up to it; one of those that was learned from before says how far.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from hashlib import sha256
from typing import NamedTuple

from btm.logs.conversation import NO_RESULT, Conversation
from btm.logs.records import DIGITS
from btm.support.untrusted import canonical

_UNIQUE = 12  # an id of this length is not given to two calls


class Beginnings(NamedTuple):
    """A digest for each answered call of a conversation: of it, of those before it, and of what the conversation is.

    ``sure`` says that no other conversation can have these: it, or its calls, have ids that are not given twice. Where
    they have none, one that is equally long and was told in other words may be another run of the same task.
    """

    digests: list[str]
    sure: bool


def beginnings(conversation: Conversation) -> Beginnings:
    """Return what a conversation is known by."""
    told, sure = sha256(), False
    digests: list[str] = []
    for recorded in conversation.calls:
        if not recorded.answered:
            continue
        call, result, outcome = recorded.call, recorded.result, recorded.outcome
        if not digests:
            name, sure = _named(conversation, call.call_id)
            told.update(name.encode("utf-8", "surrogatepass"))
        own = "" if "#" in call.call_id else call.call_id
        text = result if type(result) is str else ""
        said = f"\0{own}\0{call.tool}\0{'' if outcome is None else outcome.kind}\0{text}\0"
        given = canonical(call.arguments)
        if not text and result is not NO_RESULT:
            given += canonical(result)
        told.update(said.encode("utf-8", "surrogatepass") + given)
        digests.append(told.hexdigest()[:DIGITS])
    return Beginnings(digests, sure)


def _named(conversation: Conversation, call_id: str) -> tuple[str, bool]:
    own = conversation.conversation_id
    if own != conversation.digest and "@" not in own and len(own) >= _UNIQUE:
        return own, True
    if len(call_id) >= _UNIQUE and "#" not in call_id:
        return "", True
    return f"{conversation.format}\0{own.partition('@')[0] if '@' in own else ''}\0{conversation.task}", False


def known_calls(digests: list[str], places: Iterable[Container[str]]) -> int:
    """Return how many of a conversation's answered calls, but not all, were learned from, as ``places`` remember."""
    places = tuple(places)
    for count in range(len(digests) - 1, 0, -1):
        if any(digests[count - 1] in place for place in places):
            return count
    return 0
