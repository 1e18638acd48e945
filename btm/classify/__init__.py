"""Naming what went wrong: a result or an exception becomes an `btm.model.Outcome`.

`classify` is the one entrance. It runs the user's own rules, then looks for failures that say so (exceptions,
statuses, error bodies, error texts), then for silent ones (expectations, marks in the data, a learned shape).
"""

from __future__ import annotations

from btm.classify.engine import UserRule, classify
from btm.classify.expectations import ErrorRule, Expectations, Freshness
from btm.classify.frameworks import ToolResult
from btm.classify.recorded import RecordedException, rebuild_exception
from btm.classify.shape import ShapeProfile, ShapeRow, ShapeVerdict

__all__ = [
    "ErrorRule",
    "Expectations",
    "Freshness",
    "RecordedException",
    "ShapeProfile",
    "ShapeRow",
    "ShapeVerdict",
    "ToolResult",
    "UserRule",
    "classify",
    "rebuild_exception",
]
