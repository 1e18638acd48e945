"""What became of a write: whether one that failed may have happened all the same, or is under way and no more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from btm.classify.finding import Finding
from btm.classify.rules import form, table
from btm.model import Effect, Family, ToolCall
from btm.model import ErrorKind as K

# After these nobody knows how far the write came, unless the request certainly never got there.
_MAYBE = frozenset({K.TIMEOUT, K.SERVER_ERROR, K.UNAVAILABLE, K.UNKNOWN}) | {
    *(K.MALFORMED, K.SCHEMA_DRIFT, K.PARTIAL_DATA, K.FACTUAL_ERROR)
}

# "Order 17 was created, but sending the e-mail failed": what failed came after the write.
_SAYS_DONE = form("ambiguity", "says_done")
_SAYS_DONE_IN_JSON = form("ambiguity", "says_done_in_json")
_SAYS_NO_DEED = form("ambiguity", "says_no_deed")
_SAYS_NOT = form("ambiguity", "says_not")
_SAYS_CLOSED = form("ambiguity", "says_closed")
_SAYS_UNREACHED = form("ambiguity", "says_unreached")
_CLAUSE = re.compile(r"[.;:!?]\s|[\n()\[\]]|,\s|\b(?:but|however|and|while|though|after)\b", re.IGNORECASE)
_READ = 400  # characters of the text
_UNAVAILABLE = 503


def is_ambiguous(finding: Finding, call: ToolCall, text: str = "") -> bool:
    """Whether ``call`` is a write that may have happened although it failed as ``finding`` says.

    ``text`` is what the failure said. Words in it that something was done outweigh everything else: then what failed
    is a later step. (Not where the caller is at fault: "the order was cancelled" is a reason there.)

    A timeout, a connection lost half-way, 500, 502 and 504 leave it open; a refused connection, a lock held by another, a
    rejected argument, a vanished route and a service in maintenance do not (``[write]`` in ``data/numbers.toml``). An
    answer that cannot be read, or that lost its known fields, came after the write.
    """
    if call.effect is not Effect.WRITE:
        return False
    if finding.kind.family is not Family.CALLER and says_done(text):
        return True
    if finding.kind not in _MAYBE or finding.status_code in _refused():
        return False
    status, read = finding.status_code or 0, text[:_READ]
    if status < 500 or status == _UNAVAILABLE:
        if _SAYS_UNREACHED.search(read) or (finding.kind is K.UNAVAILABLE and _SAYS_CLOSED.search(read)):
            return False
        if finding.kind is K.SCHEMA_DRIFT and finding.rule.startswith(("text:", "code:")) and not status:
            return False  # said by the service itself, which then did nothing
    return status >= 500 or finding.reached


@cache
def _refused() -> frozenset[int]:
    """Return the statuses with which a server says that it did not act; the data file names their sources."""
    return frozenset(map(int, table("numbers")["write"]["refused"].split()))


def says_done(text: str) -> bool:
    """Whether a text of a failure says that something was done all the same."""
    read = text[:_READ]
    return _SAYS_DONE_IN_JSON.search(read) is not None or any(map(_states_a_deed, _CLAUSE.split(read)))


def _states_a_deed(clause: str) -> bool:
    """Whether a clause says that something was done: no condition, no count of requests, and no "not" before it."""
    found = _SAYS_DONE.search(clause)
    if found is None or _SAYS_NO_DEED.search(clause):
        return False
    return _SAYS_NOT.search(clause, 0, found.end()) is None


_WORDS = frozenset({"pending", "processing", "accepted", "unknown", "queued", "in progress", "in_progress"})
_PLACES = ("status", "state")
_MOST_FIELDS = 4  # a record that was changed has more; there the word may be the record's own state


def under_way(value: Any) -> str:
    """Return the word with which a short answer, as JSON values, says so; ``""`` for any other answer."""
    if isinstance(value, Mapping):
        if len(value) > _MOST_FIELDS or any(isinstance(inner, Mapping | list) for inner in value.values()):
            return ""
        value = next((value[place] for place in _PLACES if place in value), "")
    word = value.strip().casefold() if isinstance(value, str) else ""
    return word if word in _WORDS else ""
