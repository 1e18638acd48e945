"""A FastMCP middleware that hands every tool call to a function which may keep it back, or change what it gave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import InputRequiredToolResult, ToolResult

from btm.adapters.mcp.results import failed, text_block, text_of
from btm.classify.frameworks import unwrapped

Between = Callable[[str, Mapping[str, Any], Callable[[], Any]], Any]
"""Gets a tool's name, its arguments and a function that makes the call and returns its value, or raises.

It returns a value (JSON), the call's own or another one, or raises what the client is to get as an error.
"""

_WRAPPED = "result"  # under which servers put what is no object


class ToolFailedError(Exception):
    """The server's own answer was flagged as an error; its text."""


class Interposer(Middleware):
    """Takes every tool call of a FastMCP server or proxy through ``between``, which runs in a thread."""

    def __init__(self, between: Between) -> None:
        self._between = between

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        loop = asyncio.get_running_loop()
        message = context.message
        given: list[ToolResult] = []

        async def run() -> Any:
            raw = await call_next(context)
            given.append(raw)
            if isinstance(raw, InputRequiredToolResult) or not isinstance(raw, ToolResult):
                return None  # a question to the user: it passes as it is
            if raw.is_error:
                raise ToolFailedError(text_of(raw))
            return _value_of(raw)

        def made() -> Any:
            return asyncio.run_coroutine_threadsafe(run(), loop).result()

        try:
            value = await asyncio.to_thread(self._between, message.name, message.arguments or {}, made)
        except ToolFailedError:
            return given[-1]
        except Exception as error:  # noqa: BLE001 - whatever the function raises, the client gets as a tool's error
            return failed([str(error) or type(error).__name__])
        return _with_value(given[-1] if given else None, value)


def _value_of(result: ToolResult) -> Any:
    structured = result.structured_content
    return text_of(result) if structured is None else unwrapped(structured)


def _with_value(given: ToolResult | None, value: Any) -> ToolResult:
    """Return a result with this value: as it came where it is the same one, else in the same form where that is possible."""
    if given is not None and (
        not isinstance(given, ToolResult) or value is None or value == _value_of(given)
    ):
        return given
    text = value if isinstance(value, str) else json.dumps(value)
    content = [text_block(text)]
    had = given.structured_content if given is not None else None
    if had is None or isinstance(value, str):
        return ToolResult(content=content)
    wrapped = set(had) == {_WRAPPED} or not isinstance(value, Mapping)
    return ToolResult(content=content, structured_content={_WRAPPED: value} if wrapped else dict(value))
