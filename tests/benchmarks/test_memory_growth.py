"""Resident memory stays flat however long a process lives: 1,000,000 calls, 100,000 conversations, half of them never ended.

``BTM_MEMORY_CALLS=200000 pytest -o addopts= tests/benchmarks/test_memory_growth.py`` makes fewer; it prints what it saw.
"""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from btm import Effect, ToolCall, ToolMemory

CALLS = int(os.environ.get("BTM_MEMORY_CALLS", "1000000"))
A_CONVERSATION = 10
MOST_MB = 10.0
STATM = Path("/proc/self/statm")


def resident_mb() -> float:
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(not STATM.exists(), reason="resident memory is read from /proc")
@pytest.mark.parametrize("database", [True, False], ids=["a file", "this process"])
def test_resident_memory_stays_flat(database: bool, tmp_path: Path) -> None:
    luck = random.Random(1)

    def tool(name: str, arguments: Mapping[str, Any]) -> Any:
        if luck.random() < 0.3:
            raise TimeoutError(f"timed out after {luck.randint(1, 60)} s")
        return {"order_id": arguments["order_id"], "rows": [luck.random()] * 5}

    path = tmp_path / "btm.db" if database else None
    seen: list[float] = []
    with ToolMemory.open(path, sleep=lambda seconds: None, hooks=()) as memory:
        for number in range(CALLS):
            conversation = number // A_CONVERSATION
            name = f"get_{(conversation + number % 2) % 40}"
            call = ToolCall(
                name, {"order_id": f"o{number % 7}"}, Effect.READ, f"c{conversation}", f"k{number}"
            )
            memory.call(call, tool)
            if conversation % 2 and number % A_CONVERSATION == A_CONVERSATION - 1:
                memory.end(f"c{conversation}")
            if number % (CALLS // 20) == 0:
                memory.flush()
                seen.append(resident_mb())
        memory.flush()
        seen.append(resident_mb())
    print(f"{CALLS:,} calls: {', '.join(f'{mb:.0f}' for mb in seen)} MB")
    warm = seen[len(seen) * 2 // 5]
    assert max(seen[len(seen) * 2 // 5 :]) - warm < MOST_MB
