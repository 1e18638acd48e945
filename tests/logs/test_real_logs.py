"""The recorded logs, counted anew in the plainest way and compared with what the readers give."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from log_samples import read
from shared_data import shared

FILES = [
    ("tau2/airline-gpt-4.1.json", 20, 148, 1),
    ("tau2/airline-gpt-oss-120b.json", 50, 847, 16),
    ("tau2/airline-qwen2.5-7b.json", 50, 344, 79),
    ("tau2/retail-gpt-4.1-sft.json", 40, 292, 23),
    ("tau2/retail-gpt-4.1.json", 40, 299, 12),
    ("tau1/airline-gpt-4o.json", 200, 1164, 0),
    ("intercode/bash-gpt-3.5.jsonl.gz", 407, 2243, 0),
    ("intercode/bash-gpt-4.jsonl.gz", 200, 1176, 0),
    ("intercode/sql-gpt-3.5.jsonl.gz", 5170, 18762, 0),
    ("intercode/sql-gpt-4.jsonl.gz", 2068, 6901, 0),
]


def message_lists(path: Path) -> list[tuple[list[dict[str, Any]], Any]]:
    if path.suffix == ".gz":
        records = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        return [(record["messages"], record["reward"]) for record in records]
    document = json.loads(path.read_text("utf-8"))
    if isinstance(document, list):
        return [(record["traj"], record["reward"]) for record in document]
    return [(record["messages"], record["reward_info"]["reward"]) for record in document["simulations"]]


def expected_calls(messages: list[dict[str, Any]]) -> list[tuple[str, Any, Any, Any]]:
    calls = []
    for place, message in enumerate(messages):
        for call in (message.get("tool_calls") or []) if message["role"] == "assistant" else []:
            function = call.get("function", call)
            given = function["arguments"]
            arguments = json.loads(given) if isinstance(given, str) else given
            # Ids come up again in these logs: the answer is the next one with this id, not just any.
            after = (m for m in messages[place:] if m["role"] == "tool")
            answer = next(m for m in after if (m.get("tool_call_id") or m.get("id")) == call["id"])
            calls.append((function["name"], arguments, answer["content"], answer.get("error")))
    return calls


@pytest.mark.parametrize(
    ("name", "conversations", "calls", "flagged"), FILES, ids=[file[0] for file in FILES]
)
def test_a_recorded_log_is_read_whole(name: str, conversations: int, calls: int, flagged: int) -> None:
    path = shared(f"data/traces/{name}")
    found, skipped = read(path)
    assert skipped == []
    assert len(found) == conversations
    assert sum(1 for c in found for _ in c.calls) == calls
    assert sum(call.is_error is True for c in found for call in c.calls) == flagged
    assert len({c.source for c in found}) == conversations
    assert len({c.digest for c in found}) == len({c.conversation_id for c in found}) == conversations


@pytest.mark.parametrize("name", [file[0] for file in FILES])
def test_every_call_of_a_recorded_log_has_its_own_answer(name: str) -> None:
    path = shared(f"data/traces/{name}")
    for conversation, (messages, reward) in zip(read(path)[0], message_lists(path), strict=True):
        got = [(c.call.tool, c.call.arguments, c.result, c.is_error) for c in conversation.calls]
        assert got == expected_calls(messages)
        assert conversation.reward == reward
        turns = [len(m["tool_calls"]) for m in messages if m["role"] == "assistant" and m.get("tool_calls")]
        assert [len(batch) for batch in conversation.batches] == turns


def test_the_whole_folder_is_read_without_a_skipped_conversation() -> None:
    found, skipped = read(shared("data/traces"))
    assert skipped == []
    assert len(found) == sum(file[1] for file in FILES)
