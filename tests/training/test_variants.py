"""One failure trajectory becomes several: other names and values, and the same failures and decisions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from shared_data import shared

from btm.cli.main import cli
from btm.training.variants import variants

IDS = ("mia_li_3668", "#W6893533", "mia.li3818@example.com", "HAT069", "98110233", "2024-05-20")


def trajectory(*answers: str, kind: str = "not_found") -> dict[str, Any]:
    steps = [
        {
            "tool_name": "get_order_details",
            "input_params": {"order_id": "#W6893533", "user": 98110233, "day": "2024-05-20"},
            "response": {"status_code": 200, "body": answer},
            "failure_type": "parameter" if number == 0 else None,
            "failure_subtype": "boundary" if number == 0 else None,
            "failure_detail": answer if number == 0 else None,
            **({"btm_kind": kind} if number == 0 else {}),
            "call_id": f"call_{number}",
            "at": 1_754_065_079.5 + number,
            "intent_source": "user",
        }
        for number, answer in enumerate(answers)
    ]
    return {
        "trajectory_id": "t1",
        "task_description": f"for {IDS[0]}, {IDS[2]}",
        "final_outcome": "success",
        "steps": steps,
    }


def test_a_variant_fails_alike_under_other_names_and_values() -> None:
    parent = trajectory(
        "Error: order #W6893533 not found", '{"order": "#W6893533", "flight": "HAT069", "\\nuser": 1}'
    )
    made = variants([parent], 10, seed=3)
    assert (len(made.records), made.thrown) == (10, 0)
    for record in made.records:
        text = json.dumps({**record, "metadata": {}})
        assert [value for value in IDS if value in text] == []
        first, second = record["steps"]
        assert first["btm_kind"] == "not_found"
        assert first["intent_source"] == "user"
        (new,) = set(re.findall(r"#[A-Z]\d{7}", text))  # what one call names is what the other one gave
        assert new in first["response"]["body"]
        assert second["at"] - first["at"] == 1.0
        assert second["at"] != parent["steps"][1]["at"]
        json.loads(second["response"]["body"])
        assert "order" not in first["tool_name"]
        about = record["metadata"]
        assert (about["source"], about["parent"], about["human_verified"]) == ("variant", "t1", False)
    assert variants([parent], 10, seed=3) == made
    assert variants([parent], 10, seed=4) != made


def test_errors_are_worded_as_other_services_would() -> None:
    made = variants([trajectory("Request timed out.", '{"ok": 1}', kind="timeout")], 30)
    texts = {record["steps"][0]["response"]["body"] for record in made.records}
    assert len(made.records) == 30
    assert len(texts) > 2


def test_a_variant_that_reads_otherwise_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from btm.training import variants as module

    told = iter([["as it was"], *[["other"] * 5] * 4])
    monkeypatch.setattr(module, "_read_back", lambda records: next(told))
    made = module.variants([trajectory("Error: not found")], 5)
    assert (made.records, made.thrown) == ([], 5)


@pytest.mark.parametrize(
    "log", ["tau1/airline-gpt-4o.json", "tau2/airline-qwen2.5-7b.json", "intercode/bash-gpt-4.jsonl.gz"]
)
def test_variants_of_recorded_failures_teach_what_their_parents_do(log: str, tmp_path: Path) -> None:
    def btm(*argv: object) -> Any:
        done = CliRunner().invoke(cli, [*map(str, argv), "--json"], catch_exceptions=False)
        assert done.exit_code == 0
        return json.loads(done.output)

    whole, few, more = (tmp_path / name for name in ("whole.jsonl", "few.jsonl", "more.jsonl"))
    btm("export", "trajectories", shared(f"data/traces/{log}"), "--failures", "-o", whole)
    few.write_text("".join(whole.read_text("utf-8").splitlines(keepends=True)[:20]), "utf-8")
    assert btm("variants", few, "--n", "3", "-o", more) == {"written": 60, "left_out": 0, "out": str(more)}
    taught, again = (btm("fit", path, "--dry-run") for path in (few, more))
    assert again["errors"] == {kind: 3 * n for kind, n in taught["errors"].items()}
    assert again["attempts"] == 3 * taught["attempts"]


def test_what_is_no_trajectory_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    path.write_text('{"trajectory_id": "a", "steps": [{"tool_name": 5}]}\n{"a": \n\n' + "7\n" * 9, "utf-8")
    done = CliRunner().invoke(cli, ["variants", str(path), "-o", str(tmp_path / "o.jsonl")])
    assert done.exit_code == 2
    assert f"{path}:1: no failure trajectory" in done.output
    assert f"{path}:2: no JSON" in done.output
    assert "and 6 more" in done.output
    assert not (tmp_path / "o.jsonl").exists()
