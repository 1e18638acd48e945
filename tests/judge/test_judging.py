"""Two judges, a file of verdicts, and evidence that moves once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fake_openai import FakeServer
from judge_kit import RIGHT_DAY, WRONG_DAY, chat, day, log_of

from btm import ToolMemory
from btm.cli.main import cli
from btm.judge.agreement import RECHECKED, picked
from btm.judge.evidence import settle
from btm.judge.record import ReviewRow, VerdictFile
from btm.model import Action, Effect, ErrorKind, EvidenceKey, ToolCall
from btm.store.sql import SqlStore

KEY = EvidenceKey("get_slots", ErrorKind.UNAVAILABLE, Action.RETRY, "", 1)


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(cli, [*map(str, arguments), "--json"], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return log_of(tmp_path / "log.jsonl", [WRONG_DAY, RIGHT_DAY])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "verdicts.jsonl"


def counts(database: Path) -> tuple[float, float]:
    store = SqlStore(database, now=time.time(), read_only=True)
    found = {key: (s, f) for key, s, f in store.evidence()}
    store.close()
    return found.get(KEY, (0.0, 0.0))


def test_judges_that_agree_agree_about_all(log: Path, out: Path) -> None:
    done = run("judge", log, "--model", "fake:agree", "--second", "fake:agree", "-o", out)
    assert (done["agreed"], done["split"], done["judged"]) == (2, 0, 2)


def test_judges_that_differ_leave_all_to_a_person_and_move_nothing(
    log: Path, out: Path, tmp_path: Path
) -> None:
    database = tmp_path / "btm.db"
    run("fit", log, "--db", database)
    done = run("judge", log, "--model", "fake:agree", "--second", "fake:flip", "-o", out, "--db", database)
    assert (done["agreed"], done["split"], done["moved"]) == (0, 2, 0)
    assert counts(database) == (1.0, 0.0)


def test_an_answer_for_the_wrong_day_is_found_and_its_evidence_moves_once_and_back(
    log: Path, out: Path, tmp_path: Path
) -> None:
    database = tmp_path / "btm.db"
    run("fit", log, "--db", database)
    assert counts(database) == (1.0, 0.0)
    judges = ("--model", "rules", "--second", "fake:temporal_error", "-o", out, "--db", database)
    first = run("judge", log, *judges)
    assert (first["agreed"], first["split"], first["moved"]) == (1, 1, 1)
    assert counts(database) == (0.0, 1.0)
    again = run("judge", log, *judges)
    assert (again["asked"], again["moved"]) == (0, 0)
    assert counts(database) == (0.0, 1.0)
    undone = run("judge", log, *judges, "--undo")
    assert undone["undone"] == 1
    assert counts(database) == (1.0, 0.0)
    assert run("judge", log, *judges)["moved"] == 1
    assert counts(database) == (0.0, 1.0)


def test_a_person_overrules_two_judges_and_the_evidence_moves_back(
    log: Path, out: Path, tmp_path: Path
) -> None:
    database = tmp_path / "btm.db"
    run("fit", log, "--db", database)
    run("judge", log, "--model", "rules", "--second", "fake:temporal_error", "-o", out, "--db", database)
    file = VerdictFile(out)
    file.add(ReviewRow(("wrong-day", "wrong-day-1"), satisfied=True, who="Ada", at=1.0))
    store = SqlStore(database, now=time.time())
    assert settle(store, VerdictFile(out)).undone == 1
    assert settle(store, VerdictFile(out)).undone == 0
    store.close()
    assert counts(database) == (1.0, 0.0)


def test_a_person_finds_wanting_what_two_judges_were_content_with(tmp_path: Path) -> None:
    database, out = tmp_path / "btm.db", tmp_path / "verdicts.jsonl"
    name = next(f"w{n}" for n in range(500) if picked((f"w{n}", f"w{n}-1"), RECHECKED))
    asked, answer = day("2026-03-30"), {"slots": ["10:00"]}
    slots = (("get_slots", asked, "Error: 503 service unavailable"), ("get_slots", asked, answer))
    log = log_of(tmp_path / "log.jsonl", [chat(name, "slots, please", *slots)])
    run("fit", log, "--db", database)
    done = run("judge", log, "--model", "rules", "--second", "fake:agree", "-o", out, "--db", database)
    assert (done["agreed"], done["moved"]) == (1, 0)
    VerdictFile(out).add(ReviewRow((name, f"{name}-1"), satisfied=False, who="Ada", at=1.0))
    store = SqlStore(database, now=time.time())
    assert settle(store, VerdictFile(out)).moved == 1
    store.close()
    assert counts(database) == (0.0, 1.0)


def test_a_call_that_a_memory_lived_through_is_reported_once_and_taken_back(tmp_path: Path) -> None:
    database, out = tmp_path / "btm.db", tmp_path / "verdicts.jsonl"
    log = log_of(tmp_path / "log.jsonl", [WRONG_DAY])
    answers = iter([ConnectionError("503 Service Unavailable"), {"slots": ["10:00"]}])

    def invoke(tool: str, arguments: Any) -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with ToolMemory.open(database, mode="observe") as memory:
        for n in range(2):
            memory.call(
                ToolCall("get_slots", day("2026-03-30"), Effect.READ, "wrong-day", f"wrong-day-{n}"), invoke
            )
        (key,) = (key for key, _ in memory.beliefs())

    def sums() -> tuple[float, float]:
        store = SqlStore(database, now=time.time(), read_only=True)
        found = {k: (round(s, 3), round(f, 3)) for k, s, f in store.evidence()}
        store.close()
        return found[key]

    before = sums()
    assert before[1] == 0.0
    judges = ("--model", "rules", "--second", "fake:temporal_error", "-o", out, "--db", database)
    assert run("judge", log, *judges)["moved"] == 1
    assert sums() == (0.0, before[0])
    assert run("judge", log, *judges)["moved"] == 0
    assert run("judge", log, *judges, "--undo")["undone"] == 1
    assert sums() == before


def reply(**fields: Any) -> str:
    plain = {
        "satisfied": True,
        "gap_description": None,
        "error_category": None,
        "confidence": 0.8,
        "reasoning": "x",
    }
    return json.dumps({**plain, **fields})


def test_a_model_is_asked_once_a_call_and_a_second_run_makes_no_request(
    log: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langchain_openai", reason="asking a model needs the extra 'model'")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server = FakeServer(lambda body: reply())
    with server.running():
        options = ("--model", "openai:fake", "--second", "rules", "--base-url", server.url, "-o", out)
        first = run("judge", log, *options)
        assert (first["requests"], len(server.requests)) == (2, 2)
        again = run("judge", log, *options)
        assert (again["requests"], len(server.requests)) == (0, 2)


def test_a_reply_that_is_no_such_json_is_asked_for_once_more_and_then_splits(
    log: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langchain_openai", reason="asking a model needs the extra 'model'")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server = FakeServer(lambda body: "I think it is fine!")
    with server.running():
        done = run(
            "judge", log, "--model", "openai:fake", "--second", "rules", "--base-url", server.url, "-o", out
        )
    assert len(server.requests) == 4
    assert (done["agreed"], done["split"]) == (0, 2)


def test_a_killed_run_goes_on_where_it_ended(tmp_path: Path, out: Path) -> None:
    log = log_of(
        tmp_path / "log.jsonl",
        [
            chat(f"c{n}", "slots on 2026-03-30?", ("get_slots", day("2026-03-30"), {"n": n}))
            for n in range(400)
        ],
    )
    command = [sys.executable, "-m", "btm", "judge", str(log), "--second", "fake:agree", "-o", str(out)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    while not out.exists() or out.read_bytes().count(b"\n") < 20:
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with out.open("ab") as file:
        file.write(b'{"row":"verdict","call":["c399"')  # a line that was cut off
    written = len({tuple(row.call) for _, one in VerdictFile(out) for row in one.verdicts})
    done = run("judge", log, "--second", "fake:agree", "-o", out)
    assert 0 < written < 400
    assert done["asked"] < 800
    assert (done["judged"], done["agreed"]) == (400, 400)


def test_review_without_a_terminal_is_wrong_usage(log: Path, out: Path) -> None:
    run("judge", log, "--second", "fake:flip", "-o", out)
    done = CliRunner().invoke(cli, ["review", str(out)])
    assert done.exit_code == 2
    assert "needs a terminal" in done.stderr


def test_a_person_is_asked_about_what_is_split_and_the_answer_is_kept(
    log: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("judge", log, "--second", "fake:flip", "-o", out)
    monkeypatch.setattr("btm.cli.judge._on_a_terminal", lambda: True)
    done = CliRunner().invoke(cli, ["review", str(out), "--sample", "0", "--who", "Ida"], input="n\nwrong\n")
    assert done.exit_code == 0, done.output
    calls = dict(VerdictFile(out))
    assert calls["right-day", "right-day-0"].satisfied is False
    assert b'"Ida"' in out.read_bytes()


@pytest.mark.parametrize("name", ["opnai", "fake:agre", ""])
def test_an_unknown_judge_is_told(log: Path, out: Path, name: str) -> None:
    with pytest.raises(Exception, match=r"judge|fake"):
        CliRunner().invoke(cli, ["judge", str(log), "--model", name, "-o", str(out)], catch_exceptions=False)
