"""Steps with an odd piece in them: the piece is passed over, and the rest of the conversation is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_shapes_of_evaluations import stories

_LOOK = {"action": {"use_tool": {"name": "look", "arguments": {"room": "hall"}}}, "result": "dark"}
_LOOKED = ("look", {"room": "hall"}, "dark", None)


@pytest.mark.parametrize("odd", [7, ["look"], None, "", {"name": ["look"]}, {"name": {"a": 1}}, {}])
def test_a_step_that_names_its_tool_oddly_loses_no_other(odd: object, tmp_path: Path) -> None:
    log = {"episodes": [_LOOK, {"action": {"use_tool": odd}, "result": "x"}, _LOOK]}
    assert stories(tmp_path, log) == [[_LOOKED, _LOOKED]]


def test_a_tool_may_be_named_by_a_text(tmp_path: Path) -> None:
    named = {"action": {"use_tool": "light", "arguments": {"room": "hall"}}, "result": "lit"}
    assert stories(tmp_path, {"episodes": [_LOOK, named]}) == [
        [_LOOKED, ("light", {"room": "hall"}, "lit", None)]
    ]


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        ({"observation": "lit"}, ("lit", None)),
        ({"output": "lit"}, ("lit", None)),
        ({"error": "no oil"}, ("no oil", True)),
    ],
)
def test_what_stands_beside_a_result_of_null_is_read(
    beside: dict[str, Any], told: tuple[str, bool | None], tmp_path: Path
) -> None:
    done = {"action": {"tool": "light", "tool_input": {}}, "result": None, **beside}
    assert stories(tmp_path, {"episodes": [_LOOK, done]}) == [[_LOOKED, ("light", {}, *told)]]


def test_a_result_of_null_alone_is_no_answer(tmp_path: Path) -> None:
    pending = {"action": {"use_tool": {"name": "light", "arguments": {}}}, "result": None}
    assert stories(tmp_path, {"episodes": [_LOOK, pending]}) == [[_LOOKED]]


def test_a_command_that_ends_the_work_is_no_call(tmp_path: Path) -> None:
    steps = [
        {"action": "ls /hall", "observation": "lamp"},
        {"action": "submit", "observation": "done"},
        {"action": "  ", "observation": "?"},
        {"action": "null", "observation": ""},
    ]
    assert stories(tmp_path, {"trajectory": steps}) == [[("bash", {"command": "ls /hall"}, "lamp", None)]]


@pytest.mark.parametrize("odd", ["look", 7, None, {}, {"id": "c9"}, {"function": "look"}])
def test_an_odd_call_among_those_of_a_step_loses_no_other(odd: object, tmp_path: Path) -> None:
    call = {"id": "c1", "function": {"name": "look", "arguments": {"room": "hall"}}}
    steps = [{"task": "Light it"}, {"step_number": 1, "tool_calls": [call, odd], "observations": "dark"}]
    assert stories(tmp_path, {"steps": steps}) == [[_LOOKED]]
    done = {
        "model_output": {"action": [odd, {"look": {"room": "hall"}}]},
        "result": [odd, {"extracted_content": "dark"}],
    }
    if not isinstance(odd, dict):  # there any key is a tool's name
        assert stories(tmp_path, {"history": [done]}) == [[_LOOKED]]


def _numbered(*keys: str) -> dict[str, Any]:
    def made(n: int) -> list[dict[str, Any]]:
        call = {"id": f"c{n}", "type": "function", "function": {"name": f"tool_{n}", "arguments": "{}"}}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": str(n)},
        ]

    return dict(zip(keys, [one for n in range(6) for one in made(n)], strict=True))


def test_messages_by_their_numbers_are_in_their_numbers_order(tmp_path: Path) -> None:
    by_number = _numbered(*map(str, range(12)))
    as_text = {key: by_number[key] for key in sorted(by_number)}  # "10" before "2"
    (story,) = stories(tmp_path, {"run": as_text})
    assert [name for name, *_ in story] == [f"tool_{n}" for n in range(6)]


@pytest.mark.parametrize("key", ["2024", "4711", "9" * 5_000])
def test_years_and_ids_are_no_messages(key: str, tmp_path: Path) -> None:
    talk = [
        {"role": "user", "content": "Light it"},
        {"role": "assistant", "content": None, "function_call": {"name": "light", "arguments": "{}"}},
        {"role": "function", "name": "light", "content": "lit"},
    ]
    log = {key: {"request": {"messages": talk[:1]}, "response": talk[1]}, "2025": {"messages": talk}}
    assert [story for story in stories(tmp_path, log) if story] == [[("light", {}, "lit", None)]]
