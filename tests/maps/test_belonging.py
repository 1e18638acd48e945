"""Whether a map is said not to be that of the tools that are called."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from click.testing import CliRunner
from core_kit import MAP, memory_of

from btm.cli.main import cli
from btm.fallback import FallbackMap
from btm.maps.belonging import doubts
from btm.model import ErrorKind, ToolCall

ORDERS = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  get_order: {effect: read, expect: {required: [order_id, status]}}
  list_orders: {effect: read}
""")


def test_a_map_of_these_tools_is_not_doubted() -> None:
    assert (
        doubts(ORDERS, {"get_order": 90, "get_weather": 10}, {("get_order", ErrorKind.PARTIAL_DATA): 30})
        == ()
    )
    assert doubts(FallbackMap.empty(), {"get_weather": 9}) == ()
    assert doubts(ORDERS, {}) == ()


def test_a_map_of_other_tools_is_named_with_the_nearest_tool() -> None:
    (doubt,) = doubts(ORDERS, {"mcp__shop__get_order": 5, "get_weather": 2})
    assert "is this the map of these tools?" in doubt
    assert "knows none of 2" in doubt
    assert "'mcp__shop__get_order' may be 'get_order'" in doubt


def test_a_map_that_finds_every_answer_wrong_is_doubted() -> None:
    (doubt,) = doubts(ORDERS, {"get_order": 120}, {("get_order", ErrorKind.PARTIAL_DATA): 120})
    assert doubt.startswith("partial_data in 120 of 120 answers of get_order")


def test_a_fit_with_the_wrong_map_says_so(tmp_path: Path) -> None:
    called = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    log = tmp_path / "log.json"
    log.write_text(json.dumps({"messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
    ]}))  # fmt: skip
    arguments = ["fit", str(log), "--map", "shop", "--dry-run"]
    shown = json.loads(CliRunner().invoke(cli, [*arguments, "--json"]).stdout)
    assert "knows none of 1" in shown["map_doubts"][0]
    assert "warning: is this the map of these tools?" in CliRunner().invoke(cli, arguments).output


def test_a_live_memory_says_once_that_the_map_is_of_other_tools(caplog: pytest.LogCaptureFixture) -> None:
    with memory_of(fallback_map=MAP) as memory, caplog.at_level(logging.WARNING, "btm"):
        for available in (["get_weather"], ["get_weather", "get_time"]):
            memory.call(ToolCall("get_weather"), lambda tool, arguments: "sunny", available=available)
    assert caplog.text.count("is this the map of these tools?") == 1
