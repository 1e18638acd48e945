"""What one rule found out about a failure, before it becomes an outcome."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from btm.model import ErrorKind

# How sure each sort of evidence makes us. They only order the rules against each other and are shown to people.
EXACT = 0.97  # a type, SQLSTATE or documented code that has one meaning
STATUS = 0.95  # an HTTP status
CODE = 0.93  # a machine-readable code, read by its name
WORDS = 0.85  # a phrase of an error text
WEAK = 0.6  # a phrase or type that usually means this
DEFAULT = 0.5  # the family a type belongs to, when nothing else is known
NONE = 0.2  # it failed, and nothing says how


class Finding(NamedTuple):
    """A kind of failure, the rule that found it, and why.

    ``reached`` is False when the request certainly never got to where it would have acted (connection refused,
    name not resolved, lock held by another), so that a write cannot have happened. ``detail`` is raw text.
    ``doubtful`` marks what is rather a result than an error text, though not surely: ``confidence`` is then the chance
    that it is one. ``missing`` is the required field that an answer lacks.
    """

    kind: ErrorKind
    rule: str
    reason: str
    confidence: float = WORDS
    status_code: int | None = None
    retry_after_s: float | None = None
    reached: bool = True
    detail: str = ""
    doubtful: bool = False
    missing: str = ""


def surest(findings: Iterable[Finding | None]) -> Finding | None:
    """Return the finding with the highest confidence; the earlier one wins a tie."""
    best: Finding | None = None
    for finding in findings:
        if finding is not None and (best is None or finding.confidence > best.confidence):
            best = finding
    return best


def names(text: str) -> frozenset[str]:
    """Return the words of a text as a set: how this package writes its longer closed sets."""
    return frozenset(text.split())
