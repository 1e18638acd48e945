"""What agent frameworks and protocols wrap a result in, recognised by its shape: nothing of theirs is imported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from btm.classify.reading import attribute, field, members

_PRINTED_FLAG = re.compile(r" is(?:E|_e)rror=True(?: result_type='\w{1,40}')?\Z")
_WRAPPERS = frozenset({"isError", "is_error", "content"})
_ERROR_OUTPUTS = ("error-text", "error-json")  # the Vercel AI SDK's tool outputs


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A result together with what its framework says about it.

    ``is_error`` is the framework's own flag (``isError`` of MCP, ``status="error"`` of a ToolMessage), or None when
    it keeps none. A flag of False proves nothing: many tools return their errors as plain text.
    """

    value: Any
    is_error: bool | None = None


def unwrap(result: Any) -> ToolResult:
    """Return the bare value of a result and its framework's flag, whatever it is wrapped in."""
    if isinstance(result, ToolResult):
        if result.is_error:
            return result
        inner = unwrap(result.value)
        return inner if inner.is_error is not None else ToolResult(inner.value, result.is_error)
    if isinstance(result, Mapping):
        result = members(result)
        return ToolResult(result) if is_bare(result) else _unwrap_mapping(result)
    content = attribute(result, "content")
    if content is None:
        return ToolResult(result)
    # LangChain's messages first: looking for what a pydantic model does not have is slow.
    if attribute(result, "tool_call_id") is not None:
        return _of_message(result, content)
    if attribute(result, "status_code") is not None:  # an HTTP response has a content, too
        return ToolResult(result)
    flag = attribute(result, "isError")
    flag = attribute(result, "is_error") if not isinstance(flag, bool) else flag
    if isinstance(flag, bool):
        structured = unwrapped(field(result, "structuredContent", "structured_content"))
        return ToolResult(content if flag or structured is None else structured, flag)
    return _of_message(result, content) if attribute(result, "type") == "tool" else ToolResult(result)


def _of_message(result: Any, content: Any) -> ToolResult:
    status = attribute(result, "status")
    return ToolResult(content, status == "error" if isinstance(status, str) else None)


def is_printed_failure(text: str) -> bool:
    """Whether a text is the ``repr`` of an MCP result that is flagged as an error, of either generation of the SDK."""
    return (
        text.startswith(("meta=", "content=["))
        and _PRINTED_FLAG.search(text, max(0, len(text) - 80)) is not None
    )


def unwrapped(structured: Any) -> Any:
    """Return what a tool of MCP gave: servers wrap structured content that is no object as ``{"result": ...}``."""
    if isinstance(structured, Mapping) and set(structured) == {"result"}:
        return structured["result"]
    return structured


def is_bare(result: Mapping[Any, Any]) -> bool:
    """Whether a mapping certainly is no framework's wrapper."""
    return _WRAPPERS.isdisjoint(result) and not (
        "value" in result and str(result.get("type"))[:80] in _ERROR_OUTPUTS
    )


_MCP_FIELDS = frozenset({"content", "structuredContent", "structured_content", "_meta", "meta"})
_MCP_BLOCKS = frozenset({"text", "image", "audio", "resource", "resource_link"})


def _is_mcp(result: Mapping[Any, Any]) -> bool:
    """Whether a mapping is an MCP result that leaves out ``isError``, as those of calls that went well may."""
    blocks = result.get("content")
    if not isinstance(blocks, list) or not blocks or not _MCP_FIELDS.issuperset(result):
        return False
    return all(isinstance(block, Mapping) and str(block.get("type")) in _MCP_BLOCKS for block in blocks)


def _unwrap_mapping(result: Mapping[Any, Any]) -> ToolResult:
    if "value" in result and result.get("type") in _ERROR_OUTPUTS:
        return ToolResult(result["value"], True)
    flag = field(result, "isError", "is_error")
    structured = field(result, "structuredContent", "structured_content")
    if flag is False and isinstance(structured, Mapping):
        return ToolResult(unwrapped(structured), flag)
    if isinstance(flag, bool) and ("content" in result or "result" in result or "text" in result or flag):
        bare = not flag or "content" in result
        return ToolResult(field(result, "content", "result", "text") if bare else dict(result), flag)
    if flag is None and _is_mcp(result):
        return ToolResult(unwrapped(structured) if isinstance(structured, Mapping) else result["content"])
    if "content" in result:
        failed = result.get("status") == "error"
        if "tool_call_id" in result or result.get("role") == "tool" or result.get("type") == "tool_result":
            return ToolResult(result["content"], True if failed or result.get("error") is True else None)
        if failed and isinstance(result["content"], str | list):
            return ToolResult(result["content"], True)
    return ToolResult(result)


def as_object(value: Any) -> Mapping[str, Any] | None:
    """Return the fields of a result object that can stand for a mapping: an HTTP response, a process, a model."""
    status, code = attribute(value, "status_code"), attribute(value, "returncode")
    if type(status) is int and (headers := attribute(value, "headers")) is not None:
        said = field(value, "reason_phrase", "reason")
        return {"status_code": status, "headers": headers, "message": said}
    if type(code) is int:
        return {name: attribute(value, name) for name in ("returncode", "stdout", "stderr")}
    return public_fields(value) if _is_plain_data(value) else None


def public_fields(value: Any) -> Mapping[str, Any] | None:
    """Return an object's attributes without a leading underscore, at most 200 of them, or None where it has none."""
    fields = attribute(value, "__dict__")
    if not isinstance(fields, dict) or not 0 < len(fields) <= 200:
        return None
    return {k: v for k, v in fields.items() if isinstance(k, str) and not k.startswith("_")} or None


def _is_plain_data(value: Any) -> bool:
    """Whether an object is a record of its fields: a dataclass, an attrs or pydantic model, a bare namespace."""
    kind = type(value)
    marks = ("__dataclass_fields__", "__attrs_attrs__", "__pydantic_fields__")
    return kind.__name__ == "SimpleNamespace" or any(attribute(kind, mark) is not None for mark in marks)


def says_empty(value: Any) -> bool:
    """Whether an object says of itself that it holds nothing (``empty``, a length of 0); in doubt it holds something."""
    empty = attribute(value, "empty")
    if isinstance(empty, bool):
        return empty
    if attribute(type(value), "__len__") is None:
        return False
    try:
        return len(value) == 0
    except Exception:  # noqa: BLE001 - a foreign object's length may raise anything
        return False
