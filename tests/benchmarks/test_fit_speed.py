"""How fast logs are fitted, against ``orjson.loads`` over the same lines, by one worker and two, and in how much memory.

The long ones are run with ``pytest tests/benchmarks -o addopts= -s``.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pytest
from shared_data import shared
from yardstick import FILES, parse_only

from btm.learning.posterior import Decay
from btm.logs.fitting import Work, fit_logs

ROUNDS = 3
# Measured 9 to 14 times the parsing of the same file, and 36 to 52 for very short calls; the margin is for busy machines.
LIMIT_RATIO, LIMIT_SHORT_CALLS = 30.0, 110.0
LIMIT_OVERHEAD = 1.35
LIMIT_RSS_MB = 300
BIG_MB = 2_048


_times = count(1_777_600_000)


def work() -> Work:
    """Work of another time each, so that no round profits from what the one before it had classified."""
    return Work(None, Decay(), float(next(_times)))


def best(do: Callable[[], object]) -> float:
    """Seconds of this process's own time: other programs on the machine do not count."""
    times = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        do()
        times.append(time.process_time() - begun)
    return min(times)


@pytest.mark.parametrize("name", FILES)
def test_fitting_takes_a_multiple_of_parsing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = shared(f"data/traces/{name}")
    raw = path.read_bytes()
    lines = gzip.decompress(raw).splitlines() if path.suffix == ".gz" else [raw]
    pure = best(lambda: [0 for line in lines if orjson.loads(line) is None])
    parsing = best(lambda: parse_only(path))
    fitting = best(lambda: fit_logs([path], work()))
    with capsys.disabled():
        print(
            f"\n{name}: fitted in {fitting * 1e3:.0f} ms; the same file parsed {parsing * 1e3:.1f} ms (ratio"
            f" {fitting / parsing:.1f}); orjson.loads alone {pure * 1e3:.1f} ms (ratio {fitting / pure:.1f})"
        )
    assert fitting / parsing < (LIMIT_SHORT_CALLS if "intercode" in name else LIMIT_RATIO)


def conversation(number: int) -> bytes:
    """A conversation of ten calls, some of which fail and are repeated; no two are the same."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"task {number}: " + "please help me. " * 20}
    ]
    for turn in range(10):
        arguments = json.dumps({"order_id": f"W{number}-{turn // 2}"})
        call = {
            "id": f"call_{turn}",
            "type": "function",
            "function": {"name": "get_order", "arguments": arguments},
        }
        answer = json.dumps(
            {
                "order_id": f"W{number}-{turn // 2}",
                "status": "shipped",
                "items": [{"sku": n} for n in range(40)],
            }
        )
        failed = turn % 2 == 0 and (number + turn) % 3 == 0
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": f"call_{turn}",
                "content": "Error: request timed out" if failed else answer,
            },
        ]
    record = {"trace_id": f"trace-{number:030}", "created_at": 1_777_600_000 + number, "messages": messages}
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def write_log(path: Path, megabytes: int) -> int:
    with path.open("wb") as file:
        for number in count():
            if file.tell() >= megabytes << 20:
                return number
            file.write(conversation(number))
    raise AssertionError("counting does not end")


def times() -> tuple[float, float]:
    """Seconds on the clock, and of this process and its children on the processor."""
    spent = os.times()
    return time.perf_counter(), sum(spent[:4])


def test_two_workers_share_the_work_and_add_little_to_it(
    benchmark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.jsonl"
    written = write_log(path, 60)
    begun = time.perf_counter()
    with path.open("rb") as lines:
        parsed = sum(1 for line in lines if orjson.loads(line))
    parsing = time.perf_counter() - begun
    wall, cpu, fits = [], [], []

    def both() -> None:
        for workers in (1, 2):
            begun, used = times()
            fits.append(fit_logs([path], work(), workers=workers))
            ended, all_used = times()
            wall.append(ended - begun)
            cpu.append(all_used - used)

    benchmark.pedantic(both, rounds=1)
    with capsys.disabled():
        print(
            f"\n60 MB, {written} conversations: one worker {wall[0]:.1f} s, two {wall[1]:.1f} s "
            f"({wall[0] / wall[1]:.2f} times as fast; {cpu[1] / cpu[0]:.2f} times the processor time); orjson.loads over "
            f"the lines {parsing:.2f} s (ratios {wall[0] / parsing:.1f} and {wall[1] / parsing:.1f})"
        )
    assert fits[0].conversations == fits[1].conversations == written == parsed
    assert fits[0].sums == fits[1].sums
    assert cpu[1] / cpu[0] < LIMIT_OVERHEAD


MEASURE = """
import resource, sys, time
from btm.learning.posterior import Decay
from btm.logs.fitting import Work, fit_logs
begun = time.perf_counter()
done = fit_logs([sys.argv[1]], Work(None, Decay(), 0.0), workers=int(sys.argv[2]))
peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(done.conversations, time.perf_counter() - begun, *peaks)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="resident memory is measured with the resource module")
def test_memory_stays_flat_whatever_the_size(
    benchmark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "big.jsonl"
    written = write_log(path, BIG_MB)
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10

    def run(workers: int) -> None:
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(path), str(workers)],
            capture_output=True,
            text=True,
            check=True,
        )
        fitted, seconds, own, workers_own = map(float, done.stdout.split())
        with capsys.disabled():
            print(
                f"\n{BIG_MB} MB, {workers} workers: {seconds:.1f} s ({BIG_MB / seconds:.0f} MB/s), peak "
                f"{own / unit:.0f} MB, of a worker {workers_own / unit:.0f} MB"
            )
        assert fitted == written
        assert max(own, workers_own) / unit < LIMIT_RSS_MB

    benchmark.pedantic(lambda: [run(workers) for workers in (1, 2)], rounds=1)
