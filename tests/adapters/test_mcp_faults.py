"""The injector in front of an MCP server: ``btm inject --mcp``."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("fastmcp", reason="the MCP proxy needs the extra 'mcp'")

from mcp.client.stdio import StdioServerParameters
from mcp_kit import SERVER, direct, session, texts

from btm.cli.main import cli

pytestmark = pytest.mark.xdist_group("mcp")


def faulty(*options: str) -> Any:
    server = f"{sys.executable} {SERVER}"
    return StdioServerParameters(
        command=sys.executable, args=["-m", "btm", "inject", "--mcp", server, "--rate", "1", *options]
    )


async def test_without_faults_a_call_gives_what_a_direct_one_gives() -> None:
    calls = [("add", {"a": 1, "b": 2}), ("list_orders", {"user_id": "u"}), ("get_order", {"order_id": "o"})]
    async with session(direct()) as one, session(faulty("--tool", "none_such")) as other:
        for call in calls:
            assert await other.call_tool(*call) == await one.call_tool(*call)


async def test_an_error_is_injected_as_often_as_asked_and_then_the_call_works() -> None:
    async with session(faulty("--fault-kinds", "timeout", "--max-consecutive", "1")) as client:
        first = await client.call_tool("add", {"a": 1, "b": 2})
        second = await client.call_tool("add", {"a": 1, "b": 2})
    assert first.is_error
    assert "time" in texts(first)[0].lower()
    assert second.structured_content == {"result": 3}


async def test_the_first_calls_go_through_and_a_failing_one_takes_longer() -> None:
    options = ("--fault-kinds", "timeout", "--max-consecutive", "0", "--after-calls", "1", "--delay", "0.3")
    async with session(faulty(*options)) as client:
        first = await client.call_tool("add", {"a": 1, "b": 2})
        began = time.monotonic()
        second = await client.call_tool("add", {"a": 1, "b": 2})
    assert first.structured_content == {"result": 3}
    assert second.is_error
    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize("kind", ["partial_data", "factual_error"])
async def test_a_silent_fault_changes_the_answer_in_its_own_form(kind: str) -> None:
    async with session(faulty("--fault-kinds", kind, "--max-consecutive", "0")) as client:
        result = await client.call_tool("list_orders", {"user_id": "u1"})
    whole = [{"order_id": "o1", "status": "shipped"}, {"order_id": "o2", "status": "open"}]
    assert not result.is_error
    assert result.structured_content is not None
    shown = result.structured_content["result"]
    assert shown != whole
    assert json.loads(texts(result)[0]) == shown


async def test_btm_stands_in_front_of_it(tmp_path: Path) -> None:
    server = f"{sys.executable} {SERVER}"
    inner = [
        sys.executable,
        "-m",
        "btm",
        "inject",
        "--mcp",
        server,
        "--rate",
        "1",
        "--fault-kinds",
        "rate_limit",
    ]
    outer = ["-m", "btm", "mcp", "--mode", "advise", "--db", str(tmp_path / "a.db"), "--", *inner]
    async with session(StdioServerParameters(command=sys.executable, args=outer)) as client:
        result = await client.call_tool("add", {"a": 1, "b": 2})
    assert result.is_error
    assert 'error="rate_limit"' in texts(result)[-1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--mcp", "'open"), "cannot be read"),
        (("--mcp", ""), "names no command"),
        (("--mcp", "x", "--rate", "2"), "rate is a chance"),
        (("--mcp", "x", "--fault-kinds", "timeuot"), "did you mean 'timeout'"),
    ],
)
def test_wrong_usage_exits_2(options: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(cli, ["inject", *options])
    assert result.exit_code == 2
    assert said in result.output
