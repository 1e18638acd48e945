"""Whether what a substitute gave answers the failed call: it must be found, of the right form, and about the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from btm.classify.expectations import Expectations, against
from btm.fallback.offers import Step
from btm.fallback.values import agree
from btm.model import ToolCall
from btm.support.untrusted import text_of

_NAMES_A_THING = re.compile(
    r"(?:^|_)(?:id|uuid|number|no|code|key|email|iban|sku)$|[a-z](?:Id|ID|Number|Code)$"
)
_NO_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Answer:
    """A substitute's result in the form of the failed tool's, or the ``problem`` that makes it none."""

    value: Any = None
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether it answers the failed call."""
        return not self.problem


def is_blank(value: Any) -> bool:
    """Whether an answer is nothing, or a text with nothing in it."""
    return value is None or (isinstance(value, str) and not value.strip())


def problem_of(
    call: ToolCall, offer: Step, value: Any, returns: tuple[str, ...], expected: Expectations | None
) -> str:
    """Return why ``value`` (JSON values) does not answer ``call``, in a few words; "" when it does.

    ``returns`` and ``expected`` are what the map says about the failed tool. What the offer says that it lacks, or
    does not name among what it gives, is not asked of it.
    """
    if is_blank(value):
        return "it holds nothing about what was asked for"
    if offer.coverage < 1.0 and isinstance(value, list | Mapping) and not value:
        return "it is empty, and gives only a part"
    finding = against(value, _due(expected, offer), None) if expected is not None else None
    if finding is not None:
        return finding.reason
    if _has_none_of(value, _roots(returns)):
        return "it has another form"
    other = _about_another(call, value)
    return f"it is about another {other}" if other else ""


def _due(expected: Expectations, offer: Step) -> Expectations:
    """Return what of the failed tool's expectations a substitute has to meet."""
    lacks, gives = _roots(offer.lacks), _roots(offer.gives)

    def due(path: str) -> bool:
        (root,) = _roots((path,))
        return root not in lacks and (not gives or root in gives)

    return Expectations(
        required=tuple(filter(due, expected.required)),
        types={path: wanted for path, wanted in expected.types.items() if due(path)},
        ranges={path: limits for path, limits in expected.ranges.items() if due(path)},
    )


def _roots(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(path.partition(".")[0].partition("[")[0] for path in paths)


def _has_none_of(value: Any, fields: frozenset[str]) -> bool:
    """Whether an object (or every object of a list) has none of the fields that the failed tool returns."""
    if not fields:
        return False
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, Mapping)), None)
    return isinstance(value, Mapping) and bool(value) and fields.isdisjoint(value)


def _about_another(call: ToolCall, value: Any) -> str:
    """Return the identifying argument that an object answers with another value, "" when there is none."""
    if not isinstance(value, Mapping):
        return ""
    for name, asked in call.arguments.items():
        if _NAMES_A_THING.search(name) and name in value and not _same_name(asked, value[name]):
            return text_of(name, 60)
    return ""


def _same_name(asked: Any, got: Any) -> bool:
    if not (isinstance(asked, str | int) and isinstance(got, str | int)) or agree(asked, got):
        return True
    one, other = (_NO_WORD.sub("", str(name)).casefold() for name in (asked, got))
    return one.endswith(other) or other.endswith(one)
