"""A FastMCP middleware that takes tool calls through btm. Everything else passes as if it were not there."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import mcp_types
from fastmcp.server.context import Context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
from mcp.shared.exceptions import MCPError

from btm.adapters.mcp.results import answer, text_of, with_texts
from btm.adapters.mcp.stderr import StderrTail, StderrWatch
from btm.adapters.sightings import Sightings
from btm.memory import ToolMemory
from btm.model import Effect, ToolCall
from btm.support.failsafe import is_active, safely

IDLE_S = 1800.0
"""Seconds without a call after which a connection's next call begins a new conversation."""

_Params = mcp_types.CallToolRequestParams
_CallContext = MiddlewareContext[_Params]

# Requests of the protocol itself: the client is to do something and come again. No tool has failed.
_REQUESTS = (mcp_types.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp_types.URL_ELICITATION_REQUIRED)

# Servers that keep the reason to themselves: it stands on stderr at best.
_SAYS_NOTHING = re.compile(
    r"\s*(error (executing|calling) tool \S+|internal (server )?error|connection closed"
    r"|error calling tool \S+: connection closed)\.?\s*",
    re.IGNORECASE,
)
_STDERR_WAIT_S = 0.02
_STDERR_TRIES = 10


class _Untouched(BaseException):
    """Carries what is no outcome of a tool past the core, which learns nothing of it."""

    def __init__(self, result: Any = None, error: Exception | None = None) -> None:
        super().__init__()
        self.result = result
        self.error = error


class RecoveryMiddleware(Middleware):
    """Takes every tool call of a FastMCP server or proxy through ``memory``.

    After a failure the recovery context is one more text block of the result; structured content and the error flag
    stay as they are. In act mode another tool of the same server may stand in: its structured content is handed over
    only where it fits the called tool's output schema. ``stderr`` finds what the server of a tool writes to stderr.
    """

    def __init__(
        self, memory: ToolMemory, *, stderr: Callable[[str], StderrTail | None] = lambda _: None
    ) -> None:
        self.memory = memory
        self.stderr = stderr
        self._conversations = _Conversations(memory)
        self._names: frozenset[str] | None = None
        self._tools: dict[str, Tool] = {}

    async def on_call_tool(
        self, context: _CallContext, call_next: CallNext[_Params, ToolResult]
    ) -> ToolResult:
        server = context.fastmcp_context
        if server is None or not is_active():
            return await call_next(context)
        tool = await self._tool(server, context.message.name)
        call = ToolCall(
            context.message.name,
            context.message.arguments or {},
            self._effect(context.message.name, tool),
            safely(self._conversations.name, server) or "",
        )
        attempt = _Attempts(self, context, call_next, call.arguments)
        try:
            handled = await self.memory.acall(
                call, attempt.invoke, available=self._names, sleep=attempt.sleep
            )
        except _Untouched as found:
            if found.error is not None:
                raise found.error from None
            result: ToolResult = found.result
            return result
        schema = tool.output_schema if tool is not None else None
        return answer(handled, attempt.sightings, schema, logged=attempt.logged)

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp_types.ListToolsRequest],
        call_next: CallNext[mcp_types.ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        """Note which tools there are, and forget the learned shape of one whose output schema has changed."""
        tools = await call_next(context)
        safely(self._listed, tools)
        return tools

    async def on_initialize(
        self,
        context: MiddlewareContext[mcp_types.InitializeRequest],
        call_next: CallNext[mcp_types.InitializeRequest, mcp_types.InitializeResult | None],
    ) -> mcp_types.InitializeResult | None:
        """Add the standing rules to the server's instructions."""
        result = await call_next(context)
        return None if result is None else self._instructed(result)

    async def on_discover(
        self,
        context: MiddlewareContext[mcp_types.DiscoverRequest],
        call_next: CallNext[mcp_types.DiscoverRequest, mcp_types.DiscoverResult | dict[str, Any]],
    ) -> mcp_types.DiscoverResult | dict[str, Any]:
        result = await call_next(context)
        return self._instructed(result) if isinstance(result, mcp_types.DiscoverResult) else result

    def _instructed(self, result: Any) -> Any:
        if not is_active() or not self.memory.mode.advises:
            return result
        own = f"{result.instructions}\n\n" if result.instructions else ""
        return result.model_copy(update={"instructions": own + self.memory.standing_rules()})

    def _listed(self, tools: Sequence[Tool]) -> None:
        names = frozenset(tool.name for tool in tools)
        if names != self._names:
            self._names = names
        for tool in tools:
            if self._tools.get(tool.name, tool).output_schema != tool.output_schema:
                self.memory.forget_shape(tool.name)
        self._tools = {tool.name: tool for tool in tools}

    async def _tool(self, server: Context, name: str) -> Tool | None:
        """Return what is known of a tool, None where its server cannot be asked: the call itself will tell why.

        What was listed last is what the client goes by; FastMCP is asked only for what nobody has listed.
        """
        if name not in self._tools:
            try:
                tool = await server.fastmcp.get_tool(name)
            except Exception:  # noqa: BLE001 - a dead server, a broken list: whatever it is, the call meets it too
                return None
            if tool is None:
                return None
            self._tools[name] = tool
        return self._tools[name]

    def _effect(self, name: str, tool: Tool | None) -> Effect:
        """Return a tool's effect: what the map says, else what the server says of it, else a guess from its name."""
        if tool is not None:
            hint = tool.annotations.read_only_hint if tool.annotations is not None else None
            self.memory.describe(name, tool.description, read_only=hint)
        return self.memory.effect_of(name)


@dataclass
class _Attempts:
    """The tool calls that are made for one call of the client.

    ``logged`` is what the server wrote to stderr about the latest run, where its own text says nothing.
    """

    middleware: RecoveryMiddleware
    context: _CallContext
    call_next: CallNext[_Params, ToolResult]
    arguments: Mapping[str, Any]
    sightings: Sightings = field(default_factory=Sightings)
    waits: int = 0
    logged: str = ""

    async def invoke(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool of the server; return what the core is to see of its answer."""
        context = self.context
        if name != context.message.name or arguments is not self.arguments:
            message = context.message.model_copy(update={"name": name, "arguments": dict(arguments)})
            context = context.copy(message=message)
        tail = self.middleware.stderr(name)
        if tail is None:
            return await self._run(context, None)
        with tail.watch() as watch:
            return await self._run(context, watch)

    async def _run(self, context: _CallContext, watch: StderrWatch | None) -> Any:
        try:
            raw = await self.call_next(context)
        except MCPError as error:
            if error.error.code in _REQUESTS:
                raise _Untouched(error=error) from None
            await self._explain(error, watch)
            raise
        except Exception as error:
            await self._explain(error, watch)
            raise
        if isinstance(raw, InputRequiredToolResult) or not isinstance(raw, ToolResult):
            raise _Untouched(raw)  # a question to the user, or a task: the answer is still to come
        self.logged = await _from_stderr(text_of(raw), watch) if raw.is_error else ""
        shown = with_texts(raw, [self.logged])
        self.sightings.note(shown, raw)
        return shown

    async def _explain(self, error: Exception, watch: StderrWatch | None) -> None:
        """Raise a likeness of an exception with what the server wrote to stderr, where its own text says nothing."""
        self.logged = await _from_stderr(str(error), watch)
        if self.logged:
            shown = RuntimeError(f"{error}: {self.logged}")
            self.sightings.note(shown, error)
            raise shown from error

    async def sleep(self, seconds: float) -> None:
        """Wait before another try, and say so: clients take progress as a sign of life."""
        self.waits += 1
        server = self.context.fastmcp_context
        if server is not None:
            with suppress(Exception):  # a client that is gone needs no progress, and its call ends by itself
                await server.report_progress(
                    self.waits, message=f"btm: waits {seconds:.1f} s, then tries again"
                )
        await asyncio.sleep(seconds)


async def _from_stderr(text: str, watch: StderrWatch | None) -> str:
    """Return the reason that stands on the server's stderr, where ``text`` has none."""
    if watch is None or not _SAYS_NOTHING.fullmatch(text[:300]):
        return ""
    for _ in range(_STDERR_TRIES):
        await asyncio.sleep(_STDERR_WAIT_S)  # the pipe of the answer may be faster than that of stderr
        reason = watch.reason()
        if reason:
            return reason
    return ""


class _Conversations:
    """Names the conversations of connections. A connection that was idle for long begins a new one."""

    def __init__(self, memory: ToolMemory, clock: Callable[[], float] = time.monotonic) -> None:
        self._memory = memory
        self._clock = clock
        self._latest: dict[str, tuple[str, float]] = {}

    def name(self, server: Context) -> str:
        """Return the conversation of a request."""
        key = self._connection(server)
        now = self._clock()
        name, at = self._latest.get(key, (key, now))
        if now - at > IDLE_S:
            self._memory.end(name)
            name = f"{key}@{now:.0f}"
        self._latest.pop(key, None)
        self._latest[key] = name, now
        if len(self._latest) > 2_000:
            forgotten, _ = self._latest.pop(next(iter(self._latest)))
            self._memory.end(forgotten)
        return name

    @staticmethod
    def _connection(server: Context) -> str:
        """A process on stdio has one client. Elsewhere the protocol of 2026 has no sessions: a trace may tell."""
        if server.transport == "stdio":
            return "mcp-stdio"
        request = server.request_context
        meta = dict(request.meta or {}) if request is not None else {}
        trace = str(meta.get("traceparent", "")).split("-")
        return f"mcp-{trace[1]}" if len(trace) == 4 else f"mcp-{server.session_id}"
