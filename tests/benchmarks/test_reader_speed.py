"""How fast logs are read, against ``orjson.loads`` over the same lines, and in how much memory."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest
from shared_data import shared
from yardstick import FILES, parse_only

from btm.logs.reading import read_conversations

ROUNDS = 7
LIMIT_RATIO = 5.0  # measured 2.4 to 3.5; the margin is for busy machines
LIMIT_RSS_MB = 300
BIG_MB = 256


def best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


@pytest.mark.parametrize("name", FILES)
def test_reading_takes_a_small_multiple_of_parsing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = shared(f"data/traces/{name}")
    raw = path.read_bytes()
    lines = gzip.decompress(raw).splitlines() if path.suffix == ".gz" else [raw]
    pure = best(lambda: [0 for line in lines if orjson.loads(line) is None])
    parsing = best(lambda: parse_only(path))
    reading = best(lambda: sum(1 for _ in read_conversations([path])))
    with capsys.disabled():
        print(
            f"\n{name}: read {reading * 1e3:.1f} ms; the same file parsed {parsing * 1e3:.1f} ms (ratio"
            f" {reading / parsing:.2f}); orjson.loads alone {pure * 1e3:.1f} ms (ratio {reading / pure:.2f})"
        )
    assert reading / parsing < LIMIT_RATIO


def simulations() -> Iterator[bytes]:
    answer = json.dumps({"order_id": "W1", "items": ["}, {" * 20] * 10})
    for number in range(1 << 30):
        messages = []
        for turn in range(10):
            call = {"id": f"call_{turn}", "name": "get_order", "arguments": {"order_id": f"W{turn}"}}
            messages += [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [call],
                    "timestamp": "2025-08-01T16:20:50.283373",
                },
                {
                    "id": f"call_{turn}",
                    "role": "tool",
                    "content": answer,
                    "requestor": "assistant",
                    "error": False,
                },
            ]
        yield json.dumps(
            {"id": f"{number:036}", "task_id": "1", "reward_info": {"reward": 1.0}, "messages": messages}
        ).encode()


def write_big(path: Path, form: str) -> int:
    """Write a log of ``BIG_MB`` and return how many conversations it holds."""
    count = 0
    with path.open("wb") as file:
        file.write(
            b"" if form == "lines" else b'{"timestamp": "2025", "info": {}, "tasks": [], "simulations": ['
        )
        for element in simulations():
            if file.tell() > BIG_MB << 20:
                break
            file.write(element + b"\n" if form == "lines" else (b", " if count else b"") + element)
            count += 1
        file.write(b"" if form == "lines" else b"]}")
    return count


MEASURE = """
import resource, sys, time
from btm.logs.reading import read_conversations
start = time.perf_counter()
count = sum(1 for _ in read_conversations([sys.argv[1]]))
print(count, time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize("form", ["lines", "document"])
@pytest.mark.skipif(sys.platform == "win32", reason="resident memory is measured with the resource module")
def test_memory_stays_flat_whatever_the_size(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "big.json"
    count = write_big(path, form)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
    )
    read, seconds, peak = done.stdout.split()
    megabytes = int(peak) / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    with capsys.disabled():
        size = path.stat().st_size / 1e6
        print(
            f"\n{form}: {size:.0f} MB in {float(seconds):.1f} s ({size / float(seconds):.0f} MB/s), peak {megabytes:.0f} MB"
        )
    assert int(read) == count
    assert megabytes < LIMIT_RSS_MB
