"""Fitting whole logs, by one worker and by several."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from shared_data import shared

from btm.errors import TraceError, UnknownFormatError
from btm.learning.posterior import Decay
from btm.logs import fitting
from btm.logs.fit import Fit
from btm.logs.fitting import Work, fit_logs, suitable_workers

DAY = 86_400.0
MAY = 1_777_600_000.0
WORK = Work(None, Decay(30 * DAY, MAY), MAY + 365 * DAY)


def chat(number: int, *answers: str) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"task {number}"}]
    for place, answer in enumerate(answers):
        function = {"name": "get_order", "arguments": json.dumps({"order_id": f"O{number}"})}
        messages += [
            {
                "role": "assistant",
                "tool_calls": [{"id": f"c{place}", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": f"c{place}", "content": answer},
        ]
    return {
        "conversation_id": f"conversation-{number}",
        "created_at": MAY + number * DAY / 7,
        "messages": messages,
    }


def write_lines(path: Path, count: int) -> Path:
    rows = (chat(n, *["Error: request timed out"] * (n % 4), "fine") for n in range(count))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def spans() -> list[str]:
    """Lines of forty traces of three calls each, mixed."""
    made = [
        {
            "trace_id": f"{n:032x}",
            "span_id": f"{n:08x}{turn:08x}",
            "name": "execute_tool get_order",
            "start_time": MAY + n + turn,
            "end_time": MAY + n + turn + 0.5,
            "attributes": {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "get_order",
                "gen_ai.tool.call.arguments": json.dumps({"order_id": f"O{n}"}),
                "gen_ai.tool.call.result": "Error: request timed out" if turn < n % 3 else "fine",
            },
        }
        for turn in range(3)
        for n in range(40)
    ]
    return [json.dumps(span) + "\n" for span in made]


def agree(one: Fit, other: Fit) -> None:
    assert one.sums.keys() == other.sums.keys()
    for key, sums in one.sums.items():
        assert other.sums[key] == pytest.approx(sums, rel=1e-12, abs=0.0)
    for name in ("conversations", "already_fitted", "calls", "incidents", "attempts", "errors", "skipped"):
        assert getattr(one, name) == getattr(other, name)
    assert list(one.fitted) == list(other.fitted)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "_PART_BYTES", 4_000)
    monkeypatch.setattr(fitting, "_PART_CONVERSATIONS", 3)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("form", ["lines", "gzip", "array", "spans"])
def test_two_workers_learn_what_one_learns(form: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    if form == "spans":
        path.write_text("".join(spans()))
    else:
        write_lines(path, 60)
    if form == "gzip":
        path.write_bytes(gzip.compress(path.read_bytes()))
    if form == "array":
        path.write_text(json.dumps([json.loads(line) for line in path.read_text().splitlines()]))
    one, two = fit_logs([path], WORK), fit_logs([path], WORK, workers=2)
    assert one.conversations > 30
    assert one.attempts > 10
    agree(one, two)


def test_two_workers_read_what_is_kept_in_another_form_as_one_does() -> None:
    further = Path(__file__).with_name("further")
    kept = (
        "autogpt_history",
        "bedrock_agent_response",
        "humanloop_flow",
        "lmstudio_conversation",
        "lobechat_export",
    )
    logs = [further / f"{name}.json" for name in kept]
    one, two = fit_logs(logs, WORK), fit_logs(logs, WORK, workers=2)
    assert one.calls > 10
    assert (one.conversations, one.calls, one.attempts) == (two.conversations, two.calls, two.attempts)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_trace_can_lie_in_several_files(workers: int, tmp_path: Path) -> None:
    lines = spans()
    (tmp_path / "whole.jsonl").write_text("".join(lines))
    parts = tmp_path / "parts"
    parts.mkdir()
    for place in range(3):
        (parts / f"{place}.jsonl").write_text("".join(lines[place::3]))
    write_lines(parts / "chats.jsonl", 8)
    whole, split = fit_logs([tmp_path / "whole.jsonl"], WORK), fit_logs([parts], WORK, workers=workers)
    assert split.conversations == whole.conversations + 8 == 48
    chats = fit_logs([parts / "chats.jsonl"], WORK)
    assert split.attempts == whole.attempts + chats.attempts
    assert {f.digest for f in split.fitted} == {f.digest for f in whole.fitted} | {
        f.digest for f in chats.fitted
    }
    both = fit_logs([tmp_path / "whole.jsonl", parts], WORK, workers=workers)
    assert both.conversations == 48


def test_two_workers_learn_from_recorded_logs_what_one_learns() -> None:
    paths = [shared("data/traces/tau2"), shared("data/traces/intercode/bash-gpt-4.jsonl.gz")]
    agree(fit_logs(paths, WORK), fit_logs(paths, WORK, workers=2))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_conversation_that_stands_twice_counts_once_whoever_reads_it(workers: int, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", 40)
    once = fit_logs([path], WORK)
    path.write_text(path.read_text() * 2)
    twice = fit_logs([path], WORK, workers=workers)
    assert (twice.conversations, twice.already_fitted) == (40, 40)
    assert twice.sums.keys() == once.sums.keys()
    for key, sums in once.sums.items():
        assert twice.sums[key] == pytest.approx(sums, rel=1e-12)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("workers", [1, 2])
def test_broken_lines_are_named_with_their_line_and_the_rest_is_learned_from(
    workers: int, tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "log.jsonl", 40)
    lines = path.read_text().splitlines()
    lines[6], lines[30] = '{"messages": [', "\x00"
    path.write_text("\n".join(lines))
    done = fit_logs([path], WORK, workers=workers)
    assert (done.conversations, [skipped.line for skipped in done.skipped]) == (38, [7, 31])
    with pytest.raises(TraceError, match=":7: not JSON"):
        fit_logs([path], WORK, workers=workers, strict=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_unknown_format_is_refused_by_name_and_skipped_in_a_folder(workers: int, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", 3)
    (tmp_path / "notes.txt").write_text("buy milk\n")
    done = fit_logs([tmp_path], WORK, workers=workers)
    assert done.conversations == 3
    assert "the format is not known" in done.skipped[0].reason
    with pytest.raises(UnknownFormatError, match="buy milk"):
        fit_logs([tmp_path / "notes.txt"], WORK, workers=workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_log_is_read_from_stdin(workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_lines(tmp_path / "log.jsonl", 8).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert fit_logs(["-"], WORK, workers=workers).conversations == 8


def test_what_was_fitted_before_is_not_learned_again_by_any_worker(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", 9)
    before = frozenset(fitted.digest for fitted in fit_logs([path], WORK).fitted)
    work = Work(None, WORK.decay, MAY, before)
    assert fit_logs([path], work, workers=2).already_fitted == 9


def test_progress_is_told_in_bytes_of_the_file(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", 9)
    read: list[int] = []
    fit_logs([path], WORK, watch=read.append)
    assert sum(read) == path.stat().st_size


LONG_FIT = """
import sys, time
from btm.logs import fitting
from btm.learning.posterior import Decay
fitting._PART_BYTES = 100
work = fitting.Work(None, Decay(), 0.0)
def wait(part):
    print("part", flush=True)
    time.sleep(60)
fitting.fit_logs([sys.argv[1]], work, workers=2, on_part=wait)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the workers are looked up in /proc")
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", 40)
    fit = subprocess.Popen([sys.executable, "-c", LONG_FIT, str(path)], stdout=subprocess.PIPE)
    assert fit.stdout is not None
    with fit.stdout:
        assert fit.stdout.readline() == b"part\n"
    children = Path(f"/proc/{fit.pid}/task/{fit.pid}/children").read_text().split()
    assert len(children) >= 2
    fit.send_signal(signal.SIGKILL)
    fit.wait()
    deadline = time.monotonic() + 10.0
    while any(_runs(int(pid)) for pid in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_runs(int(pid)) for pid in children)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_workers_are_started_afresh_while_another_thread_runs(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", 9)
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        agree(fit_logs([path], WORK), fit_logs([path], WORK, workers=2))
    finally:
        done.set()
        other.join()


def test_a_map_says_to_every_worker_what_is_a_switch(tmp_path: Path) -> None:
    path = tmp_path / "map.yaml"
    fallbacks = "[{tool: list_orders, coverage: full}]"
    path.write_text(
        "version: 1\ndomain: test\ntools:\n"
        f"  get_order: {{effect: read, fallbacks: {fallbacks}}}\n  list_orders: {{effect: read}}\n"
    )
    row = chat(1, "Error: request timed out", "fine", "fine")
    row["messages"][3]["tool_calls"][0]["function"]["name"] = "get_user"
    row["messages"][5]["tool_calls"][0]["function"]["name"] = "list_orders"
    log = tmp_path / "log.json"
    log.write_text(json.dumps([row]))
    work = Work(str(path), Decay(), MAY)
    for workers in (1, 2):
        done = fit_logs([log], work, workers=workers)
        assert [(key.action, key.target) for key in done.sums] == [("switch", "list_orders")]


def test_large_logs_are_worth_a_worker_for_each_processor(tmp_path: Path) -> None:
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    small.write_text("{}")
    with large.open("wb") as file:
        file.truncate(64 << 20)
    assert suitable_workers([small]) == 1
    assert 1 <= suitable_workers([tmp_path]) == suitable_workers([large]) == suitable_workers(["-"]) <= 8
    with pytest.raises(TraceError, match="no such file"):
        suitable_workers([tmp_path / "missing.jsonl"])
