"""What the tests of the MCP proxy share: real client sessions through ``btm mcp``, and servers on this machine."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import fastmcp
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, TextContent

from btm import FallbackMap, ToolMemory
from btm.adapters.mcp import Proxy, Upstream

SERVER = Path(__file__).parent / "mcp_server.py"
MAP = """
version: 1
domain: shop
tools:
  get_order:
    effect: read
    fallbacks:
      - tool: list_orders
        coverage: full
        arguments: {user_id: "{{ known.user_id }}"}
        pick: "result | selectattr('order_id', 'eq', call.order_id) | first"
  list_orders: {effect: read}
  find_user: {effect: read}
"""


def direct(*command: str) -> StdioServerParameters:
    """The server itself."""
    return StdioServerParameters(command=sys.executable, args=list(command or [str(SERVER)]))


def proxied(folder: Path, *options: str, upstream: tuple[str, ...] = (sys.executable, str(SERVER))) -> Any:
    """The server behind ``btm mcp``, with a map and a database of its own."""
    (folder / "shop.yaml").write_text(MAP, encoding="utf-8")
    own = ("--map", str(folder / "shop.yaml"), "--db", str(folder / "mcp.db"), *options)
    behind = ("--", *upstream) if upstream else ()
    return StdioServerParameters(command=sys.executable, args=["-m", "btm", "mcp", *own, *behind])


@contextlib.asynccontextmanager
async def session(server: Any, mode: str = "legacy") -> AsyncIterator[Client]:
    async with Client(server, mode=mode) as client:
        yield client


@contextlib.asynccontextmanager
async def inside(
    url: str, mode: str = "advise", *, era: str = "legacy", map_text: str = MAP, **options: Any
) -> AsyncIterator[fastmcp.Client[Any]]:
    """A session with a proxy in this process, in front of a server on HTTP."""
    memory = ToolMemory.open(None, fallback_map=FallbackMap.from_text(map_text), mode=mode, **options)
    with memory:
        async with fastmcp.Client(Proxy(memory, [Upstream(url=url)]).server, mode=era) as client:
            yield client


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


@contextlib.contextmanager
def http_server(port: int = 0) -> Iterator[str]:
    """The server on streamable HTTP, reachable from this machine alone; it ends with the block."""
    port = port or _free_port()
    process = subprocess.Popen(
        [sys.executable, str(SERVER), str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert process.poll() is None, "the test's server did not start"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise AssertionError("the test's server does not answer")
