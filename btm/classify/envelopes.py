"""Which part of an answer says of the whole that it failed: a status beside no data, a verdict inside an envelope."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from btm.classify import body_keys as keys
from btm.classify.telling import http_status, is_no, is_quiet, tells_failure
from btm.model import Effect, ToolCall

_DEEPEST, _MOST = 4, 20
_VERDICT = re.compile(
    r"(?:status|result|ack|outcome|severity|response|responsetext|(?:return|response|result|message)type)$"
)
_ABOUT = frozenset({"status", "meta", "header", "head", "sys", "info"})
"""Parts that hold nothing of the answer itself: a message in them is about the call."""

_FIRST_WORD = re.compile(r"[a-z_]{2,20}")
_BAD = keys.FIRM_BAD | keys.BAD_STATUS | keys.words_of("bad_verdict")


def failing_part(body: Mapping[str, Any], call: ToolCall) -> Mapping[str, Any] | None:
    """Return the part of a JSON body that says that the call failed where no data stand beside it, or None."""
    for name in keys.fields_of(body).parts or (tuple(body) if len(body) == 1 else ()):
        part = body[name]
        if not isinstance(name, str) or not isinstance(part, Mapping) or not part or is_quiet(part):
            continue
        beside = (body[other] for other in keys.fields_of(body).payload if other != name)
        alone = not any(isinstance(value, Mapping | list) and value for value in beside)
        firm = keys.bare(name) in _ABOUT or _is_marked(part) or _verdict_is_bad(part, call)
        if firm and (alone or http_status(part) is not None) and tells_failure(part, call):
            return part
    return None


def failing_node(
    answer: Mapping[str, Any], call: ToolCall, *, whole: bool = False
) -> Mapping[str, Any] | None:
    """Return the part of an answer that is nothing but an envelope (XML, lines of fields) which says that it failed.

    ``whole``: only the answer itself is asked.
    """
    for node in [answer] if whole else _nodes(answer):
        if _verdict_is_bad(node, call) or (node is answer and tells_failure(node, call)) or _is_marked(node):
            return node
    return None


def _is_marked(node: Mapping[str, Any]) -> bool:
    named = keys.fields_of(node)
    flagged = any(is_no(node[name]) for name in named.flags)
    members = [(str(name), value) for name, value in islice(node.items(), _MOST)]
    data = sum(isinstance(value, list | Mapping) and bool(value) for _, value in members)
    errors = (
        value for name, value in members if keys.is_error(name) or (data == 1 and keys.speaks_of_errors(name))
    )
    return (
        flagged
        or http_status(node) is not None
        or any(isinstance(error, Mapping | list) and error for error in errors)
    )


def _nodes(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    level: list[Mapping[str, Any]] = [answer]
    for _ in range(_DEEPEST):
        yield from level
        inner = [value for node in level for value in islice(node.values(), _MOST)]
        heads = (value[0] if isinstance(value, list) and value else value for value in inner)
        level = [value for value in islice(heads, 5 * _MOST) if isinstance(value, Mapping) and value]


def _verdict_is_bad(node: Mapping[str, Any], call: ToolCall) -> bool:
    if call.effect is not Effect.WRITE and keys.RECORD_TOOL.search(call.tool[:80]):
        return False  # the record of something that failed is what was asked for
    for name, value in islice(node.items(), _MOST):
        if isinstance(value, str) and _VERDICT.search(keys.bare(name)):
            first = _FIRST_WORD.match(value[:40].strip().lower())
            if first is not None and first.group() in _BAD:
                return True
    return False
