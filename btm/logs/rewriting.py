"""Logs whose records are no messages but tell what messages would: each is rewritten as the messages that it means.

==========================  ============================================================  =======================
product                     a call                                                        its answer
==========================  ============================================================  =======================
Agents for Amazon Bedrock   ``invocationInput`` of a trace, by its ``traceId``            ``observation``, ``failureTrace``
Cline, Roo (what is shown)  ``ask`` or ``say`` of a tool, command or MCP server           what is said next
LangGraph, several modes    ``["updates", {...}]``, ``["values", {...}]``, with a         (the same)
                            subgraph's path before it or without; ``[piece, metadata]``
==========================  ============================================================  =======================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from btm.logs import products
from btm.logs.shapes import unwrapped
from btm.logs.values import parsed_json, rows_in

Rewrite = Callable[[Any], Any]
NOTHING = {"type": "stream_event"}
"""What stands for a record that tells nothing of calls; it is passed over."""

_MODES = frozenset(("updates", "values", "messages", "custom", "debug", "tasks", "checkpoints"))
_LOOKED_AT = 20


def rewriter(records: Iterable[Any]) -> Callable[[], Rewrite] | None:
    """Return what makes the rewriting of a log that begins with these records; None where they are messages.

    Each that it makes has heard nothing yet: some answer a record by those before it.
    """
    seen = [*records][:_LOOKED_AT]
    modes = {mode for record in seen if (mode := _mode_of(record))}
    if modes and all(map(_mode_of, seen)):
        chosen = "values" if "values" in modes else "updates"
        return lambda: lambda record: record[-1] if _mode_of(record) == chosen else dict(NOTHING)
    if seen and all(map(_piece_of, seen)):
        return lambda: _of_pieces
    one = seen[0] if len(seen) == 1 and isinstance(seen[0], dict) else {}
    if isinstance(one.get("columns"), list) and rows_in(one):
        return lambda: lambda record: {"rows": rows_in(record)}
    if any(products.spoken(record) is not record for record in seen):
        return lambda: products.spoken
    if any(map(products.is_own_message, seen)):
        return lambda: products.Retold().read
    if any(_traced(record) or _completion(record) for record in seen):
        return lambda: _of_bedrock
    if seen and all(isinstance(r, dict) and "ts" in r and r.get("type") in ("say", "ask") for r in seen):
        return lambda: _Screen().read
    return None


def _mode_of(record: Any) -> str:
    if not isinstance(record, list) or not 2 <= len(record) <= 3 or not isinstance(record[-2], str):
        return ""
    path = len(record) == 2 or isinstance(record[0], list)
    return record[-2] if path and record[-2] in _MODES else ""


def _piece_of(record: Any) -> dict[str, Any] | None:
    """Return the message, or the piece of one, that LangGraph's mode ``messages`` gives with its metadata."""
    held = record[-1] if isinstance(record, list) and len(record) in (2, 3) else None
    pair = held if isinstance(held, list) else record
    if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(side, dict) for side in pair)):
        return None
    message: dict[str, Any] = unwrapped(pair[0])[0]
    return message if any(str(name).startswith("langgraph_") for name in pair[1]) else None


def _of_pieces(record: Any) -> Any:
    message: dict[str, Any] = _piece_of(record) or {**NOTHING}
    if "tool_call_chunks" not in message:
        return message
    calls = [
        {**chunk, "index": f"{message.get('id')}/{chunk.get('index')}",
         "function": {"name": chunk.get("name"), "arguments": chunk.get("args")}}
        for chunk in message["tool_call_chunks"] or ()
    ]  # fmt: skip
    return {"object": "chat.completion.chunk", "choices": [{"delta": {"tool_calls": calls}}]}


# ---- Agents for Amazon Bedrock: https://docs.aws.amazon.com/bedrock/latest/userguide/trace-events.html


def _completion(record: Any) -> list[Any] | None:
    """Return the events of a whole answer of ``InvokeAgent``."""
    events = record.get("completion") if isinstance(record, dict) else None
    return events if isinstance(events, list) and any(map(_traced, events)) else None


def _traced(record: Any) -> Mapping[str, Any] | None:
    """Return the trace of an event, whose members are named after its phases."""
    outer = record.get("trace") if isinstance(record, dict) else None
    inner = outer.get("trace", outer) if isinstance(outer, dict) else None
    return inner if isinstance(inner, dict) and any(name.endswith("Trace") for name in inner) else None


def _of_bedrock(record: Any) -> Any:
    events = _completion(record)
    if events is not None:
        return {"session_id": record.get("sessionId"), "messages": [_of_bedrock(event) for event in events]}
    trace = _traced(record)
    if trace is None:
        return dict(NOTHING)
    session = {"session_id": record["trace"].get("sessionId")}
    for name, phase in trace.items():
        if isinstance(phase, dict) and (message := _of_phase(name, phase)):
            return {**session, **message}
    return {**session, **NOTHING}


def _of_phase(name: str, phase: Mapping[str, Any]) -> dict[str, Any]:
    if name == "failureTrace":
        return products.answer(phase.get("traceId"), phase.get("failureReason"), failed=True)
    if isinstance(said := phase.get("rationale"), dict):
        return {"role": "assistant", "content": said.get("text")}
    if isinstance(asked := phase.get("invocationInput"), dict):
        for kind, given in asked.items():
            if kind.endswith("Input") and isinstance(given, dict):
                return products.call(asked.get("traceId"), _tool_of(kind, given), _arguments_of(given))
    if isinstance(seen := phase.get("observation"), dict):
        for kind, given in seen.items():
            if kind.endswith("Output") and isinstance(given, dict):
                answer = next((given[key] for key in _ANSWERS if key in given), given)
                failed = given.get("executionError") or given.get("executionTimeout")
                return products.answer(seen.get("traceId"), answer, failed)
        if isinstance(again := seen.get("repromptResponse"), dict):
            return products.answer(seen.get("traceId"), again.get("text"), failed=True)
    return {}


_ANSWERS = ("executionError", "text", "retrievedReferences", "executionOutput")


def _tool_of(kind: str, given: Mapping[str, Any]) -> str:
    named = next(
        (given[key] for key in ("function", "apiPath", "agentCollaboratorName") if given.get(key)), None
    )
    return str(named or kind.removesuffix("Input"))


def _arguments_of(given: Mapping[str, Any]) -> dict[str, Any]:
    listed = [*(given.get("parameters") or ())]
    for content in ((given.get("requestBody") or {}).get("content") or {}).values():
        listed += content if isinstance(content, list) else []
    found = {str(each.get("name")): each.get("value") for each in listed if isinstance(each, dict)}
    return found or {key: given[key] for key in ("text", "code", "input") if key in given}


# ---- what Cline and Roo show: `ui_messages.json`


_ASKED = ("tool", "use_mcp_server", "browser_action_launch", "browser_action")
_SEEN = ("command_output", "mcp_server_response", "error", "diff_error", "shell_integration_warning")
_NO_ARGUMENTS = ("tool", "content", "diff", "action")
_RESULT = "] Result:"


class _Screen:
    """Reads what was shown, in its order: an answer has no id, and some calls are shown twice."""

    def __init__(self) -> None:
        self._open: tuple[str, str] | None = None
        self._calls = 0

    def read(self, record: Any) -> Any:
        """Return the message that a line means."""
        if not isinstance(record, dict) or record.get("partial") is True:
            return dict(NOTHING)
        what, text = str(record.get(record.get("type", ""))), record.get("text") or ""
        at = {"timestamp": record.get("ts")}
        call = self._call_in(what, text)
        if call is not None:
            return {**at, **self._called(*call, text)}
        if what in _SEEN:
            return {**at, **self._answered(text, what in ("error", "diff_error"))}
        if what == "api_req_started" and self._open is not None:
            given = parsed_json(text)
            head, found, result = str(given.get("request") if isinstance(given, dict) else "").partition(
                _RESULT
            )
            if found and head.startswith("["):
                return {**at, **self._answered(result.strip())}
        who = {"text": "assistant", "task": "user", "user_feedback": "user", "completion_result": "assistant"}
        return {**at, "role": who[what], "content": text} if what in who else {**at, **NOTHING}

    @staticmethod
    def _call_in(what: str, text: str) -> tuple[str, Any] | None:
        given = parsed_json(text) if what in _ASKED else None
        if what == "command":
            return "execute_command", {"command": text}
        if not isinstance(given, dict):
            return None
        if what == "use_mcp_server":
            name = given.get("toolName") or "access_mcp_resource"
            return str(name), parsed_json(given.get("arguments")) or {"uri": given.get("uri")}
        told = {key: value for key, value in given.items() if key not in _NO_ARGUMENTS}
        return str(given.get("tool") or given.get("action") or what), told

    def _called(self, name: str, arguments: Any, text: str) -> dict[str, Any]:
        if self._open is not None and self._open[1] == text:
            return dict(NOTHING)  # asked first, then said
        self._calls += 1
        self._open = (f"shown-{self._calls}", text)
        return products.call(self._open[0], name, arguments)

    def _answered(self, text: str, failed: bool = False) -> dict[str, Any]:
        if self._open is None:
            return dict(NOTHING)
        own, self._open = self._open[0], None
        return products.answer(own, text, failed)
