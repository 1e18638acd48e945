"""A person's refusal of a call teaches nothing, offline as live."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from log_samples import openai_call, read_one, write

from btm.fallback import FallbackMap
from btm.logs.listening import Listener, Told

LISTENER = Listener(FallbackMap.empty(), now=1_800_000_000.0)
DOWN = "Error: 503 Service Unavailable"
WORDS = [
    "User rejected the tool call for `get_order` with reason: not now",
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.",
    "[Request interrupted by user for tool use]",
    "exec command rejected by user",
    "[Operation Cancelled] Reason: User did not allow tool call",
    "The user denied this operation.",
    "Action has been rejected by the user! Waiting for further user input.",
    "Tool execution was not approved.",
    "The tool call was denied.",
    '{"error": "This tool call is rejected."}',
    "Function call was rejected by the user",
]
TOOLS_OWN = ["User rejected payment: insufficient funds", "The user has no permission", "rejected by gateway"]


def told(answer: Any, tmp_path: Path, **flags: Any) -> Told:
    """A call fails, is made again and answered so, and is made a third time, which goes well."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "where is o1?"}]
    for number, said in enumerate((DOWN, answer, '{"status": "shipped"}')):
        call = {**openai_call(0, "get_order", order_id="o1"), "id": f"c{number}"}
        answered = {
            "role": "tool",
            "tool_call_id": f"c{number}",
            "content": said,
            **(flags if number == 1 else {}),
        }
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]}, answered]
    return LISTENER.listen(read_one(write(tmp_path / "log", {"messages": messages})))


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("flags", [{}, {"status": "error"}], ids=str)
def test_a_refused_call_is_no_attempt_and_gives_up_what_it_was_to_recover(
    words: str, flags: dict[str, Any], tmp_path: Path
) -> None:
    heard = told(words, tmp_path, **flags)
    assert [str(outcome.kind) for _, outcome in heard.outcomes] == ["unavailable", "None", "None"]
    assert heard.attempts == ()
    assert [str(incident.state) for incident in heard.incidents] == ["abandoned"]


@pytest.mark.parametrize("words", TOOLS_OWN)
def test_a_tools_own_talk_of_refusing_is_its_answer(words: str, tmp_path: Path) -> None:
    assert len(told(words, tmp_path, status="error").attempts) == 2


def denied() -> Iterator[Any]:
    """What products mark a refusal with."""
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {}}
    output = {"type": "execution-denied", "reason": "no"}
    answer = {"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": output}
    yield [{"role": "assistant", "content": [call]}, {"role": "tool", "content": [answer]}]
    part = {
        "type": "tool-f",
        "toolCallId": "c",
        "state": "output-denied",
        "input": {},
        "approval": {"approved": False},
    }
    yield [{"role": "assistant", "parts": [part]}]
    asked = {"part_kind": "tool-call", "tool_name": "f", "args": {}, "tool_call_id": "c"}
    said = {
        "part_kind": "tool-return",
        "tool_name": "f",
        "content": "no",
        "tool_call_id": "c",
        "outcome": "denied",
    }
    yield [{"kind": "response", "parts": [asked]}, {"kind": "request", "parts": [said]}]


@pytest.mark.parametrize("messages", list(denied()), ids=["model message", "UI message", "pydantic-ai"])
def test_a_refusal_is_told_from_the_products_own_mark(messages: Any, tmp_path: Path) -> None:
    heard = LISTENER.listen(read_one(write(tmp_path / "log", messages)))
    assert [outcome.rule for _, outcome in heard.outcomes] == ["refused"]
