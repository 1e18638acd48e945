"""A harness for verifiers that runs in the process and asks no model: it makes the gold calls, each again until it works."""

from __future__ import annotations

from typing import Any

import verifiers.v1 as vf
from verifiers.v1.harnesses.utils.mcp import mcp_client
from verifiers.v1.runtimes import ProgramResult

from btm.training.rollout import Stages

__all__ = ["GoldHarness"]

TRIES = 3  # a fourth equal call in a row costs reward


class GoldHarness(vf.Harness[vf.HarnessConfig]):
    """Plays a shop task over its tool server."""

    SUPPORTS_MCP = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: Any,
        **_: Any,
    ) -> ProgramResult:
        (url,) = mcp_urls.values()
        async with mcp_client({"url": url}) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            task = Stages(data.domain).tasks[data.task_id]
            assert listed >= {step.tool for step in task.steps}
            for step in task.steps:
                for _ in range(TRIES):
                    if not (await client.call_tool(step.tool, dict(step.arguments))).is_error:
                        break
        return ProgramResult(0, "", "")
