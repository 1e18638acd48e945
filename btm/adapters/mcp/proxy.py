"""The proxy: servers reached by a command or a URL on one side, one client on stdio on the other."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import math
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.client.transports import ClientTransport, StdioTransport, StreamableHttpTransport
from fastmcp.server.dependencies import get_context
from fastmcp.server.middleware import Middleware
from fastmcp.server.providers.proxy import FastMCPProxy, StatefulProxyClient, default_proxy_progress_handler
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from btm import __version__
from btm.adapters.mcp import stdio
from btm.adapters.mcp.middleware import RecoveryMiddleware
from btm.adapters.mcp.stderr import StderrTail, reason_in
from btm.memory import ToolMemory

LONGEST_PAUSE_S = 30.0
"""The longest that a server which ends again and again is left alone before it is started again, in seconds."""
FORGIVEN_S = 60.0
"""A server that was started longer ago than this, in seconds, is started again at once."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server behind the proxy: a ``command`` with its arguments, or a ``url`` (streamable HTTP) with ``headers``.

    ``name`` stands before the names of its tools where there are several servers.
    """

    name: str = ""
    command: tuple[str, ...] = ()
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class Proxy:
    """Serves the tools of ``upstreams`` through ``memory``; resources, prompts and all the rest pass as they are.

    ``between`` is one more middleware, next to the servers; without a memory there is nothing else.
    """

    def __init__(
        self, memory: ToolMemory | None, upstreams: Sequence[Upstream], between: Middleware | None = None
    ) -> None:
        if not upstreams:
            raise ValueError("a proxy needs a server: a command or a URL")
        self.memory = memory
        self._tails: dict[str, StderrTail] = {}
        self._processes: list[StdioTransport] = []
        served = [(upstream, self._served(upstream)) for upstream in upstreams]
        if len(served) == 1:
            self.server: FastMCP[Any] = served[0][1]
        else:
            self.server = FastMCP(name="btm", version=__version__)
            for upstream, server in served:
                self.server.mount(server, namespace=upstream.name)
        # Outermost, so that it sees the instructions of the server behind.
        if between is not None:
            self.server.middleware.insert(0, between)
        if memory is not None:
            self.server.middleware.insert(0, RecoveryMiddleware(memory, stderr=self._tail))

    def _served(self, upstream: Upstream) -> FastMCP[Any]:
        process: _Restarting | None = None
        if upstream.url:
            transport: ClientTransport = StreamableHttpTransport(upstream.url, dict(upstream.headers))
        else:
            tail = self._tails[upstream.name] = StderrTail()
            transport = process = _Restarting(upstream.command, tail)
            self._processes.append(process)
        return FastMCPProxy(
            client_factory=_sessions(StatefulProxyClient(transport), process),
            identity="upstream",
            name=upstream.name or "btm",
        )

    def _tail(self, tool: str) -> StderrTail | None:
        """Return the stderr of the server that a tool belongs to: the one with the longest name before the tool's."""
        if len(self._tails) == 1 and "" in self._tails:
            return self._tails[""]
        owners = [name for name in self._tails if tool.startswith(f"{name}_")]
        return self._tails[max(owners, key=len)] if owners else None

    async def run(self) -> None:
        """Serve one client on stdin and stdout until it closes them; the servers are stopped with it."""
        async with AsyncExitStack() as stack:
            for tail in self._tails.values():
                stack.callback(tail.close)
            for process in self._processes:
                stack.push_async_callback(process.close)
            await stdio.serve(self.server)


def _sessions(
    client: StatefulProxyClient[Any], process: _Restarting | None
) -> Callable[[], Awaitable[Client[Any]]]:
    """Return a factory of clients: one session at the server for each of ours, in the protocol that ours speaks."""
    ending = asyncio.Lock()

    async def factory() -> Client[Any]:
        made: Any = client.new_stateful()
        if process is not None and process.has_ended():
            async with ending:
                if process.has_ended():
                    await made.close()
        request = get_context().request_context
        version = request.protocol_version if request is not None else ""
        made.mode = version if version in MODERN_PROTOCOL_VERSIONS else "legacy"
        return _for_one_request(made)

    return factory


def _for_one_request(client: Client[Any]) -> Client[Any]:
    """Return a client of the same session that tells progress to the request under way now.

    FastMCP's own tells it to whichever began last: of calls at once the others would hear nothing.
    """
    mine: Any = copy.copy(client)
    here = contextvars.copy_context()

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        telling = default_proxy_progress_handler(progress, total, message)
        await asyncio.get_running_loop().create_task(telling, context=here)

    mine._progress_handler = tell
    made: Client[Any] = mine
    return made


class Restarts:
    """When a server that has ended may be started again: at once, and after that each time later than before."""

    def __init__(self) -> None:
        self.count = 0
        self._at = -math.inf

    def wait(self, now: float) -> float:
        """Return the seconds until the next start; 0: it is started now, and counted. ``now`` is in seconds."""
        if now - self._at > FORGIVEN_S:
            self.count = 0
        pause = min(2.0 ** (self.count - 2), LONGEST_PAUSE_S) if self.count > 1 else 0.0
        left = self._at + pause - now
        if left > 0:
            return left
        self.count += 1
        self._at = now
        return 0.0


class _Restarting(StdioTransport):
    """Starts a server, and again when it has ended. One that ends again and again is left alone for longer each time."""

    def __init__(self, command: Sequence[str], tail: StderrTail) -> None:
        super().__init__(command[0], list(command[1:]), env=dict(os.environ), log_file=tail.file)
        self._tail = tail
        self._restarts = Restarts()

    def has_ended(self) -> bool:
        """Whether a server that was started is there no more."""
        task = self._connect_task
        return task is not None and (task.done() or self._is_session_dead())

    async def connect(self, **options: Any) -> Any:
        """Connect, with the server started if need be, unless it has ended too often of late."""
        if self._connect_task is None or self.has_ended():
            wait = self._restarts.wait(time.monotonic())
            if wait > 0:
                said = reason_in(self._tail.since(0))
                raise ConnectionError(
                    f"the MCP server {self.command} is unavailable: it ended {self._restarts.count} times in a row"
                    f"{f' ({said})' if said else ''}; it is started again in {wait:.1f} s at the next call"
                )
        return await super().connect(**options)
