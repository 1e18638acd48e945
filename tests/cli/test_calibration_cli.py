"""``btm calibration`` and ``btm backtest``."""

from __future__ import annotations

import json
import random
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from chat_kit import TIMEOUT, conversation
from database_kit import run, run_json


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rng = random.Random(0)
    path = tmp_path / "chats.jsonl"
    rows = (
        conversation(n, TIMEOUT, "fine" if rng.random() < 0.8 else TIMEOUT, tool=f"get_{n % 7}")
        for n in range(80)
    )
    path.write_text("".join(rows), encoding="utf-8")
    return path


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
    assert "btm minus it" in result.stdout
    assert "What btm foretold, and what happened" in result.stdout
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


def test_a_piece_that_cannot_be_read_is_said_once(log: Path) -> None:
    log.write_text(log.read_text() + "{broken\n", encoding="utf-8")
    assert [(s["file"], s["line"]) for s in run_json("backtest", log)["skipped"]] == [(str(log), 81)]
    assert run("backtest", log).stdout.count(f"skipped {log}:81: not JSON") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("calibration",), "LOGS"),
        (("calibration", "x.jsonl", "--out", "x.png"), "name a .svg file"),
        (("calibration", "x.jsonl", "--out", "nowhere/x.svg"), "there is no folder nowhere"),
        (("calibration", "x.jsonl", "--parts", "1"), "--parts"),
        (("backtest", "-"), "stdin can be read once"),
    ],
)
def test_wrong_usage_exits_2(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
