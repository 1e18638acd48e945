"""Steps: one record that holds what was done and what was seen, as agents that keep no messages log it.

==================  =====================================================  ==============================================
product             what was done                                          what was seen
==================  =====================================================  ==============================================
SWE-agent           ``action``, a command                                  ``observation``
loops of ReAct      ``action`` with ``action_input``                       ``observation``, there or in a record of ``tool``
OpenHands           ``action`` with ``args``; its ``id``                   ``observation`` with ``content``; its ``cause``
smolagents          ``tool_calls``, or those of ``model_output_message``   ``observations``, ``error``
LangChain, n8n      ``action``: ``tool``, ``tool_input``                   ``observation``
AutoGPT             ``action.use_tool``                                    ``result``
browser-use         ``model_output.action``: ``{name: arguments}``         ``result``, one for each
Assistants          ``step_details.tool_calls``                            ``function.output``, ``last_error``
Antigravity         ``tool_calls`` of a ``step_index``                     the steps that follow
Copilot Chat        ``toolCallRounds``, ``toolInvocationSerialized``       ``toolCallResults`` by id, ``resultDetails``
==================  =====================================================  ==============================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from typing import Any

from btm.logs.answers import answer_of, ended_badly, failed
from btm.logs.conversation import NO_RESULT
from btm.logs.turns import Turns
from btm.logs.values import arguments_of, content_of, number_of, parsed_text, time_of
from btm.logs.words import ARGUMENTS, NAME, RESULT, fields, first

_NO_CALLS = frozenset(
    ("message", "system", "think", "finish", "recall", "change_agent_state", "condensation", "agent_state_changed", "null",
     "final_answer", "done", "exit_forfeit", "submit")
)  # fmt: skip
_OBSERVED = ("observation", "result", "output", "response")
_NAMES = (*NAME, "usetool")
_Step = Mapping[str, Any]


def is_step(found: _Step) -> bool:
    """Whether these are the fields of a step."""
    return _reader_of(found) is not None


def read(turns: Turns, found: _Step, at: float | None) -> None:
    """Read one step."""
    if (reader := _reader_of(found)) is not None:
        reader(turns, found, at)


def _reader_of(found: _Step) -> Callable[[Turns, _Step, float | None], None] | None:
    action, seen = found.get("action"), found.get("observation")
    if type(action) is str and "actioninput" in found:
        return _action
    if seen is not None and type(found.get("tool")) is str and not _holds(found, ARGUMENTS):
        return _observed
    if type(action) is str and type(seen) is str:
        return _action
    if type(action) is str and type(found.get("args")) is dict and found.get("type") is None:
        return _event
    if type(seen) is str and "content" in found and ("cause" in found or "extras" in found):
        return _seen
    if type(action) is dict and _holds(found, ("observation", "result")) and _holds(fields(action), _NAMES):
        return _action
    if "stepindex" in found and "source" in found and type(found.get("type")) is str:
        return _numbered
    if ("stepnumber" in found and "toolresults" not in found) or found.keys() == {"task", "taskimages"}:
        return _smolagents
    if type(output := found.get("modeloutput")) is dict and type(output.get("action")) is list:
        return _browser
    if type(details := found.get("stepdetails")) is dict and "type" in details:
        return _run_step
    result = found.get("result")
    metadata = result.get("metadata") if type(result) is dict else None
    if _invoked(found) and not (type(metadata) is dict and metadata.get("toolCallRounds")):
        return _invocations
    return _rounds if type(metadata) is dict and type(metadata.get("toolCallRounds")) is list else None


def _holds(found: _Step, names: tuple[str, ...]) -> bool:
    return any(name in found for name in names)


_Done = tuple[Any, Any, Any, Mapping[str, Any] | None]
"""A call's name, arguments and id, and the fields that say what came of it, if any do."""


def _take(
    turns: Turns, said: object, done: Iterable[_Done], where: tuple[str, ...], at: float | None
) -> None:
    """Take in what was said and done in one turn; ``where`` lie the results."""
    turns.turn()
    if type(said) is str and said:
        turns.said(said)
    made = [
        (turns.call(name, arguments_of(given), own, at), seen)
        for name, given, own, seen in done
        if type(name) is str and name and name not in _NO_CALLS
    ]
    for slot, seen in made:
        value, is_error, error_type = (NO_RESULT, None, None) if seen is None else answer_of(seen, where)
        if value is not NO_RESULT or is_error is not None:
            turns.result(slot[0].call_id, value, is_error, error_type)


def _objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list: an odd piece of a step is passed over, and the others are read."""
    return [item for item in value if type(item) is dict] if isinstance(value, list | tuple) else []


def _made(call: Mapping[str, Any], seen: _Step | None) -> _Done:
    own = call["function"] if type(call.get("function")) is dict else call
    return own.get("name"), own.get("arguments"), call.get("id"), seen


def _action(turns: Turns, found: _Step, at: float | None) -> None:
    """Read a step of one action: an object that names a tool, a tool beside what it is given, or a command."""
    action, said = found["action"], found.get("thought")
    done: list[_Done] = []
    if type(action) is dict:
        outer = fields(action)
        used = outer.get("usetool")
        inner = fields(used) if type(used) is dict else outer
        name = used if type(used) is str else first(inner, NAME)
        pending = "result" in found and first(found, _OBSERVED) is None and failed(found)[0] is None
        done = [(name, first(inner, ARGUMENTS), inner.get("toolcallid"), None if pending else found)]
        said = inner.get("log")
    elif "actioninput" in found:
        done = [(action, found["actioninput"], None, found if _holds(found, _OBSERVED) else None)]
    else:
        said = said or found.get("response")
        named = action.strip().partition(" ")[0].strip()
        if named and named not in _NO_CALLS:
            done = [("bash", {"command": action.strip()}, None, found)]
    _take(turns, said, done, _OBSERVED, at)


def _observed(turns: Turns, found: _Step, at: float | None) -> None:  # noqa: ARG001 - the readers are alike
    value, is_error, error_type = answer_of(found, ("observation",))
    turns.result(None, value, is_error, error_type, tool=found["tool"])


def _event(turns: Turns, found: _Step, at: float | None) -> None:
    if found["action"] == "message" and found.get("source") == "user":
        turns.asked(str(found["args"].get("content") or ""))
    if found["action"] in _NO_CALLS:
        return
    turns.turn()
    given = dict(found["args"])
    if type(thought := given.pop("thought", None)) is str and thought:
        turns.said(thought)
    if given.keys() == {"name", "arguments"} and isinstance(
        given["arguments"], dict
    ):  # an MCP server's tool's
        given = given["arguments"]
    named = found.get("toolcallmetadata")
    name = named.get("function_name") if type(named) is dict else None
    turns.call(name or found["action"], given, f"event-{found.get('id')}", at)


def _seen(turns: Turns, found: _Step, at: float | None) -> None:  # noqa: ARG001 - the readers are alike
    call_id = f"event-{found.get('cause')}"
    if turns.awaits(call_id):
        is_error = True if found["observation"] == "error" or ended_badly(found) else None
        turns.result(call_id, content_of(found["content"]), is_error)


def _numbered(turns: Turns, found: _Step, at: float | None) -> None:
    """Read a step of Antigravity: calls have no ids, and what follows them are their answers, in order."""
    said = found.get("content")
    if found.get("toolcalls"):
        turns.turn()
        if type(said) is str and said and found["source"] == "MODEL":
            turns.said(said)
        for call in _objects(found["toolcalls"]):
            given = arguments_of(first(fields(call), ARGUMENTS))
            plainly = {name: parsed_text(v) if type(v) is str else v for name, v in given.items()}
            turns.call(call["name"], plainly, call.get("id"), at)
    elif found["type"] == "USER_INPUT" and type(said) is str:
        turns.asked(said)
    elif found["source"] == "MODEL" and found["type"] not in _SAYINGS and turns.expects():
        lost = True if found.get("status") == "ERROR" or found.get("error") else None
        turns.result(None, said or found.get("error") or "", lost)


_SAYINGS = ("PLANNER_RESPONSE", "TEXT_RESPONSE", "THINKING", "FINISH")


def _smolagents(turns: Turns, found: _Step, at: float | None) -> None:
    if type(task := found.get("task")) is str:
        turns.asked(task)
        return
    timing, said = found.get("timing"), found.get("modeloutputmessage")
    at = number_of(timing.get("start_time")) if type(timing) is dict else at
    said = said if type(said) is dict else {}
    asked = found.get("toolcalls") or said.get("tool_calls") or ()
    seen = {name: found[name] for name in ("error", "observations") if found.get(name) is not None}
    if seen.get("error"):
        seen.pop("observations", None)
    done = [_made(call, seen or None) for call in _objects(asked)]
    _take(turns, content_of(said.get("content") or found.get("modeloutput")), done, ("observations",), at)


def _browser(turns: Turns, found: _Step, at: float | None) -> None:
    output, metadata = found["modeloutput"], found.get("metadata")
    at = time_of(metadata.get("step_start_time")) if type(metadata) is dict else at
    state = output.get("current_state")
    goal = (state if type(state) is dict else output).get("next_goal")
    made = [pair for action in _objects(output["action"]) for pair in action.items() if pair[1] is not None]
    # After the first action that fails, the others are not carried out.
    seen = [{"extractedcontent": "", **fields(result)} for result in _objects(found.get("result"))]
    done = [(name, given, None, came) for (name, given), came in zip_longest(made, seen[: len(made)])]
    _take(turns, goal, done, ("extractedcontent",), at)


def _run_step(turns: Turns, found: _Step, at: float | None) -> None:
    lost = {"error": found["lasterror"]} if found.get("lasterror") else None
    done = [
        _made(call, lost if own.get("output") is None else {"output": own["output"]})
        for call in _objects(found["stepdetails"].get("tool_calls"))
        if type(own := call.get("function")) is dict  # the others are the provider's own tools
    ]
    _take(turns, None, done, RESULT, at)


def _invoked(found: _Step) -> list[Any]:
    said = found.get("response")
    parts = said if type(said) is list and "requestid" in found else ()
    return [p for p in parts if type(p) is dict and p.get("kind") == "toolInvocationSerialized"]


def _invocations(turns: Turns, found: _Step, at: float | None) -> None:
    for one in _invoked(found):
        details = one.get("resultDetails")
        details = details if type(details) is dict else {}
        seen = fields(details) if "output" in details else None
        _take(turns, None, [(one["toolId"], details.get("input"), one.get("toolCallId"), seen)], RESULT, at)


def _rounds(turns: Turns, found: _Step, at: float | None) -> None:
    metadata, message = found["result"]["metadata"], found.get("message")
    if type(message) is dict and type(message.get("text")) is str:
        turns.asked(message["text"])
    results = metadata.get("toolCallResults") or {}
    for one in _objects(metadata["toolCallRounds"]):
        calls = _objects(one.get("toolCalls"))
        done = [_made(c, fields(results[c["id"]]) if c.get("id") in results else None) for c in calls]
        _take(turns, one.get("response"), done, RESULT, at)
