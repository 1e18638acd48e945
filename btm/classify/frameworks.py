"""What agent frameworks and protocols wrap a result in, recognised by its shape: nothing of theirs is imported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from btm.classify.reading import attribute, field

_PRINTED_FLAG = re.compile(r" is(?:E|_e)rror=True(?: result_type='\w{1,40}')?\Z")
_WRAPPERS = frozenset({"isError", "is_error", "content"})


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
        return ToolResult(result) if is_bare(result) else _unwrap_mapping(result)
    content = attribute(result, "content")
    if content is None:
        return ToolResult(result)
    # LangChain's messages first: looking for what a pydantic model does not have is slow.
    if attribute(result, "tool_call_id") is not None:
        status = attribute(result, "status")
        return ToolResult(content, status == "error" if isinstance(status, str) else None)
    if attribute(result, "status_code") is not None:  # an HTTP response has a content, too
        return ToolResult(result)
    flag = attribute(result, "isError")
    flag = attribute(result, "is_error") if not isinstance(flag, bool) else flag
    if isinstance(flag, bool):
        structured = unwrapped(field(result, "structuredContent", "structured_content"))
        return ToolResult(content if flag or structured is None else structured, flag)
    if attribute(result, "type") == "tool":
        status = attribute(result, "status")
        return ToolResult(content, status == "error" if isinstance(status, str) else None)
    return ToolResult(result)


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
    return _WRAPPERS.isdisjoint(result)


def _unwrap_mapping(result: Mapping[Any, Any]) -> ToolResult:
    flag = field(result, "isError", "is_error")
    structured = field(result, "structuredContent", "structured_content")
    if flag is False and isinstance(structured, Mapping):
        return ToolResult(unwrapped(structured), flag)
    if isinstance(flag, bool) and ("content" in result or "result" in result or "text" in result or flag):
        return ToolResult(
            field(result, "content", "result", "text") if not flag or "content" in result else dict(result),
            flag,
        )
    if "content" in result and (
        "tool_call_id" in result or result.get("role") == "tool" or result.get("type") == "tool_result"
    ):
        return ToolResult(
            result["content"],
            True if result.get("status") == "error" or result.get("error") is True else None,
        )
    if result.get("status") == "error" and isinstance(result.get("content"), str | list):
        return ToolResult(result["content"], True)
    return ToolResult(result)


def as_object(value: Any) -> Mapping[str, Any] | None:
    """Return the fields of a result object that can stand for a mapping: an HTTP response, a process, a model."""
    status = attribute(value, "status_code")
    if type(status) is int and attribute(value, "headers") is not None:
        return {
            "status_code": status,
            "headers": attribute(value, "headers"),
            "message": field(value, "reason_phrase", "reason"),
        }
    code = attribute(value, "returncode")
    if type(code) is int:
        return {
            "returncode": code,
            "stdout": attribute(value, "stdout"),
            "stderr": attribute(value, "stderr"),
        }
    fields = attribute(value, "__dict__")
    if isinstance(fields, dict) and fields and len(fields) <= 200:
        return {k: v for k, v in fields.items() if isinstance(k, str) and not k.startswith("_")}
    return None
