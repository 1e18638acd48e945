"""Arms as people build them without btm: a retry library, a static fallback chain, a circuit breaker, reflect and retry.

None knows what an error means: they act on exceptions, and on nothing that a tool returns. All keep to the simulated clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from btm.lab.agent import Call, ToolResponse
from btm.lab.desk import Desk, error_text
from btm.lab.forgetful import Forgetful
from btm.model import ToolCall
from btm.runtime.known_values import Facts

TRIES = 3
LONGEST_S = 10.0
OPENS_AFTER = 5
RESET_S = 60.0


class Tenacity(Forgetful):
    """The library of that name: three tries, exponential waits, whatever was raised."""

    def calls(self, desk: Desk) -> Call:
        import tenacity  # noqa: PLC0415 - only this arm needs it

        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(TRIES),
            wait=tenacity.wait_exponential(max=LONGEST_S),
            retry=tenacity.retry_if_exception_type(Exception),
            sleep=desk.clock.sleep,
            reraise=True,
        )

        def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
            try:
                return ToolResponse(retrying.copy()(desk.call, tool, arguments))
            except Exception as error:  # noqa: BLE001 - tools raise what they like; the agent sees the text
                return ToolResponse(error_text(error), is_error=True)

        return call


class Chain(Forgetful):
    """A static chain, as LangChain's ``with_fallbacks``: on an exception the map's first substitute, and no more."""

    def calls(self, desk: Desk) -> Call:
        seen = Facts()

        def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
            try:
                result = desk.call(tool, arguments)
            except Exception as error:  # noqa: BLE001 - as above
                return self._instead(desk, seen, tool, arguments) or ToolResponse(
                    error_text(error), is_error=True
                )
            seen.note(tool, arguments, result)
            return ToolResponse(result)

        return call

    def _instead(
        self, desk: Desk, seen: Facts, tool: str, arguments: Mapping[str, Any]
    ) -> ToolResponse | None:
        asked = ToolCall(tool, dict(arguments), desk.environment.tools[tool].effect)
        known = {**desk.setup.task.facts, **seen.known}
        ways = desk.fallback_map.candidates(asked, None, known)
        if not ways or not ways[0].complete or ways[0].via:
            return None
        step = ways[0]
        try:
            result = desk.call(step.tool, step.arguments or {})
        except Exception as error:  # noqa: BLE001 - as above
            return ToolResponse(error_text(error), is_error=True)
        seen.note(step.tool, step.arguments or {}, result)
        picked = desk.fallback_map.pick_all(asked, step, [result])
        return None if picked is None else ToolResponse(picked, served_by=step.tool)


class PlainBreaker(Forgetful):
    """Three tries a second apart through a breaker a tool: open after five failures in a row, one try after a minute."""

    def calls(self, desk: Desk) -> Call:
        failed: Counter[str] = Counter()
        opened: dict[str, float] = {}

        def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
            said = ""
            for attempt in range(TRIES):
                if tool in opened and desk.clock.time() - opened[tool] < RESET_S:
                    return ToolResponse(
                        said or f"CircuitBreakerError: {tool} is not called for now", is_error=True
                    )
                if attempt:
                    desk.clock.sleep(1.0)
                try:
                    result = desk.call(tool, arguments)
                except Exception as error:  # noqa: BLE001 - as above
                    said = error_text(error)
                    failed[tool] += 1
                    if failed[tool] >= OPENS_AFTER:
                        opened[tool] = desk.clock.time()
                else:
                    failed[tool] = 0
                    opened.pop(tool, None)
                    return ToolResponse(result)
            return ToolResponse(said, is_error=True)

        return call
