"""What an MCP client gets for a handled call: the tool's own result, with what there is to say as one more text block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jsonschema
from fastmcp.exceptions import NotFoundError
from fastmcp.tools.base import ToolResult
from mcp_types import TextContent

from btm.adapters.sightings import Sightings
from btm.adapters.wording import done_text, refusal_text
from btm.fallback.values import plain
from btm.planning.closing import in_result
from btm.planning.context import quoted
from btm.planning.failure_text import result_text
from btm.runtime.drivers import Handled
from btm.support.imitations import disarmed


def answer(
    handled: Handled, sightings: Sightings, schema: Mapping[str, Any] | None, *, logged: str = ""
) -> ToolResult:
    """Return the result of a handled call. ``schema`` is what the called tool promises of its structured content.

    A failure that raised becomes a result flagged as an error, so that the model reads it; without a context it is
    raised again, as if btm were not there. ``logged`` is a reason that the server kept to itself and wrote to its log.
    """
    context = in_result(handled.context)
    if handled.refused:
        return failed([refusal_text(handled), context])
    raw = sightings.original(handled)
    log = f"[tool layer: the server's log says {quoted(logged)}]" if logged else ""
    if handled.error is not None:
        error = raw if isinstance(raw, Exception) else handled.error
        if not context:
            raise error
        return failed([disarmed(_error_text(error, handled)), log, context])
    if isinstance(raw, ToolResult) and handled.served_by == handled.call.tool:
        return with_texts(raw, [done_text(handled), log if context else "", context])
    return _substitute(handled, raw, schema, context)


def _error_text(error: Exception, handled: Handled) -> str:
    """Return what FastMCP itself would say: the text alone, and of an unknown tool only that it is unknown."""
    return f"Unknown tool: {handled.call.tool!r}" if isinstance(error, NotFoundError) else str(error)


def with_texts(result: ToolResult, texts: Iterable[str]) -> ToolResult:
    """Return a result with texts of ours after its content; everything else of it stays. Without texts: itself."""
    said = [text_block(text) for text in texts if text]
    if not said:
        return result
    return result.model_copy(update={"content": [*_harmless(result.content), *said]})


def failed(texts: Iterable[str]) -> ToolResult:
    """Return a result that is flagged as an error, with these texts."""
    return ToolResult(content=[text_block(text) for text in texts if text], is_error=True)


def text_block(text: str) -> TextContent:
    """Return a text as a block of a result's content."""
    return TextContent(type="text", text=text)


def text_of(result: ToolResult) -> str:
    """Return the text blocks of a result, a line each."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def _substitute(handled: Handled, raw: Any, schema: Mapping[str, Any] | None, context: str) -> ToolResult:
    """Return another tool's answer in the place of the called one's.

    Clients check structured content against the called tool's schema and raise where it does not fit. An answer that
    does not fit is therefore given as text, in a result that is flagged as an error: those are not checked.
    """
    value = plain(handled.result)
    content = raw.content if isinstance(raw, ToolResult) else [text_block(result_text(value))]
    told = [text_block(text) for text in (done_text(handled), context) if text]
    if schema is None:
        return ToolResult(content=[*_harmless(content), *told])
    for structured in (value, {"result": value}):
        if isinstance(structured, Mapping) and _fits(structured, schema):
            return ToolResult(content=[*_harmless(content), *told], structured_content=dict(structured))
    note = (
        f"The answer below does not have the form that {handled.call.tool} promises. It is good all the same; "
        "do not make the call again for it."
    )
    return ToolResult(content=[*told, text_block(note), *_harmless(content)], is_error=True)


def _harmless(content: Iterable[Any]) -> list[Any]:
    return [
        block.model_copy(update={"text": disarmed(block.text)}) if isinstance(block, TextContent) else block
        for block in content
    ]


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value fits a server's schema. One that is broken, or points elsewhere, is fitted by nothing."""
    try:
        jsonschema.validate(value, schema)
    except (jsonschema.ValidationError, jsonschema.SchemaError):
        return False
    except Exception:  # noqa: BLE001 - the schema comes from the server: it may hold references that lead nowhere
        return False
    return True
