"""Anthropic's content blocks: ``tool_use`` in the assistant's message, ``tool_result`` in the user's.

https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use. Tools that run on the provider's
side (``server_tool_use``, ``mcp_tool_use``) have their results among the assistant's blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from btm.logs.turns import Turns
from btm.logs.values import arguments_of, content_of

_USES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def is_block(block: object) -> bool:
    """Whether this is a block of a call or of an answer."""
    return (
        isinstance(block, dict)
        and isinstance(kind := block.get("type"), str)
        and (kind in _USES or _answers(block))
    )


def assistant(turns: Turns, content: Iterable[Any], at: float | None) -> None:
    """Read the assistant's blocks: its calls are one turn, unless answers stand between them."""
    turns.turn()
    for block in content:
        if not is_block(block):
            continue
        if block["type"] in _USES:
            turns.call(block["name"], arguments_of(block.get("input")), block.get("id"), at)
        else:
            _answer(turns, block)


def user(turns: Turns, content: Iterable[Any]) -> None:
    """Read the answers that the user's message brings."""
    for block in content:
        if is_block(block) and _answers(block):
            _answer(turns, block)


def _answers(block: Mapping[str, Any]) -> bool:
    return str(block.get("type")).endswith("tool_result") and "tool_use_id" in block


def _answer(turns: Turns, block: Mapping[str, Any]) -> None:
    content = block.get("content")
    flag = block.get("is_error")
    error_type = None
    if isinstance(content, dict) and isinstance(code := content.get("error_code"), str):
        flag, error_type = True, code  # {"type": "web_search_tool_result_error", "error_code": "..."}
    turns.result(
        block["tool_use_id"], content_of(content), flag if isinstance(flag, bool) else None, error_type
    )
