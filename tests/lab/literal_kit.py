"""An agent that does exactly what ``next:`` says, and the faults of tools that it meets. Simulated: no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from btm.lab.instruction import about, instructions
from btm.memory import ToolMemory
from btm.model import Action, ToolCall
from btm.runtime.drivers import Handled

TRANSIENT: list[Callable[[], Any]] = [
    lambda: TimeoutError("Read timed out."),
    lambda: ConnectionError("Connection refused"),
    lambda: {"error": {"code": 503, "message": "Service Unavailable"}},
    lambda: "Error: 429 Too Many Requests. Retry after 2 s",
    lambda: RuntimeError("502 Bad Gateway"),
    lambda: "<html><head><title>504 Gateway Time-out</title></head></html>",
    lambda: {"error": {"type": "overloaded_error", "message": "Overloaded"}},
    lambda: {"isError": True, "content": [{"type": "text", "text": "Request timed out"}]},
    lambda: RuntimeError("database is locked"),
    lambda: RuntimeError("something went wrong"),
]
PERMANENT: list[Callable[[], Any]] = [
    lambda: PermissionError("403 Forbidden: this key may not do that"),
    lambda: {"error": "401 Unauthorized: the token was revoked"},
    lambda: RuntimeError("monthly quota exhausted"),
    lambda: NotImplementedError("this endpoint was removed in v3"),
    lambda: ConnectionError("Connection refused"),
    lambda: {"status": "error", "message": "Service is down for maintenance"},
    lambda: RuntimeError("permission denied for table patients"),
    lambda: {"ok": False, "error": "account_suspended"},
    lambda: RuntimeError("certificate verify failed: certificate has expired"),
    lambda: RuntimeError("boom"),
]
LOST: list[Callable[[], Any]] = [
    lambda: TimeoutError("Read timed out."),
    lambda: ConnectionResetError("Connection reset by peer"),
    lambda: "<html><head><title>502 Bad Gateway</title></head></html>",
    lambda: {"error": "gateway timeout"},
    lambda: '{"booking_id": "b1", "pat',
    lambda: RuntimeError("socket hang up"),
]


def gives(made: Any) -> Any:
    if isinstance(made, BaseException):
        raise made
    return made


class Literal:
    """Makes the calls of its task, and does what ``next:`` says."""

    def __init__(self, memory: ToolMemory, world: Callable[[str, Mapping[str, Any]], Any], name: str) -> None:
        self.memory, self.world, self.name = memory, world, name
        self.number = 0
        self.over = ""

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> Handled:
        self.number += 1
        call = ToolCall(tool, dict(arguments), self.memory.effect_of(tool), self.name, f"c{self.number}")
        return self.memory.call(call, self.world)

    def do(self, tool: str, **arguments: Any) -> Any:
        """Return what a step of the task gave in the end; ``over`` is set when there is no going on."""
        wish = (tool, arguments)
        handled = self._call(*wish)
        verified = False
        for _ in range(25):
            if handled.context is None:
                if verified and handled.outcome.ok:
                    return handled.result
                return handled.result if handled.error is None else self._end("error")
            text = handled.context.text
            said = next(iter(instructions(text)), None)
            if said is None:
                return handled.result
            earlier = about(text)
            if earlier is not None:
                wish = (earlier[0], dict(earlier[1]))
            match said.action:
                case Action.ESCALATE:
                    self._call(said.tool, {"summary": "help"})
                    return self._end("escalated")
                case Action.ABANDON | Action.REVISE:
                    return self._end("told")
                case Action.REPAIR:
                    self._call(said.tool, said.arguments or {})
                    handled = self._call(*wish)
                case Action.VERIFY:
                    verified = True
                    handled = self._call(said.tool, said.arguments or {})
                case _:
                    handled = self._call(said.tool, said.arguments or {})
        return self._end("loop")

    def _end(self, how: str) -> None:
        self.over = how
