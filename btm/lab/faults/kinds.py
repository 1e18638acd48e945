"""The nine kinds of fault, and what sets them apart."""

from __future__ import annotations

from btm.model import ErrorKind

RAISED = (ErrorKind.TIMEOUT, ErrorKind.RATE_LIMIT, ErrorKind.SERVER_ERROR, ErrorKind.AUTH_ERROR)
"""Faults that come as an exception: no agent can miss them."""

RETURNED = (
    ErrorKind.MALFORMED,
    ErrorKind.SCHEMA_DRIFT,
    ErrorKind.PARTIAL_DATA,
    ErrorKind.STALE_DATA,
    ErrorKind.FACTUAL_ERROR,
)
"""Faults that come as a result: the call looks as if it had worked."""

FAULT_KINDS = (
    ErrorKind.TIMEOUT,
    ErrorKind.RATE_LIMIT,
    ErrorKind.SERVER_ERROR,
    ErrorKind.MALFORMED,
    ErrorKind.AUTH_ERROR,
    ErrorKind.SCHEMA_DRIFT,
    ErrorKind.PARTIAL_DATA,
    ErrorKind.STALE_DATA,
    ErrorKind.FACTUAL_ERROR,
)
"""All nine, in the order in which tables show them."""

REPEAT_HEALS = (ErrorKind.TIMEOUT, ErrorKind.RATE_LIMIT, ErrorKind.SERVER_ERROR, ErrorKind.MALFORMED)
"""Faults that pass: the same call works again after a while."""

ON_WRITES = (*RAISED, ErrorKind.MALFORMED)
"""Faults that a write can meet. The silent ones are about data that was read."""

MAY_FOLLOW_THE_EFFECT = (ErrorKind.TIMEOUT, ErrorKind.SERVER_ERROR, ErrorKind.MALFORMED)
"""Faults that can strike after a write has happened. A refused login or a rate limit strikes before."""
