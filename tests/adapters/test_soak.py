"""Many conversations at once, with faults, interrupts and cancellations, against a ledger that the tools keep.

``BTM_SOAK_CONVERSATIONS`` sets how many (200 by default, half of them awaited); 2,000 take about two minutes.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kit import DONE, ScriptedModel, calls, memory_of
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from message_rules import assert_accepted

from btm.adapters.langchain import BTMMiddleware

CONVERSATIONS = int(os.environ.get("BTM_SOAK_CONVERSATIONS", "200"))
THREADS, GATHERED = 16, 200

MAP = """
version: 1
domain: soak
tools:
  look: {effect: read}
  charge:
    effect: write
    verify: {tool: charged, arguments: {key: "{{ call.key }}"}, done_when: "result.charged == true"}
  charged: {effect: read}
  approve: {effect: write}
  stall: {effect: write}
"""


class Ledger:
    """What really ran: every execution that ended, as (conversation, tool, whether it worked), and every write."""

    def __init__(self) -> None:
        self.ended: Counter[tuple[str, str, bool]] = Counter()
        self.runs: dict[str, list[bool]] = {}
        self.written: Counter[str] = Counter()
        self.stalled: dict[str, asyncio.Event] = {}
        self._lock = threading.Lock()

    def note(self, key: str, name: str, worked: bool) -> None:
        with self._lock:
            self.ended[(key.split("/", maxsplit=1)[0], name, worked)] += 1
            self.runs.setdefault(f"{name} {key}", []).append(worked)

    def write(self, key: str) -> None:
        with self._lock:
            self.written[key] += 1


def shop(ledger: Ledger, luck: random.Random) -> list[Any]:
    """Tools that fail at random. A key names one call of the model: ``conversation/number``."""

    def look_up(key: str) -> str:
        fails = luck.random() < 0.4
        ledger.note(key, "look", not fails)
        if fails:
            raise TimeoutError("timed out")
        return f"seen {key}"

    @tool
    def look(key: str) -> str:
        """Read."""
        return look_up(key)

    @tool
    def charge(key: str) -> str:
        """Write: it may fail before it happened, or after."""
        chance = luck.random()
        if chance >= 0.2:
            ledger.write(key)
        ledger.note(key, "charge", chance >= 0.4)
        if chance < 0.4:
            raise TimeoutError("timed out")
        return "charged"

    @tool
    def charged(key: str) -> dict[str, bool]:
        """Look whether a write happened."""
        ledger.note(key, "charged", True)
        return {"charged": ledger.written[key] > 0}

    @tool
    def approve(key: str) -> str:
        """Ask a person first."""
        answer = interrupt(key)
        ledger.write(key)
        ledger.note(key, "approve", True)
        return f"approved: {answer}"

    @tool
    async def stall(key: str) -> str:
        """Never end: the run is cancelled here."""
        ledger.stalled[key.split("/", maxsplit=1)[0]].set()
        await asyncio.sleep(3_600)
        return "never"

    return [look, charge, charged, approve, stall]


def script(name: str, luck: random.Random, *, cancelled: bool) -> list[Any]:
    """Batches of calls, some parallel, each call with a key of its own."""
    numbers = iter(range(100))

    def one(tool_name: str) -> tuple[str, dict[str, str], str]:
        number = next(numbers)
        return tool_name, {"key": f"{name}/{number}"}, f"{name}-{number}"

    batches = [
        [one(luck.choice(["look", "look", "charge"])) for _ in range(luck.choice([1, 1, 2, 3]))]
        for _ in range(luck.randint(1, 4))
    ]
    if luck.random() < 0.3:
        batches.append([one("approve")])
    if cancelled:
        batches.append([one("stall")])
    return [*(calls(*batch) for batch in batches), DONE]


def check(model: ScriptedModel, messages: list[BaseMessage]) -> None:
    for request in model.requests:
        assert_accepted(request)
    assert_accepted(messages, ["openai"])


def agent(
    name: str, middleware: Any, tools: list[Any], *, cancelled: bool = False
) -> tuple[Any, ScriptedModel, Any]:
    model = ScriptedModel(script=script(name, random.Random(name), cancelled=cancelled))
    made = create_agent(model, tools, middleware=[middleware], checkpointer=InMemorySaver())
    return made, model, {"configurable": {"thread_id": name}}


def talk(name: str, middleware: Any, tools: list[Any]) -> None:
    made, model, thread = agent(name, middleware, tools)
    answer = made.invoke({"messages": [HumanMessage(name)]}, thread)
    while "__interrupt__" in answer:
        answer = made.invoke(Command(resume="yes"), thread)
    check(model, answer["messages"])


async def atalk(name: str, middleware: Any, tools: list[Any], ledger: Ledger) -> None:
    cancelled = random.Random(f"{name} cancelled").random() < 0.2
    ledger.stalled[name] = asyncio.Event()
    made, model, thread = agent(name, middleware, tools, cancelled=cancelled)

    async def run() -> Any:
        answer = await made.ainvoke({"messages": [HumanMessage(name)]}, thread)
        while "__interrupt__" in answer:
            answer = await made.ainvoke(Command(resume="yes"), thread)
        return answer

    task = asyncio.ensure_future(run())
    if cancelled:
        await ledger.stalled[name].wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        check(model, [])
    else:
        check(model, (await task)["messages"])


@pytest.mark.parametrize("mode", ["act", "advise"])
def test_nothing_is_lost_doubled_or_out_of_order(mode: str, tmp_path: Path) -> None:
    ledger = Ledger()
    memory = memory_of(mode, map_text=MAP, path=tmp_path / "soak.db", half_life_s=float("inf"))
    middleware = BTMMiddleware(memory)
    tools = shop(ledger, random.Random(11))
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda n: talk(f"s{n}", middleware, tools), range(CONVERSATIONS // 2)))

    async def gathered() -> None:
        for first in range(0, CONVERSATIONS - CONVERSATIONS // 2, GATHERED):
            last = min(first + GATHERED, CONVERSATIONS - CONVERSATIONS // 2)
            await asyncio.gather(*(atalk(f"a{n}", middleware, tools, ledger) for n in range(first, last)))

    asyncio.run(gathered())
    assert memory.flush()
    rows = memory._store.log("calls")  # type: ignore[attr-defined]
    assert Counter((r["conversation"], r["tool"], r["kind"] is None) for r in rows) == ledger.ended
    assert [key for key, times in ledger.written.items() if times > 1] == []

    # Every execution of a read after its first failure was one attempt, and nothing else was.
    tries = [runs for key, runs in ledger.runs.items() if key.startswith("look ") and len(runs) > 1]
    expected = (sum(sum(runs[1:]) for runs in tries), sum(len(runs) - 1 for runs in tries))
    # The rows, not the beliefs: those let go what lies before a change, and chance looks like one now and then.
    attempts = memory._store.log("attempts")  # type: ignore[attr-defined]
    retries = [bool(r["success"]) for r in attempts if (r["tool"], r["action"]) == ("look", "retry")]
    assert (sum(retries), len(retries)) == expected
    assert (mode == "act") == (expected[1] > 0)
    print(
        f"{mode}: {sum(ledger.ended.values())} executions, {expected} retries, {len(ledger.written)} writes"
    )
    memory.close()
