"""``btm calibration`` and ``btm backtest``."""

from __future__ import annotations

import json
import random
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from database_kit import run, run_json


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rng = random.Random(0)
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(conversation(n, rng.random() < 0.8) for n in range(80)), encoding="utf-8")
    return path


def conversation(number: int, works: bool) -> str:
    tool = f"get_{number % 7}"
    messages: list[dict[str, Any]] = [{"role": "user", "content": "where is my order?"}]
    for place, answer in enumerate(
        ("Error: request timed out", "fine" if works else "Error: request timed out")
    ):
        call = {"id": f"c{place}", "function": {"name": tool, "arguments": f'{{"order_id": "O{number}"}}'}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{place}", "content": answer})
    return json.dumps({"conversation_id": f"c-{number}", "messages": messages}) + "\n"


def test_calibration_prints_one_document(log: Path) -> None:
    found = run_json("calibration", log)
    assert (found["learned_from"], found["foretold"], found["by_time"]) == (40, 40, False)
    everything = found["groups"][0]
    assert everything["group"] == "all"
    assert {score["method"] for score in everything["scores"]} >= {
        "pooled",
        "global rate",
        "raw rate",
        "flat",
    }
    for difference in everything["pooled_minus"]:
        bounds = difference["log_loss"]
        assert bounds["low"] <= bounds["difference"] <= bounds["high"]
    assert sum(b["n"] for b in found["reliability"]) == everything["attempts"]


def test_more_parts_foretell_more(log: Path) -> None:
    assert run_json("calibration", log, "--parts", "8")["foretold"] == 70


def test_people_get_a_table_and_the_diagram(log: Path, tmp_path: Path) -> None:
    picture = tmp_path / "reliability.svg"
    result = run("calibration", log, "--out", picture)
    assert result.exit_code == 0
    assert "All held-out attempts: 40" in result.stdout
    assert "pooled minus it" in result.stdout
    assert ET.parse(picture).getroot().tag.endswith("svg")


def test_the_same_seed_gives_the_same_document(log: Path) -> None:
    assert run_json("calibration", log, "--seed", "3") == run_json("calibration", log, "--seed", "3")


def test_a_backtest_adds_what_would_have_been_advised(log: Path) -> None:
    found = run_json("backtest", log)
    advice = found["advice"]
    assert found["groups"]
    assert (
        advice["failures"] == advice["followed"]["times"] + advice["otherwise"]["times"] + advice["dropped"]
    )
    assert advice["followed"]["times"] >= 40
    assert 0.6 < advice["foretold_where_followed"] < 1.0
    shown = run("backtest", log).stdout
    assert "What btm would have advised first" in shown
    assert "Where the agent did so, btm foretold" in shown


@pytest.mark.parametrize("command", ["calibration", "backtest"])
def test_logs_that_teach_nothing_are_an_error(command: str, tmp_path: Path) -> None:
    calm = tmp_path / "calm.jsonl"
    message = {"role": "user", "content": "hello"}
    calm.write_text(json.dumps({"messages": [message]}) + "\n", encoding="utf-8")
    result = run(command, calm)
    assert result.exit_code != 0
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("calibration",), "LOGS"),
        (("calibration", "x.jsonl", "--parts", "1"), "--parts"),
        (("backtest", "-"), "stdin can be read once"),
    ],
)
def test_wrong_usage_exits_2(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
