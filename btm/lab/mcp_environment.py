"""Any MCP server as an environment, with tasks in a file: ``btm eval --mcp "python server.py" --tasks tasks.yaml``.

::

    version: 1
    server: python server.py            # unless --mcp names it
    map: shop.yaml                      # beside this file; optional
    reset: reset_all                    # a tool that puts everything back; without one the server is started anew
    writes: [cancel_order]              # where neither the server's annotations nor the map say so
    state:                              # what a task is judged by: what these reads answer at its end
      - {tool: list_orders, arguments: {user_id: u1}}
    tasks:
      - request: I am u1. Cancel my order o2, please.
        gold:
          - {tool: list_orders, arguments: {user_id: u1}}
          - {tool: cancel_order, arguments: {order_id: o2}}
        check: {tool: get_order, arguments: {order_id: o2}, holds: result.status == 'cancelled'}   # optional

The only module of the lab that imports ``fastmcp`` (the extra ``mcp``).
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import threading
import weakref
from collections.abc import Coroutine, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from btm.authored.expressions import compile_expression
from btm.authored.loading import load_authored, read_text
from btm.classify.frameworks import unwrapped
from btm.errors import EvaluationError, MissingExtraError
from btm.fallback import FallbackMap
from btm.lab.environment import ToolSpec
from btm.lab.gold import GoldEnvironment, GoldTask, Holder, map_beside, named_once
from btm.lab.jsonvalue import parsed
from btm.lab.loading import map_of
from btm.model import Effect
from btm.support.effects import guess_effect

_STARTS_S, _ANSWERS_S = 60.0, 60.0


class _TaskFilePart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _ToolUse(_TaskFilePart):
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class _EndCheck(_ToolUse):
    holds: str


class _TaskText(_TaskFilePart):
    request: str
    gold: tuple[_ToolUse, ...]
    name: str = ""
    facts: dict[str, Any] = Field(default_factory=dict)
    tell: tuple[Any, ...] = ()
    own: tuple[str, ...] = ("reason", "summary", "note")
    check: _EndCheck | None = None


class TaskFile(_TaskFilePart):
    """A file of tasks for a server."""

    version: int
    tasks: tuple[_TaskText, ...]
    state: tuple[_ToolUse, ...]
    server: str = ""
    map: str = ""
    reset: str = ""
    writes: tuple[str, ...] = ()


class ServerProcess:
    """A server on stdio, asked from synchronous code. Raises EvaluationError when it does not start or answer."""

    def __init__(self, command: str) -> None:
        try:
            kit, transports = import_module("fastmcp"), import_module("fastmcp.client.transports")
        except ImportError as missing:
            raise MissingExtraError("fastmcp", "mcp", "an MCP server as an environment") from missing
        words = shlex.split(command)
        if not words:
            raise EvaluationError("no server is named: give --mcp, or server: in the file of tasks")
        self._command = command
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        transport = transports.StdioTransport(
            command=words[0], args=words[1:], env=dict(os.environ), log_file=sys.__stderr__
        )
        self._client = kit.Client(transport, timeout=_ANSWERS_S)
        self._run(self._client.__aenter__(), _STARTS_S, "start")
        self._end = weakref.finalize(self, _close, self._loop, self._client)

    def _run(self, work: Coroutine[Any, Any, Any], within_s: float, what: str) -> Any:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(within_s)
        except Exception as problem:
            said = f"{type(problem).__name__}: {problem}"
            raise EvaluationError(f"the MCP server {self._command!r} did not {what}: {said}") from problem

    def tools(self) -> Sequence[Any]:
        """Return its tools as the protocol describes them."""
        found: Sequence[Any] = self._run(self._client.list_tools(), _ANSWERS_S, "list its tools")
        return found

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool. Raises RuntimeError with the tool's text where it answers an error."""
        asked = self._client.call_tool(tool, dict(arguments), raise_on_error=False)
        answer = self._run(asked, _ANSWERS_S, f"answer {tool}")
        text = "\n".join(getattr(part, "text", "") for part in answer.content)
        if answer.is_error:
            raise RuntimeError(text)
        content = answer.structured_content
        return unwrapped(content) if isinstance(content, Mapping) else parsed(text)

    def close(self) -> None:
        """End the server."""
        self._end()


def _close(loop: asyncio.AbstractEventLoop, client: Any) -> None:
    ended = asyncio.run_coroutine_threadsafe(client.__aexit__(None, None, None), loop)
    ended.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))


class McpEnvironment(GoldEnvironment):
    """A server's tools with the tasks of a file; ``name`` is ``FILE`` or ``FILE|COMMAND``."""

    def __init__(self, name: str) -> None:
        file, _, command = name.partition("|")
        self.domain = f"mcp:{name}"
        self._tasks = load_authored(read_text(Path(file)), file, TaskFile)
        self._command = command or self._tasks.server
        self.fallback_map = map_beside(file, self._tasks.map)
        self._idle: list[ServerProcess] = []

    @cached_property
    def tools(self) -> Mapping[str, ToolSpec]:  # type: ignore[override]
        """The server's tools, without the one that resets it."""
        known = map_of(self)
        server = self._server()
        found = {t.name: t for t in server.tools() if t.name != self._tasks.reset}
        self._idle.append(server)
        return {
            name: ToolSpec(
                name, tool.description or "", _schema(tool.input_schema), self._effect(tool, known)
            )
            for name, tool in found.items()
        }

    def _effect(self, tool: Any, known: FallbackMap) -> Effect:
        if tool.name in self._tasks.writes:
            return Effect.WRITE
        said = known.effect(tool.name)
        if said is not None:
            return said
        hint = getattr(tool.annotations, "read_only_hint", None)
        return guess_effect(tool.name) if hint is None else Effect.READ if hint else Effect.WRITE

    def _server(self) -> ServerProcess:
        """Return a server in its first state: one that can be reset and is idle, else a new one."""
        if self._tasks.reset and self._idle:
            server = self._idle.pop()
            server.call(self._tasks.reset, {})
            return server
        while self._idle:
            self._idle.pop().close()
        return ServerProcess(self._command)

    def gold(self) -> Mapping[str, GoldTask]:
        """Return the file's tasks by name."""
        found: list[tuple[str, GoldTask]] = []
        for number, task in enumerate(self._tasks.tasks, start=1):
            gold = [(use.tool, use.arguments) for use in task.gold]
            check = _asks(task.check) if task.check is not None else None
            made = GoldTask(task.request, gold, task.facts, task.tell, task.own, check)
            found.append((task.name or f"task-{number:02}", made))
        return named_once(found, self.domain)

    def hold(self, name: str) -> McpHolder:  # noqa: ARG002 - every task starts from the same state
        """Return a server in its first state; it is given back when nobody holds it any more."""
        server = self._server()
        holder = McpHolder(server, self._tasks.state)
        weakref.finalize(holder, self._idle.append, server)
        return holder


class McpHolder(Holder):
    """A server during one episode."""

    def __init__(self, server: ServerProcess, state: Sequence[_ToolUse]) -> None:
        self._server, self._state = server, state

    def invoke(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool of the server."""
        return self._server.call(tool, arguments)

    def state(self) -> Any:
        """Return what the reads that stand for the state answer."""
        found = []
        for use in self._state:
            try:
                found.append(self._server.call(use.tool, use.arguments))
            except RuntimeError as said:
                found.append(f"error: {said}")
        return found


def _asks(check: _EndCheck) -> Any:
    expression = compile_expression(check.holds)

    def ask(holder: McpHolder) -> bool:
        try:
            return bool(expression(result=holder.invoke(check.tool, check.arguments)))
        except RuntimeError:
            return False

    return ask


def _schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"properties": {}, "required": [], **schema}
