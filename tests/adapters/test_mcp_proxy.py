from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastmcp", reason="the MCP proxy needs the extra 'mcp'")

import fastmcp
from fastmcp.client.transports import StdioTransport
from mcp_kit import SERVER, direct, http_server, inside, proxied, session, texts

from btm import ToolMemory
from btm.adapters.mcp import Proxy, Upstream
from btm.adapters.mcp.proxy import Restarts
from btm.store.sql import SqlStore
from btm.testing import inactive

pytestmark = pytest.mark.xdist_group("mcp")

ERAS = ("legacy", "2026-07-28")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server() as address:
        yield address


def dumped(value: Any) -> str:
    return value.model_dump_json(by_alias=True)


def plainly(listed: Any) -> Any:
    """What is listed, without the display title and the tags that FastMCP gives to what has none."""
    found = listed.model_dump(by_alias=True, exclude={"meta": True, "ttl_ms": True, "cache_scope": True})
    items = next(value for key, value in found.items() if isinstance(value, list))
    return [{k: v for k, v in item.items() if k not in ("title", "_meta")} for item in items]


@pytest.mark.parametrize("era", ERAS)
async def test_when_nothing_fails_200_calls_give_what_direct_ones_give_to_the_byte(
    tmp_path: Path, era: str
) -> None:
    async with session(direct(), era) as one, session(proxied(tmp_path), era) as other:
        for number in range(200):
            call = (
                ("add", {"a": number, "b": 1}) if number % 2 else ("list_orders", {"user_id": f"u{number}"})
            )
            assert dumped(await other.call_tool(*call)) == dumped(await one.call_tool(*call))


@pytest.mark.parametrize("era", ERAS)
async def test_tools_resources_and_prompts_pass_untouched(url: str, era: str) -> None:
    async with session(url, era) as one, inside(url, era=era) as other:
        assert plainly(await other.list_tools_mcp()) == plainly(await one.list_tools())
        assert plainly(await other.list_resources_mcp()) == plainly(await one.list_resources())
        assert plainly(await other.list_prompts_mcp()) == plainly(await one.list_prompts())
        resource = "shop://terms"
        assert dumped(await other.read_resource_mcp(resource)) == dumped(await one.read_resource(resource))
        prompt = ("greet", {"name": "Ann"})
        assert dumped(await other.get_prompt_mcp(*prompt)) == dumped(await one.get_prompt(*prompt))


@pytest.mark.parametrize("era", ERAS)
async def test_a_failure_comes_back_as_it_was_with_the_context_as_one_more_block(url: str, era: str) -> None:
    async with inside(url, era=era) as client:
        result = await client.call_tool_mcp("get_order", {"order_id": "o1"})
    assert result.is_error
    own, context = texts(result)
    assert own == "Error executing tool get_order"
    assert context.startswith('<recovery tool="get_order" error="unknown" id="')


async def test_the_reason_that_a_server_keeps_to_itself_is_read_from_its_stderr(tmp_path: Path) -> None:
    async with session(proxied(tmp_path)) as client:
        instructions = client.session.initialize_result.instructions
        own, log, context = texts(await client.call_tool("get_order", {"order_id": "o1"}))
    assert instructions.startswith("A shop.\n\nAfter a tool failure")
    assert own == "Error executing tool get_order"
    mark = instructions.split('id="')[1][:6]
    assert context.startswith(
        f'<recovery tool="get_order" error="auth_error" id="{mark}">\nnext: switch to list_orders'
    )
    assert log.startswith("[tool layer: the server's log says")
    assert "401 Unauthorized" in log


async def test_observe_mode_and_the_off_switch_change_nothing(url: str) -> None:
    asked = (("get_order", {"order_id": "o1"}), ("nothing", {}), ("add", {"a": "x"}), ("forge", {}))
    async with session(url) as one, inside(url, "observe") as two, inside(url, "act") as three:
        for name, arguments in asked:
            direct_answer = await one.session.call_tool(name, arguments)
            if name != "nothing":  # of that FastMCP itself says that it is unknown, in words of its own
                assert dumped(await two.call_tool_mcp(name, arguments)) == dumped(direct_answer)
            with inactive():
                switched_off = await three.call_tool_mcp(name, arguments)
            assert dumped(switched_off) == dumped(await two.call_tool_mcp(name, arguments))


@pytest.mark.parametrize("era", ERAS)
async def test_act_mode_repeats_a_read_that_timed_out_and_says_so(url: str, era: str) -> None:
    said: list[str | None] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        said.append(message)

    async with inside(url, "act", era=era) as client:
        result = await client.call_tool_mcp("fetch_page", {"page": len(era)}, progress_handler=progress)
    assert not result.is_error
    assert result.structured_content == {"page": len(era)}
    assert texts(result)[-1] == "[tool layer: after a timeout, 2 retries]"
    assert any(message and message.startswith("btm: waits") for message in said)


@pytest.mark.parametrize("era", ERAS)
async def test_act_mode_serves_a_substitute_that_fits_the_called_tools_schema(url: str, era: str) -> None:
    # The protocol of 2026 has no sessions on HTTP: what belongs together is told by the trace.
    trace = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
    async with inside(url, "act", era=era) as client:
        await client.list_tools()
        await client.call_tool_mcp("find_user", {"email": "ann@example.com"}, meta=trace)
        result = await client.call_tool_mcp("get_order", {"order_id": "o1"}, meta=trace)
    assert not result.is_error
    assert result.structured_content == {"order_id": "o1", "status": "shipped"}
    assert texts(result)[-1].startswith("[tool layer: served by list_orders in place of get_order")


async def test_a_substitute_that_does_not_fit_is_given_as_text_in_a_result_that_no_client_checks(
    url: str,
) -> None:
    map_text = """
version: 1
domain: shop
tools:
  get_order: {effect: read, fallbacks: [{tool: list_orders, coverage: full, arguments: {user_id: u1}}]}
  list_orders: {effect: read}
"""
    async with inside(url, "act", map_text=map_text) as client:
        result = await client.call_tool_mcp("get_order", {"order_id": "o1"})
    assert result.is_error
    assert result.structured_content is None
    assert texts(result)[0].startswith("[tool layer: served by list_orders")
    assert "do not make the call again" in texts(result)[1]
    assert "shipped" in texts(result)[2]


async def test_guard_mode_refuses_to_repeat_a_write_that_may_have_happened(url: str) -> None:
    async with inside(url, "guard") as client:
        first = await client.call_tool_mcp("charge", {"order_id": "o1"})
        second = await client.call_tool_mcp("charge", {"order_id": "o1"})
    assert texts(first)[0] == "Error executing tool charge: Request timed out"
    assert second.is_error
    assert texts(second)[0].startswith('charge {"order_id":"o1"} was not run.')


async def test_a_tool_cannot_forge_a_note_of_ours(url: str) -> None:
    async with inside(url) as client:
        said = "\n".join(texts(await client.call_tool_mcp("forge", {})))
    assert said.count("<recovery") == 1
    assert said.count("</recovery>") == 1


async def test_progress_of_the_server_reaches_the_client(url: str) -> None:
    said: list[str | None] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        said.append(message)

    async with inside(url) as client:
        result = await client.call_tool_mcp("steps", {}, progress_handler=progress)
    assert texts(result) == ["done"]
    assert said == ["step 0", "step 1", "step 2"]


@pytest.mark.parametrize("era", ERAS)
async def test_each_of_several_calls_hears_of_its_own_progress(url: str, era: str) -> None:
    said: list[list[str | None]] = [[] for _ in range(4)]

    async def steps(client: Any, mine: list[str | None]) -> None:
        async def progress(done: float, total: float | None, message: str | None) -> None:
            mine.append(message)

        await client.call_tool_mcp("steps", {}, progress_handler=progress)

    async with inside(url, era=era) as client:
        await asyncio.gather(*(steps(client, mine) for mine in said))
    whole = ["step 0", "step 1", "step 2"]
    # The last may come with the result, when nobody listens any more: on each hop what is told runs beside the answer.
    assert all(mine in (whole, whole[:2]) for mine in said)


async def test_a_cancelled_call_is_cancelled_at_the_server_and_teaches_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with session(proxied(tmp_path)) as client:
        await client.call_tool("add", {"a": 1, "b": 2})
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await client.call_tool("forever", {"mark": str(mark)})
        for _ in range(100):
            if mark.exists():
                break
            await asyncio.sleep(0.1)
        assert mark.read_text() == "cancelled"
        assert texts(await client.call_tool("add", {"a": 1, "b": 2})) == ["3"]
    assert tools_learned(tmp_path) == {"add"}


def tools_learned(folder: Path) -> set[str]:
    store = SqlStore(folder / "mcp.db", now=0.0)
    try:
        return {row["tool"] for row in store.log("calls")}
    finally:
        store.close()


async def test_a_server_that_dies_in_a_call_gives_one_clear_error_and_is_started_again(
    tmp_path: Path,
) -> None:
    async with session(proxied(tmp_path)) as client:
        before = texts(await client.call_tool("process", {}))
        died = await client.call_tool("die", {"order_id": "o1"})
        after = texts(await client.call_tool("process", {}))
    assert died.is_error
    assert "onnection closed" in texts(died)[0]
    assert "out of memory" in texts(died)[1]
    assert 'error="unavailable"' in texts(died)[2]
    assert before != after


async def test_a_server_that_does_not_come_up_again_is_unavailable(tmp_path: Path) -> None:
    once = f"test -e {tmp_path}/once && exit 3; touch {tmp_path}/once; exec {sys.executable} {SERVER}"
    with ToolMemory.open(None) as memory:
        proxy = Proxy(memory, [Upstream(command=("sh", "-c", once))])
        async with fastmcp.Client(proxy.server, mode="legacy") as client:
            await client.call_tool_mcp("die", {"order_id": "o1"})
            said = [texts(await client.call_tool_mcp("add", {"a": 1, "b": 2})) for _ in range(2)]
    assert all('error="unavailable"' in context for _, context in said)


def test_a_server_that_ends_again_and_again_is_started_later_each_time() -> None:
    restarts = Restarts()
    assert [restarts.wait(0.0), restarts.wait(0.1)] == [0.0, 0.0]  # the first end is forgiven
    assert restarts.wait(0.6) == pytest.approx(0.5)
    assert restarts.wait(1.1) == 0.0
    assert restarts.wait(1.1) == pytest.approx(2.0)
    assert restarts.count == 3
    assert restarts.wait(1.1 + 61) == 0.0
    assert restarts.count == 1


async def test_eight_calls_at_once_get_their_own_answers(url: str) -> None:
    async with inside(url) as client:
        results = await asyncio.gather(
            *(client.call_tool_mcp("add", {"a": number, "b": 0}) for number in range(8)),
            client.call_tool_mcp("get_order", {"order_id": "o1"}),
        )
    assert [texts(result)[0] for result in results[:8]] == [str(number) for number in range(8)]
    assert results[8].is_error


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_on_http_is_served_the_same_way(tmp_path: Path, url: str, era: str) -> None:
    server = proxied(tmp_path, "--url", url, upstream=())
    async with session(url, era) as one, session(server, era) as other:
        for number in range(10):
            call = ("add", {"a": number, "b": 1})
            assert dumped(await other.call_tool(*call)) == dumped(await one.call_tool(*call))
        own, context = texts(await other.call_tool("charge", {"order_id": f"{era}-1"}))
    assert own == "Error executing tool charge: Request timed out"
    assert "may have gone through" in context


async def test_a_server_on_http_that_is_started_again_is_reached_again(tmp_path: Path) -> None:
    with http_server() as address:
        async with session(proxied(tmp_path, "--url", address, upstream=())) as client:
            assert texts(await client.call_tool("add", {"a": 1, "b": 2})) == ["3"]
            with http_server(int(address.split(":")[2].split("/")[0])):
                answers = [texts(await client.call_tool("add", {"a": 1, "b": 2})) for _ in range(2)]
    assert answers[-1] == ["3"]


async def test_a_substitute_may_live_on_another_server(tmp_path: Path) -> None:
    command = f"{sys.executable} {SERVER}"
    server = proxied(
        tmp_path, "--mode", "act", "--server", f"a={command}", "--server", f"b={command}", upstream=()
    )
    map_text = """
version: 1
domain: two
tools:
  a_get_order:
    effect: read
    fallbacks:
      - {tool: b_find_user, coverage: full, arguments: {email: "{{ call.order_id }}"}}
  b_find_user: {effect: read}
"""
    (tmp_path / "shop.yaml").write_text(map_text, encoding="utf-8")
    async with session(server) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        result = await client.call_tool("a_get_order", {"order_id": "o1"})
    assert {"a_get_order", "b_find_user"} <= names
    assert result.structured_content == {"user_id": "u1"}
    assert "served by b_find_user in place of a_get_order after an auth error" in texts(result)[-1]


async def test_a_fastmcp_client_reads_the_context_too(tmp_path: Path) -> None:
    server = proxied(tmp_path)
    async with fastmcp.Client(StdioTransport(server.command, server.args, keep_alive=False)) as client:
        result = await client.call_tool("get_order", {"order_id": "o1"}, raise_on_error=False)
        assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
    assert result.is_error
    assert "next: switch to list_orders" in result.content[-1].text
