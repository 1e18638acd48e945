"""Whether a failed write may have happened all the same."""

from __future__ import annotations

import re

from btm.classify.finding import Finding
from btm.classify.rules import form
from btm.model import Effect, Family, ToolCall
from btm.model import ErrorKind as K

# After these nobody knows how far the write came, unless the request certainly never got there.
_MAYBE = frozenset(
    {
        K.TIMEOUT,
        K.SERVER_ERROR,
        K.UNAVAILABLE,
        K.MALFORMED,
        K.SCHEMA_DRIFT,
        K.PARTIAL_DATA,
        K.UNKNOWN,
        K.FACTUAL_ERROR,
    }
)
_REFUSED_STATUS = frozenset({404, 405, 410, 426, 501})

# "Order 17 was created, but sending the e-mail failed": what failed came after the write.
_DONE = (
    r"(?:accepted|added|applied|approved|authori[sz]ed|booked|cancell?ed|captured|charged|committed|completed|created"
    r"|credited|debited|deducted|deleted|delivered|deployed|executed|inserted|made|paid|placed|posted"
    r"|processed|published|queued|recorded|refunded|registered|reserved|saved|scheduled|sent|shipped"
    r"|stored|submitted|succeeded|transferred|updated|uploaded|went through|withdrawn|written)"
)
_SAYS_DONE = form("ambiguity", "says_done")
_SAYS_NOT = form("ambiguity", "says_not")
_CLAUSE = re.compile(r"[.;:!?\n]\s|,\s|\bbut\b|\bhowever\b|\band\b", re.IGNORECASE)
_READ = 400  # characters of the text


def is_ambiguous(finding: Finding, call: ToolCall, text: str = "") -> bool:
    """Whether ``call`` is a write that may have happened although it failed as ``finding`` says.

    ``text`` is what the failure said. Words in it that something was done outweigh everything else: then what failed
    is a later step. (Not where the caller is at fault: "the order was cancelled" is a reason there.)

    A 5xx answer, a timeout or a connection lost half-way leave it open; a refused connection, a lock held by another,
    a rejected argument or a vanished route do not. An answer that cannot be read, or that lost its known fields, came
    after the write.
    """
    if call.effect is not Effect.WRITE:
        return False
    if finding.kind.family is not Family.CALLER and says_done(text):
        return True
    if finding.kind not in _MAYBE:
        return False
    if finding.status_code in _REFUSED_STATUS:
        return False
    if finding.status_code is not None and finding.status_code >= 500:
        return True
    if finding.kind is K.SCHEMA_DRIFT and finding.rule.startswith(("text:", "code:")):
        # Said by the service itself, which then did nothing.
        return False
    return finding.reached


def says_done(text: str) -> bool:
    """Whether a text of a failure says that something was done all the same."""
    read = text[:_READ]
    found = _SAYS_DONE.search(read)
    if found is None:
        return False
    begins = max((cut.end() for cut in _CLAUSE.finditer(read, 0, found.start())), default=0)
    return _SAYS_NOT.search(read, begins, found.end()) is None
