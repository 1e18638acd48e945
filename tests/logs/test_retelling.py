"""Logs as failure trajectories, and databases as event logs: what is read back teaches the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from shared_data import shared

from btm import ToolMemory
from btm.cli.main import cli
from btm.fallback import FallbackMap
from btm.learning.posterior import Decay
from btm.logs.conversation import Conversation, RecordedCall
from btm.logs.fit import Fit, fit
from btm.logs.listening import Listener
from btm.logs.reading import read_conversations
from btm.logs.retelling import trajectory_of
from btm.model import ToolCall
from btm.store.sql import SqlStore

MAY = 1_777_600_000.0
EMPTY = FallbackMap.empty()
TIMEOUT = "Error: request timed out"
NOT_FOUND = "Error: order not found"


def learned(path: Path | str, fallback_map: FallbackMap = EMPTY) -> Fit:
    return fit(read_conversations([path]), fallback_map, decay=Decay(2_592_000.0, MAY), now=MAY)


def run(*arguments: object) -> dict[str, Any]:
    result = CliRunner().invoke(cli, [*map(str, arguments), "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.mark.parametrize(
    ("name", "map_name"),
    [
        ("tau2/airline-qwen2.5-7b.json", "airline"),
        ("tau2/retail-gpt-4.1.json", "retail"),
        ("tau1/airline-gpt-4o.json", None),
        ("intercode/bash-gpt-4.jsonl.gz", None),
    ],
)
def test_trajectories_of_recorded_logs_teach_what_the_logs_teach(
    name: str, map_name: str | None, tmp_path: Path
) -> None:
    log, out = shared(f"data/traces/{name}"), tmp_path / "out.jsonl"
    fallback_map = FallbackMap.load(map_name) if map_name else EMPTY
    options = ["--map", map_name] if map_name else []
    run("export", "trajectories", log, "-o", out, *options)
    before, after = learned(log, fallback_map), learned(out, fallback_map)
    assert after.formats == {"trajectories": before.conversations}
    assert after.sums == before.sums
    assert (after.calls, after.unanswered, after.errors) == (before.calls, before.unanswered, before.errors)


def retold(*turns: tuple[str, str, dict[str, Any]], reward: float | None) -> dict[str, Any]:
    batches = tuple(
        (RecordedCall(ToolCall(tool, arguments, call_id=f"c{n}", at=MAY + n), answer),)
        for n, (tool, answer, arguments) in enumerate(turns)
    )
    conversation = Conversation("t1", "log:1", batches, reward, MAY, "d" * 32, "openai_chat", "Find my order")
    told = Listener(EMPTY, now=MAY + 60.0).listen(conversation)
    return trajectory_of(conversation, told, EMPTY).to_json()


def test_a_recovery_in_a_task_that_succeeded_is_a_positive() -> None:
    record = retold(
        ("get_order", NOT_FOUND, {"id": "1", "deep": True}), ("get_order", "found", {"id": "#1"}), reward=1.0
    )
    step = record["steps"][0]
    assert (record["final_outcome"], record["task_description"]) == ("success", "Find my order")
    assert (step["failure_type"], step["failure_subtype"]) == ("parameter", "boundary")
    assert step["agent_decision"] == {
        "action": "revise",
        "wait_seconds": 1.0,
        "params_delta": {"id": "#1", "deep": None},
        "reasoning": None,
    }
    assert step["decision_correctness"] == "correct"
    assert record["failure_summary"] == {
        "total_failures": 1,
        "failure_types": ["parameter/boundary"],
        "recovery_pattern": "revise",
        "recovery_success": True,
    }
    assert record["metadata"]["candidate_negative"] is False


def test_the_last_failure_of_a_task_that_failed_is_the_deciding_wrong_step() -> None:
    record = retold(("get_order", NOT_FOUND, {"id": "1"}), ("get_order", NOT_FOUND, {"id": "1"}), reward=0.0)
    first, last = record["steps"]
    assert first["decision_correctness"] is None
    assert (last["agent_decision"]["action"], last["decision_correctness"]) == ("abandon", "incorrect")
    assert last["correct_action"] == {"action": "revise", "params_delta": None}
    assert record["metadata"]["candidate_negative"] is True


def test_nothing_is_looked_back_from_when_no_outcome_is_known() -> None:
    record = retold(("get_order", NOT_FOUND, {"id": "1"}), reward=None)
    assert record["final_outcome"] == "partial"
    assert record["steps"][0]["decision_correctness"] is None
    assert "reward" not in record


def test_the_fourth_of_the_same_call_is_a_wrong_decision_whatever_came_of_the_task() -> None:
    record = retold(*[("get_order", NOT_FOUND, {"id": "1"})] * 4, reward=1.0)
    third = record["steps"][2]
    assert (third["decision_correctness"], third["correct_action"]["action"]) == ("incorrect", "abandon")
    assert record["steps"][3]["btm_labels"] == ["loop"]
    assert "logic/infinite_retry" in record["failure_summary"]["failure_types"]


def test_a_write_repeated_with_success_is_a_failure_of_logic() -> None:
    record = retold(*[("pay_invoice", "done", {"id": "1"})] * 2, reward=0.0)
    assert (record["steps"][1]["failure_type"], record["steps"][1]["failure_subtype"]) == (
        "logic",
        "idempotency",
    )


def test_conversations_without_a_failure_can_be_left_out(tmp_path: Path) -> None:
    log = shared("data/traces/tau2/airline-gpt-4.1.json")
    document = run("export", "trajectories", log, "-o", tmp_path / "some.jsonl", "--failures")
    assert 0 < document["written"] < 20


def test_a_log_that_cannot_be_read_leaves_no_file_behind(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"messages": [{"role": "user", "content": "x"}]}\n{broken\n')
    out = tmp_path / "out.jsonl"
    result = CliRunner().invoke(cli, ["export", "trajectories", str(log), "-o", str(out), "--strict"])
    assert result.exception is not None
    assert list(tmp_path.iterdir()) == [log]


def test_the_calls_of_a_database_teach_again_what_the_database_learned(tmp_path: Path) -> None:
    clock = iter(MAY + n / 4 for n in range(1_000))
    database, out = tmp_path / "live.db", tmp_path / "events.jsonl"
    answers = iter([TIMEOUT, "ok", NOT_FOUND, NOT_FOUND, "ok", TIMEOUT, TIMEOUT, TIMEOUT])
    with ToolMemory.open(database, mode="observe", clock=lambda: next(clock)) as memory:
        for number, tool in enumerate(["get_order", "get_order", *["find_order"] * 3, *["pay_order"] * 3]):
            call = ToolCall(tool, {"id": "1"}, memory.effect_of(tool), "c1", f"call-{number}")
            memory.call(call, lambda tool, arguments: next(answers))
    assert run("export", "events", "--db", database, "-o", out) == {"written": 8, "out": str(out)}
    store = SqlStore(database)
    try:
        live = {tuple(key): (s, f) for key, s, f in store.evidence()}
        again = fit(read_conversations([out]), EMPTY, decay=store.decay, now=MAY + 1_000.0)
    finally:
        store.close()
    assert len(live) > 3
    assert {tuple(key): tuple(sums) for key, sums in again.sums.items()} == {
        key: (pytest.approx(s), pytest.approx(f)) for key, (s, f) in live.items()
    }
