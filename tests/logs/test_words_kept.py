"""What was said around the calls is kept: intent, observation, reasoning and the task's own name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from log_samples import openai_call, read_one, write

from btm.cli.main import cli

ERROR = "Error: 401 Unauthorized: token expired"


def messages() -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "Where is W1?"},
        {"role": "assistant", "content": None, "tool_calls": [openai_call(1, "get_order", order_id="W1")]},
        {"role": "tool", "tool_call_id": "call_1", "content": ERROR},
        {
            "role": "assistant",
            "content": "The token has expired; I list all orders instead.",
            "reasoning_content": "Another way is open.",
            "tool_calls": [openai_call(2, "list_orders", user_id="u1")],
        },
        {"role": "tool", "tool_call_id": "call_2", "content": '[{"order_id": "W1"}]'},
        {"role": "assistant", "content": "It has shipped."},
    ]


def test_an_intent_is_the_text_beside_a_call_or_else_the_users_last_words(tmp_path: Path) -> None:
    first, second = read_one(write(tmp_path / "log", {"task_id": 7, "messages": messages()})).calls
    assert (first.call.intent, first.intent_from) == ("Where is W1?", "user")
    assert second.call.intent == "The token has expired; I list all orders instead."
    assert (second.intent_from, second.reasoning) == ("assistant", "Another way is open.")


def test_what_the_assistant_made_of_an_answer_is_its_next_text(tmp_path: Path) -> None:
    first, second = read_one(write(tmp_path / "log", messages())).calls
    assert first.observed == "The token has expired; I list all orders instead."
    assert second.observed == "It has shipped."


def test_an_assistant_that_goes_on_without_a_word_has_observed_nothing(tmp_path: Path) -> None:
    silent = messages()
    silent[3]["content"] = None
    first, _ = read_one(write(tmp_path / "log", silent)).calls
    assert first.observed is None


def test_thinking_blocks_are_reasoning(tmp_path: Path) -> None:
    content = [
        {"type": "thinking", "thinking": "Look it up.", "signature": "x"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t", "name": "get_order", "input": {}},
    ]
    (call,) = read_one(write(tmp_path / "log", [{"role": "assistant", "content": content}])).calls
    assert (call.reasoning, call.call.intent, call.intent_from) == ("Look it up.", "I look.", "assistant")


def test_an_export_holds_the_words_and_reading_it_gives_them_again(tmp_path: Path) -> None:
    log, out = write(tmp_path / "log", {"task_id": "t7", "messages": messages()}), tmp_path / "out.jsonl"
    CliRunner().invoke(cli, ["export", "trajectories", str(log), "-o", str(out)], catch_exceptions=False)
    record = json.loads(out.read_text())
    first, second = record["steps"]
    assert record["task_id"] == "t7"
    assert (first["intent"], first["intent_source"]) == ("Where is W1?", "user")
    assert first["agent_observation"] == "The token has expired; I list all orders instead."
    assert first["agent_decision"]["reasoning"] == "Another way is open."
    assert second["agent_observation"] == "It has shipped."
    again = read_one(out)
    before = read_one(log)
    assert [(c.call.intent, c.intent_from, c.observed, c.reasoning) for c in again.calls] == [
        (c.call.intent, c.intent_from, c.observed, c.reasoning) for c in before.calls
    ]
    assert again.task_id == before.task_id == "t7"


def test_a_fit_keeps_no_words(tmp_path: Path) -> None:
    database = tmp_path / "btm.db"
    log = write(tmp_path / "log", messages())
    CliRunner().invoke(cli, ["fit", str(log), "--db", str(database)], catch_exceptions=False)
    held = b"".join(path.read_bytes() for path in tmp_path.glob("btm.db*"))
    assert b"I list all orders" not in held
    assert b"Where is W1" not in held
