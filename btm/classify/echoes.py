"""What an answer only gives back: a hand-over, note or message that tells of a failure is confirmed in its own words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from btm.model import Effect, ToolCall
from btm.support.untrusted import scalars

_SHORTEST = 8  # characters of a phrase; shorter ones say little, and may stand anywhere
_CUT = 20  # characters of a phrase that is broken off at the end of an answer
_MOST = 20  # values, those inside of arguments included
_LONGEST_LABEL = 120
_QUOTED = "..."


def without_echoes(text: str, call: ToolCall) -> str:
    """Return an answer without the phrases that the call itself sent.

    What a read gives back whole is not one: a search for "not found" may have found nothing.
    """
    rest = text
    for sent in _phrases(call):
        if sent in rest:
            rest = rest.replace(sent, _QUOTED)
            continue
        at = rest.rfind(sent[:_CUT]) if len(sent) > _CUT else -1
        if at >= 0 and sent.startswith(rest[at:].rstrip(" .…\"')\n")):
            rest = rest[:at] + _QUOTED
    alone = not any(map(str.isalnum, rest))
    return text if alone and call.effect is not Effect.WRITE else rest


def without_label(text: str, call: ToolCall) -> str:
    """Return an answer without what was asked for, where it begins with that: ``o1: 401 Unauthorized``."""
    label, colon, rest = text[:_LONGEST_LABEL].partition(": ")
    if not colon or not rest.strip():
        return text
    asked = (value for value in islice(scalars(call.arguments), _MOST) if type(value) in (str, int))
    number = int(label) if label.isdecimal() and len(label) < _CUT else None
    return text[len(label) + len(colon) :] if any(value in (label, number) for value in asked) else text


def without_echoed_fields(body: Mapping[str, Any], call: ToolCall) -> Mapping[str, Any]:
    """Return what a write answered without the phrases in its fields that the call itself sent."""
    sent = set(_phrases(call)) if call.effect is Effect.WRITE else ()
    if not sent or not any(type(value) is str and value.strip() in sent for value in body.values()):
        return body
    return {k: _QUOTED if type(v) is str and v.strip() in sent else v for k, v in body.items()}


def _phrases(call: ToolCall) -> Iterator[str]:
    for value in islice(scalars(call.arguments), _MOST):
        if type(value) is str and len(phrase := value.strip()) >= _SHORTEST and " " in phrase:
            yield phrase
