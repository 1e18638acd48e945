"""Outcomes as rows of JSON: the form of recorded outcomes, read into the arguments of `classify`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.classify import dates
from btm.classify.engine import classify
from btm.classify.frameworks import ToolResult
from btm.classify.recorded import rebuild_exception
from btm.model import Effect, Outcome, ToolCall


def classify_row(row: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a recorded row.

    A row has ``tool``, ``effect`` (read or write), ``called_at`` (ISO time, epoch seconds or null), optionally
    ``arguments``, and ``outcome``: ``{"form": "exception", "mro", "message", "attributes", "cause"}`` or
    ``{"form": "result", "value", "is_error"}``. Raises ValueError when there is no outcome to read.
    """
    outcome = row.get("outcome")
    if not isinstance(outcome, Mapping) or outcome.get("form") not in ("exception", "result"):
        raise ValueError('no "outcome" of the form "exception" or "result"')
    arguments = row.get("arguments")
    call = ToolCall(
        tool=str(row.get("tool") or ""),
        arguments=arguments if isinstance(arguments, Mapping) else {},
        effect=Effect.WRITE if row.get("effect") == "write" else Effect.READ,
        at=dates.moment(row.get("called_at")) or 0.0,
    )
    if outcome["form"] == "exception":
        return classify(call, error=rebuild_exception(outcome))
    flag = outcome.get("is_error")
    return classify(call, ToolResult(outcome.get("value"), flag if isinstance(flag, bool) else None))
