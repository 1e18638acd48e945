"""The tool of the tests of worker processes: its first call in each process times out, its repeat works."""

from __future__ import annotations

import os

from btm import ToolMemory

MEMORY = ToolMemory.open(os.environ["BTM_TEST_DATABASE"], mode="act", sleep=lambda _: None)
PARENT = os.getpid()
_made: list[int] = []


@MEMORY.wrap(effect="read")
def look_up(order_id: str) -> str:
    """Look an order up."""
    _made.append(os.getpid())
    if _made.count(os.getpid()) == 1:
        raise TimeoutError("timed out")
    return f"{order_id}: shipped, by {os.getpid()}"
