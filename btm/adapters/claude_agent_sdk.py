"""Claude Agent SDK: ``ClaudeAgentOptions(hooks=recovery_hooks(memory))``. Needs the extra ``claude-agent-sdk``.

The hooks are those of ``btm hook claude``: they tell the model what to do after a failure, and in guard mode deny what a
policy forbids. A hook cannot repeat a call, so act mode does no more than guard mode.
"""

from __future__ import annotations

import asyncio
from typing import Any

from btm.adapters.claude_code.events import AFTER, BEFORE, FAILED, answer
from btm.errors import MissingExtraError
from btm.memory import ToolMemory
from btm.support.failsafe import safely

try:
    from claude_agent_sdk import HookMatcher
except ModuleNotFoundError as error:
    raise MissingExtraError("claude-agent-sdk", "claude-agent-sdk", "btm for the Claude Agent SDK") from error


def recovery_hooks(memory: ToolMemory) -> dict[str, list[Any]]:
    """Return hooks for every tool call of a session; put your own beside them in the lists."""

    async def hook(event: Any, tool_use_id: str | None, _: Any) -> Any:
        told = {**event, "tool_use_id": event.get("tool_use_id") or tool_use_id}
        return await asyncio.to_thread(safely, answer, told, memory) or {}

    return {name: [HookMatcher(hooks=[hook])] for name in (BEFORE, AFTER, FAILED)}
