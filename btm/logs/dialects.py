"""Calls and answers that stand in the text of messages, as models without a tool interface write them.

===============  ==============================================  ==========================================
dialect          a call                                          its answer, in a later message
===============  ==============================================  ==========================================
Hermes, Qwen     ``<tool_call>{"name", "arguments"}</tool_call>``  ``<tool_response>...</tool_response>``
Llama, Qwen      ``<function=NAME>...</function>``                the same, or a message of role tool
Claude's XML     ``<invoke name="NAME">``                        ``<function_results>...``
Cline, Roo       ``<NAME><parameter>...</parameter></NAME>``      ``[NAME for '...'] Result:``
OpenHands        ``<function=NAME>...</function>``                ``EXECUTION RESULT of [NAME]:``
Open WebUI       ``<details type="tool_calls" name arguments>``  its ``result``
many a loop      ``{"tool_name": ..., "arguments": {...}}``, alone  ``Result: ...``
ReAct, CrewAI    ``Action: NAME``, ``Action Input: {...}``        ``Observation: ...``
ReAct, web       ``Action 1: NAME[...]``, as agents of the web do  ``Observation 1: ...``
mini-SWE-agent   a fenced block of bash                          ``<returncode>``, ``<output>``
===============  ==============================================  ==========================================
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from btm.logs.turns import Turns
from btm.logs.values import arguments_of, parsed_json, parsed_text
from btm.logs.words import ARGUMENTS, NAME, fields, first

_MARK = re.compile(
    r"<(?:details |tool_call|function_call|function=|invoke |\w+>\s*<\w)|Action Input:|^Action(?: \d+)?:.*\]"
    r"|```(?:bash|mswea_bash_command)\n",
    re.MULTILINE,
)
_JSON_CALL = re.compile(r"<(tool_call|function_call)>\s*(\{.*?\})\s*(?:</\1>|\Z)", re.DOTALL)
_NAMED_CALL = re.compile(
    r"<(?:function=|invoke name=)\"?([\w.:-]+)\"?>(.*?)(?:</function>|</invoke>|\Z)", re.DOTALL
)
_PARAMETER = re.compile(r"<parameter(?:=| name=)\"?([\w.-]+)\"?>\n?(.*?)\n?</parameter>", re.DOTALL)
_ELEMENT = re.compile(r"<([a-z][a-z_]+)>\s*((?:<([a-z_]+)>.*?</\3>\s*)+)</\1>", re.DOTALL)
_CHILD = re.compile(r"<([a-z_]+)>(.*?)</\1>", re.DOTALL)
_REACT = re.compile(
    r"^Action:\s*([^\n(\[\]<>]+?)\s*\n+Action Input:\s*(.*?)(?=\n+(?:Observation|Thought|Final Answer)\s*:|\Z)",
    re.DOTALL | re.MULTILINE,
)
_BRACKET = re.compile(r"^Action(?: \d+)?:\s*([A-Za-z][\w ]{0,40}?)\s*\[(.*)\]\s*$", re.MULTILINE)
_OBSERVED = re.compile(
    r"^Observation(?: \d+)?:\s*(.*?)(?=\n+(?:Thought|Action|Final Answer)(?: \d+)?\s*:|\Z)",
    re.DOTALL | re.MULTILINE,
)
_ALONE = re.compile(r"\s*(?:```(?:json)?\s*)?(\{.*\})\s*(?:```\s*)?\Z", re.DOTALL)
_SHELL = re.compile(r"```(?:bash|mswea_bash_command)\n(.*?)\n```", re.DOTALL)

_DETAILS = re.compile(r'<details type="tool_calls"((?:\s+[\w-]+="[^"]*")*)\s*>')
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')

_RESPONSE = re.compile(
    r"<(tool_response|function_results|function_result|tool_result)>\s*(.*?)\s*</\1>", re.DOTALL
)
_RESULT = re.compile(
    r"^(?:(?:Tool )?(?:[Rr]esult|[Oo]utput|[Rr]esponse):|\[(?:\w+)[^\]\n]*\] Result:|EXECUTION RESULT of \[\w+\]:)\s*(.*)",
    re.DOTALL,
)
_ERROR = re.compile(r"<error>\s*(.*?)\s*</error>", re.DOTALL)
_SURROUNDINGS = re.compile(r"\s*<environment_details>.*?(?:</environment_details>|\Z)\s*", re.DOTALL)
_RETURNED = re.compile(r"<returncode>\s*(-?\d+)\s*</returncode>(.*)", re.DOTALL)
_OUTPUT = re.compile(r"<output>\n?(.*?)\n?</output>", re.DOTALL)

_NO_TOOLS = frozenset(
    ("thinking", "answer", "finish", "attempt_completion", "ask_followup_question", "plan_mode_respond", "task",
     "final_answer")
)  # fmt: skip


def heard(turns: Turns, who: str, text: str) -> None:
    """Take in what was said: the calls of an assistant's text, the answers in anybody else's."""
    if who == "assistant":
        turns.said(text)
        if ("<" in text or "Action" in text or "```" in text) and _MARK.search(text):
            _calls(turns, text)
        elif "{" in text and (alone := _ALONE.match(text)) is not None:
            _alone(turns, parsed_json(alone[1]))
    elif turns.waiting and answers(turns, text):
        return
    elif who == "user":
        turns.asked(text)


def _alone(turns: Turns, given: Any) -> None:
    """Take a text that is an object and nothing else for a call, if it names a tool and what that is given."""
    found = fields(given) if isinstance(given, dict) else {}
    arguments = first(found, (*ARGUMENTS, "parameters"))
    if isinstance(name := first(found, NAME), str) and name and arguments is not None:
        turns.guessed.append(turns.call(name, arguments_of(arguments), None))
        turns.waiting = True


def _calls(turns: Turns, text: str) -> None:
    for sure, (name, arguments) in _calls_in(text):
        slot = turns.call(name, arguments, None)
        if not sure:
            turns.guessed.append(slot)
        turns.waiting = True
    for found in _OBSERVED.finditer(text) if turns.waiting else ():
        turns.result(None, found[1])
    for found in _DETAILS.finditer(text):
        given = dict(_ATTRIBUTE.findall(found[1]))
        if "result" in given:
            turns.result(None, parsed_text(html.unescape(given["result"])), tool=given.get("name"))


def _calls_in(text: str) -> Iterator[tuple[bool, tuple[str, dict[str, Any]]]]:
    """Give each call, and whether it is one for sure: markup and commands may as well be what a text is about."""
    for found in _JSON_CALL.finditer(text):
        call = parsed_json(found[2])
        if isinstance(call, dict) and isinstance(name := call.get("name"), str) and name:
            yield True, (name, arguments_of(call.get("arguments", call.get("parameters"))))
    for found in _NAMED_CALL.finditer(text):
        given = {name: parsed_json(value) for name, value in _PARAMETER.findall(found[2])}
        yield True, (found[1], given or arguments_of(found[2].strip()))
    for found in _ELEMENT.finditer(text):
        quoted = text.count("```", 0, found.start()) % 2  # in a block of code
        if found[1] not in _NO_TOOLS and not found[1].endswith("_results") and not quoted:
            yield False, _element(found[1], dict(_CHILD.findall(found[2])))
    for found in _REACT.finditer(text):
        yield True, (found[1].strip("`* "), arguments_of(found[2].strip().strip("`")))
    for found in _BRACKET.finditer(text):
        if found[1].lower() not in _NO_TOOLS:
            yield False, (found[1], {"input": found[2]})
    shell = _SHELL.search(text)
    for found in _DETAILS.finditer(text):
        given = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(found[1])}
        yield True, (given.get("name", ""), arguments_of(given.get("arguments")))
    if shell is not None and "Action Input:" not in text:
        yield False, ("bash", {"command": shell[1]})


def _element(name: str, given: dict[str, str]) -> tuple[str, dict[str, Any]]:
    if name == "use_mcp_tool" and given.get("tool_name"):
        return given["tool_name"].strip(), arguments_of(given.get("arguments", "").strip())
    return name, dict(given)


def answers(turns: Turns, text: str) -> bool:
    """Read the answers in a text, and say whether there were any."""
    responses = [found[2] for found in _RESPONSE.finditer(text)]
    for response in responses:
        value = parsed_json(response)
        if (
            isinstance(value, dict)
            and value.keys() <= {"name", "content", "tool_call_id"}
            and "content" in value
        ):
            value = value["content"]
        turns.result(None, value)
    if responses:
        return True
    if (found := _RESULT.match(text)) is not None:
        said = _SURROUNDINGS.sub("", found[1])
        error = _ERROR.search(said)
        failed = error is not None and (said.startswith(("The tool execution failed", "Error", "<error>")))
        turns.result(None, error[1] if failed and error is not None else said, True if failed else None)
        return True
    if (returned := _RETURNED.search(text)) is not None:
        output = _OUTPUT.search(returned[2])
        turns.result(None, output[1] if output else returned[2].strip(), True if int(returned[1]) else None)
        return True
    observed = [found[1] for found in _OBSERVED.finditer(text)]
    for value in observed:
        turns.result(None, value)
    return bool(observed)
