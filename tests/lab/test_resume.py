"""An evaluation that was stopped goes on where it was, and ends as one that was not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from btm.errors import EvaluationError
from btm.lab import parallel
from btm.lab.parallel import evaluate_over
from btm.lab.request import Request

REQUEST = Request(arms=("bare", "retry3", "btm"), tasks=4, seeds=(0, 1))


def test_a_resumed_run_is_the_same_run(tmp_path: Path) -> None:
    whole = evaluate_over(REQUEST, 1)
    again = evaluate_over(REQUEST, 1, resume=str(tmp_path / "run.jsonl"))
    assert again.episodes == whole.episodes
    assert again.left_out == whole.left_out


def test_what_is_finished_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run.jsonl"
    first = evaluate_over(REQUEST, 1, resume=str(file))
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 6  # a line a seed and arm, after the head
    file.write_bytes(b"".join(lines[:4]) + lines[4][:50])  # three are done, the fourth was being written
    ran: list[Request] = []
    run = parallel._run
    monkeypatch.setattr(parallel, "_run", lambda piece: ran.append(piece) or run(piece))
    assert evaluate_over(REQUEST, 1, resume=str(file)).episodes == first.episodes
    assert len(ran) == 3
    assert evaluate_over(REQUEST, 1, resume=str(file)).episodes == first.episodes
    assert len(ran) == 3


def test_a_file_of_another_run_or_of_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    evaluate_over(Request(arms=("bare",), tasks=1), 1, resume=str(file))
    with pytest.raises(EvaluationError, match="belongs to another run"):
        evaluate_over(REQUEST, 1, resume=str(file))
    file.write_text('{"a": 1}\n')
    with pytest.raises(EvaluationError, match="is no evaluation to be resumed"):
        evaluate_over(REQUEST, 1, resume=str(file))
    file.write_text("no json\n")
    with pytest.raises(EvaluationError, match=r"run\.jsonl:1: this is no line"):
        evaluate_over(REQUEST, 1, resume=str(file))
    with pytest.raises(EvaluationError, match="cannot be used"):
        evaluate_over(REQUEST, 1, resume=str(tmp_path / "no" / "folder"))


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    words = ["eval", "--tasks", "6", "--arms", "bare,retry3,btm:advise,btm", "--resume", str(file), "--json"]
    command = [sys.executable, "-m", "btm", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not file.exists() or file.read_bytes().count(b"\n") < 2):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = file.read_bytes().count(b"\n") - 1
    assert kept >= 1
    resumed = subprocess.run(command, capture_output=True, check=True)
    plain = subprocess.run(
        [w for w in command if w not in ("--resume", str(file))], capture_output=True, check=True
    )
    assert resumed.stdout == plain.stdout
