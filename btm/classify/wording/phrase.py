"""One phrase of an error text, and how each sort of phrase is made."""

from __future__ import annotations

from typing import NamedTuple

from btm.classify.finding import WORDS
from btm.model import ErrorKind as K


class Phrase(NamedTuple):
    """A pattern with its trigger words, the kind it means, and how sure it is."""

    kind: K
    triggers: str
    pattern: str
    confidence: float = WORDS
    reached: bool = True


def tool(triggers: str, pattern: str, sure: float = 0.92) -> Phrase:
    """Return a phrase which says that the tool itself is unknown."""
    return Phrase(K.UNKNOWN_TOOL, triggers, pattern, sure, reached=False)


def quota(triggers: str, pattern: str, sure: float = 0.9) -> Phrase:
    """Return a phrase which says that an allowance is used up."""
    return Phrase(K.QUOTA_EXHAUSTED, triggers, pattern, sure, reached=False)


def rate(triggers: str, pattern: str, sure: float = 0.9) -> Phrase:
    """Return a phrase which says that too many requests in a short time."""
    return Phrase(K.RATE_LIMIT, triggers, pattern, sure, reached=False)


def drift(triggers: str, pattern: str, sure: float = 0.88) -> Phrase:
    """Return a phrase which says that the interface changed."""
    return Phrase(K.SCHEMA_DRIFT, triggers, pattern, sure)


def auth(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    """Return a phrase which says that the caller may not do this."""
    return Phrase(K.AUTH_ERROR, triggers, pattern, sure, reached=False)


def timeout(triggers: str, pattern: str, sure: float = WORDS, *, reached: bool = True) -> Phrase:
    """Return a phrase which says that time ran out."""
    return Phrase(K.TIMEOUT, triggers, pattern, sure, reached)


def down(triggers: str, pattern: str, sure: float = WORDS, *, reached: bool = False) -> Phrase:
    """Return a phrase which says that the service is not there, or not now."""
    return Phrase(K.UNAVAILABLE, triggers, pattern, sure, reached)


def server(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    """Return a phrase which says that the service broke."""
    return Phrase(K.SERVER_ERROR, triggers, pattern, sure)


def broken(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    """Return a phrase which says that the answer cannot be read."""
    return Phrase(K.MALFORMED, triggers, pattern, sure)


def missing(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    """Return a phrase which says that a thing that was named is not there."""
    return Phrase(K.NOT_FOUND, triggers, pattern, sure, reached=False)


def state(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    """Return a phrase which says that the state of things does not allow it."""
    return Phrase(K.PRECONDITION_FAILED, triggers, pattern, sure, reached=False)


def bad(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    """Return a phrase which says that the arguments are wrong."""
    return Phrase(K.INVALID_ARGUMENTS, triggers, pattern, sure, reached=False)


def empty(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    """Return a phrase which says that nothing was found."""
    return Phrase(K.EMPTY_RESULT, triggers, pattern, sure)
