"""Adapters whose framework cannot be run without a server or a program of its own: their parts, with the real package."""

from __future__ import annotations

from typing import Any

import pytest
from kit import learned, logged, memory_of


async def test_an_interceptor_of_mcp_tools_adds_the_context_to_the_result() -> None:
    interceptors = pytest.importorskip("langchain_mcp_adapters.interceptors")
    types = pytest.importorskip("mcp.types")
    from btm.adapters.langchain_mcp import recovering

    memory = memory_of("advise")
    failed = {"content": [{"type": "text", "text": "401 Unauthorized"}], "isError": True}

    async def handler(request: Any) -> Any:
        return types.CallToolResult.model_validate(failed)

    request = interceptors.MCPToolCallRequest("get_order", {"order_id": "o1"}, "shop")
    result = await recovering(memory)(request, handler)
    texts = [block.text for block in result.content]
    assert texts[0] == "401 Unauthorized"
    assert "next: switch to list_orders" in texts[1]
    assert logged(memory)[0][:2] == ("get_order", "auth_error")


async def test_an_interceptor_repeats_in_act_mode_and_leaves_a_good_answer_alone() -> None:
    interceptors = pytest.importorskip("langchain_mcp_adapters.interceptors")
    types = pytest.importorskip("mcp.types")
    from btm.adapters.langchain_mcp import recovering

    tries: list[str] = []
    good = types.CallToolResult.model_validate({"content": [{"type": "text", "text": "shipped"}]})

    async def handler(request: Any) -> Any:
        tries.append(request.name)
        if len(tries) == 1:
            raise TimeoutError("timed out")
        return good

    intercept = recovering(memory_of("act"))
    request = interceptors.MCPToolCallRequest("get_order", {"order_id": "o1"}, "shop")
    result = await intercept(request, handler)
    assert [block.text for block in result.content][-1] == "[tool layer: after a timeout, 1 retry]"
    assert await intercept(request.override(args={"order_id": "o2"}), handler) is good


async def test_the_hooks_of_the_claude_agent_sdk_tell_what_to_do_and_deny_what_is_forbidden() -> None:
    pytest.importorskip("claude_agent_sdk")
    from btm.adapters.claude_agent_sdk import recovery_hooks

    memory = memory_of("guard")
    hooks = {name: matchers[0].hooks[0] for name, matchers in recovery_hooks(memory).items()}
    charge = {"session_id": "s", "tool_name": "charge", "tool_input": {"order_id": "o1"}}
    before = {**charge, "hook_event_name": "PreToolUse"}
    assert await hooks["PreToolUse"](before, "t1", {"signal": None}) == {}
    failure = {**charge, "hook_event_name": "PostToolUseFailure", "error": "Request timed out"}
    told = await hooks["PostToolUseFailure"](failure, "t1", {"signal": None})
    assert "next: verify with get_charge" in told["hookSpecificOutput"]["additionalContext"]
    denied = await hooks["PreToolUse"](before, "t2", {"signal": None})
    assert denied["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert learned(memory) == []
