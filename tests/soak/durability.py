"""What a note before a write costs: ``python tests/soak/durability.py``."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from btm import Effect, ToolCall, ToolMemory

CALLS = 1_000


def median_ms(memory: ToolMemory, effect: Effect) -> float:
    took = []
    for number in range(CALLS):
        call = ToolCall("do_it", {"number": number}, effect, f"{effect}-{number}", "1")
        began = time.perf_counter()
        memory.call(call, lambda tool, arguments: {"ok": True})
        took.append(time.perf_counter() - began)
    return sorted(took)[CALLS // 2] * 1e3


def main() -> None:
    for durability in ("default", "strict"):
        with tempfile.TemporaryDirectory() as folder:
            memory = ToolMemory.open(Path(folder) / "btm.db", durability=durability, mode="guard")
            for effect in (Effect.READ, Effect.WRITE):
                print(f"{durability:8} {effect:6} median {median_ms(memory, effect):.2f} ms a call")
            memory.close()


if __name__ == "__main__":
    main()
