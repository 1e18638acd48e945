"""What a conversation is known by: the calls that were answered in it, one after the other.

A log that is dumped again after its conversation went on holds another content, and the same beginning. Each answered
call gives a digest of everything up to it; one of those that was learned from before says how far.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from hashlib import sha256

from btm.logs.conversation import NO_RESULT, Conversation
from btm.logs.records import DIGITS
from btm.support.untrusted import canonical

_UNIQUE = 12  # an id of this length is not given to two calls


def beginnings(conversation: Conversation) -> list[str]:
    """Return a digest for each answered call: of it, of those before it, and of what the conversation is.

    A conversation is told apart from one that goes alike by its own id, by ids of calls that are not given twice, or by
    its task.
    """
    told = sha256()
    found: list[str] = []
    for recorded in conversation.calls:
        if not recorded.answered:
            continue
        call, result, outcome = recorded.call, recorded.result, recorded.outcome
        if not found:
            told.update(_named(conversation, call.call_id).encode("utf-8", "surrogatepass"))
        name = "" if "#" in call.call_id else call.call_id
        told.update(f"\0{name}\0{call.tool}\0".encode("utf-8", "surrogatepass"))
        told.update(canonical(call.arguments))
        if type(result) is str:
            told.update(result.encode("utf-8", "surrogatepass"))
        elif result is not NO_RESULT:
            told.update(canonical(result))
        told.update(b"\0" if outcome is None else str(outcome.kind).encode())
        found.append(told.hexdigest()[:DIGITS])
    return found


def _named(conversation: Conversation, call_id: str) -> str:
    own = conversation.conversation_id
    if own and own != conversation.digest and "@" not in own:
        return own
    return "" if len(call_id) >= _UNIQUE and "#" not in call_id else conversation.task


def known_calls(digests: list[str], places: Iterable[Container[str]]) -> int:
    """Return how many of a conversation's answered calls were learned from, as ``places`` remember."""
    places = tuple(places)
    for count in range(len(digests), 0, -1):
        if any(digests[count - 1] in place for place in places):
            return count
    return 0
