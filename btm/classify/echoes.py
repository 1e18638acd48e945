"""What an answer only gives back: a hand-over, note or message that tells of a failure is confirmed in its own words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from btm.classify import body_keys as keys
from btm.classify import texts
from btm.classify.keys import snake
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
    """Return what a write answered without what it was asked for: phrases of the call, and a deed like ``reject``.

    That what was to be rejected is ``rejected``, or not ``approved``, confirms it.
    """
    if call.effect is not Effect.WRITE:
        return body
    sent, deed = set(_phrases(call)), _deed_named(snake(call.tool.rsplit("/", 1)[-1][:64]))
    if sent and any(type(value) is str and value.strip() in sent for value in body.values()):
        body = {k: _QUOTED if type(v) is str and v.strip() in sent else v for k, v in body.items()}
    return body if deed is None else _without_deed(body, deed)


def _without_deed(body: Mapping[str, Any], deed: re.Pattern[str]) -> Mapping[str, Any]:
    """Return a body in which the words for a deed are ``done``; where it says of itself that it is done, why is not read."""
    told = {
        k: v
        for k, v in body.items()
        if type(v) is str and len(v) <= _LONGEST_LABEL and not keys.is_error(str(k))
    }
    withheld = {k: True for k, v in body.items() if v is False and str(k)[:_LONGEST_LABEL].lower() in _GRANTS}
    done = {k: _DONE for k, v in told.items() if deed.fullmatch(v.strip())}
    said = {}
    for name, value in told.items():
        rest = deed.sub(_QUOTED, value)
        if rest != value:
            said[name] = rest if texts.of_words(rest) is not None else deed.sub(_DONE, value)
    why = dict.fromkeys(_WHY.intersection(told), _QUOTED) if done or withheld else {}
    return {**body, **said, **done, **withheld, **why}


_WHY = frozenset({"reason", "comment", "note"})
_DEED = re.compile(
    r"(?!un_|lift_|release_|remove_|clear_|prevent_)(?:[a-z]+_)?(expir|fail|block|ban|den|reject|revok|invalid|lock|refus|declin|suspend|disabl|disapprov|dismiss|cancel"
    r"|abort|clos|stop|void|terminat|kill|discard|deactivat)(?!ed)(?:[a-z]{0,3}|idate)(?:_|$)"
)
"""Deeds, by the beginnings of their words, that are bad words elsewhere: one of the first two words of a tool's name."""

_GRANTS = keys.words_of("write_flags")
_DONE = "done"


@lru_cache(maxsize=1_024)
def _deed_named(tool: str) -> re.Pattern[str] | None:
    found = _DEED.match(tool)
    return None if found is None else re.compile(rf"\b{found[1]}\w*", re.IGNORECASE)


def _phrases(call: ToolCall) -> Iterator[str]:
    for value in islice(scalars(call.arguments), _MOST):
        if type(value) is str and len(phrase := value.strip()) >= _SHORTEST and " " in phrase:
            yield phrase
