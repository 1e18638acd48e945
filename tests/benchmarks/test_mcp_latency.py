"""What the MCP proxy adds to a call: the official client on stdio, directly, through FastMCP's bare proxy, and through btm.

The three take turns, so that what else the machine does is spread over all of them. Times are of the wall: they cross three
processes.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastmcp", reason="the MCP proxy needs the extra 'mcp'")

from mcp import Client
from mcp.client.stdio import StdioServerParameters

SERVER = Path(__file__).parents[1] / "adapters/mcp_server.py"
ADDED_MS = 1.0
"""The most that btm may add to the median of what FastMCP's proxy costs."""
CALLS = 300

BARE = f"""
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy
create_proxy(StdioTransport({sys.executable!r}, [{str(SERVER)!r}])).run("stdio", show_banner=False)
"""


async def timed(client: Any, number: int) -> float:
    begun = time.perf_counter()
    result = await client.call_tool("add", {"a": number, "b": 1})
    taken = (time.perf_counter() - begun) * 1_000
    assert not result.is_error
    return taken


async def test_btm_adds_little_to_what_a_proxy_costs(tmp_path: Path) -> None:
    database = str(tmp_path / "mcp.db")
    commands = {
        "direct": [str(SERVER)],
        "bare proxy": ["-c", BARE],
        "btm": ["-m", "btm", "mcp", "--mode", "advise", "--db", database, "--", sys.executable, str(SERVER)],
    }
    servers = {
        name: StdioServerParameters(command=sys.executable, args=args) for name, args in commands.items()
    }
    taken: dict[str, list[float]] = {name: [] for name in servers}
    async with (
        Client(servers["direct"], mode="legacy") as direct,
        Client(servers["bare proxy"], mode="legacy") as bare,
        Client(servers["btm"], mode="legacy") as btm,
    ):
        clients = {"direct": direct, "bare proxy": bare, "btm": btm}
        for client in clients.values():
            for number in range(20):
                await timed(client, number)
        for number in range(CALLS):
            for name, client in clients.items():
                taken[name].append(await timed(client, number))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    said = ", ".join(f"{name} {ms:.2f} ms" for name, ms in medians.items())
    print(f"{said}: btm adds {medians['btm'] - medians['direct']:.2f} ms to a direct call")
    assert medians["btm"] - medians["bare proxy"] < ADDED_MS
