"""Calls that a log holds as they were streamed: a beginning, pieces of the arguments' text, an end.

=============  =====================================================  ==========================================
product        a call begins with                                     and goes on with
=============  =====================================================  ==========================================
Anthropic      ``content_block_start`` of a ``tool_use``              ``input_json_delta``, by the block's index
OpenAI chat    ``delta.tool_calls`` with an ``id``                    the same without one, by the call's index
AG-UI          ``TOOL_CALL_START``                                    ``TOOL_CALL_ARGS``, by the call's id
=============  =====================================================  ==========================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.logs.turns import Turns
from btm.logs.words import fields

_KINDS = frozenset(("content_block_start", "content_block_delta", "TOOL_CALL_START", "TOOL_CALL_ARGS"))


def is_streamed(found: Mapping[str, Any]) -> bool:
    """Whether these are the fields of a piece of a stream."""
    return found.get("object") == "chat.completion.chunk" or str(found.get("type")) in _KINDS


def read(turns: Turns, found: Mapping[str, Any], at: float | None) -> None:
    """Read one piece; pieces of text say nothing here."""
    kind, index = found.get("type"), found.get("index")
    if kind == "content_block_start":
        block = found.get("contentblock") or {}
        if str(block.get("type")).endswith("tool_use"):
            turns.streamed(index, block.get("id"), block["name"], at)
    elif kind == "content_block_delta":
        turns.streams(index, (found.get("delta") or {}).get("partial_json"))
    elif kind == "TOOL_CALL_START":
        turns.streamed(found.get("toolcallid"), found.get("toolcallid"), found["toolcallname"], at)
    elif kind == "TOOL_CALL_ARGS":
        turns.streams(found.get("toolcallid"), found.get("delta"))
    else:
        for choice in found.get("choices") or ():
            for call in (choice.get("delta") or {}).get("tool_calls") or ():
                function = fields(call.get("function") or {})
                if call.get("id"):
                    turns.streamed(call.get("index"), call["id"], function["name"], at)
                turns.streams(call.get("index"), function.get("arguments"))
