"""Whether a failed write may have happened all the same."""

from __future__ import annotations

from btm.classify.finding import Finding
from btm.model import Effect, ToolCall
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


def is_ambiguous(finding: Finding, call: ToolCall) -> bool:
    """Whether ``call`` is a write that may have happened although it failed as ``finding`` says.

    A 5xx answer, a timeout or a connection lost half-way leave it open; a refused connection, a lock held by
    another, a rejected argument or a vanished route do not. An answer that cannot be read, or that lost its known
    fields, came after the write.
    """
    if call.effect is not Effect.WRITE or finding.kind not in _MAYBE:
        return False
    if finding.status_code in _REFUSED_STATUS:
        return False
    if finding.status_code is not None and finding.status_code >= 500:
        return True
    if finding.kind is K.SCHEMA_DRIFT and finding.rule.startswith(("text:", "code:")):
        # Said by the service itself, which then did nothing.
        return False
    return finding.reached
