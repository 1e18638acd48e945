"""One wish, one payment: across threads, processes and restarts, whatever was going on when one of them ended."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from core_kit import memory_of

from btm import FallbackMap, ToolMemory
from btm.fallback.wishes import wish_marks
from btm.model import Effect, ErrorKind, Outcome, ToolCall
from btm.runtime import intents
from btm.runtime.intents import Intents
from btm.store import Intent
from btm.store.sql import SqlStore
from btm.support import process_identity

PAY = FallbackMap.from_text("""
version: 1
domain: bank
tools:
  pay:
    effect: write
    irreversible: true
    verify:
      tool: get_payment
      arguments: {id: "{{ call.id }}"}
      done_when: "result.status == 'paid'"
  get_payment: {effect: read}
  set_note: {effect: write}
""")


def opened(path: Path, mode: str = "guard", **options: Any) -> ToolMemory:
    return memory_of(path=path, fallback_map=PAY, mode=mode, **options)


def pay(memory: ToolMemory, run: Callable[..., Any], call_id: str = "", **arguments: Any) -> Any:
    call = ToolCall("pay", {"id": "P1", **arguments}, Effect.WRITE, "talk", call_id)
    return memory.call(call, run)


class Bank:
    """Counts what was paid; fails after it."""

    def __init__(self, *errors: BaseException, status: str = "unknown") -> None:
        self.paid = 0
        self.errors = list(errors)
        self.status = status

    def __call__(self, tool: str, arguments: Any) -> Any:
        if tool == "get_payment":
            if self.status == "unknown":
                raise TimeoutError("timed out")
            return {"status": self.status}
        self.paid += 1
        if self.errors:
            raise self.errors.pop(0)
        return {"status": "paid"}


@pytest.mark.parametrize("mode", ["guard", "act"])
@pytest.mark.parametrize("again", [{}, {"note": "second try"}, {"id": "p1"}], ids=str)
def test_a_restart_does_not_forget_a_write_in_doubt(mode: str, again: dict[str, Any], tmp_path: Path) -> None:
    bank = Bank(TimeoutError("timed out"))
    first = opened(tmp_path / "btm.db", mode)
    pay(first, bank)
    first.close()
    second = opened(tmp_path / "btm.db", mode)
    assert pay(second, bank, **again).refused
    assert bank.paid == 1
    second.close()


def test_a_write_that_is_known_not_to_have_happened_may_be_repeated_after_a_restart(tmp_path: Path) -> None:
    bank = Bank(TimeoutError("timed out"), status="none")
    first = opened(tmp_path / "btm.db")
    pay(first, bank)
    first.close()
    second = opened(tmp_path / "btm.db")
    assert pay(second, bank).refused
    second.call(ToolCall("get_payment", {"id": "P1"}, Effect.READ, "talk"), bank)
    assert not pay(second, bank).refused
    assert bank.paid == 2
    second.close()


def test_a_wish_that_was_found_fulfilled_is_settled_for_everybody(tmp_path: Path) -> None:
    bank = Bank(TimeoutError("timed out"), status="paid")
    memory = opened(tmp_path / "btm.db")
    pay(memory, bank)
    memory.call(ToolCall("get_payment", {"id": "P1"}, Effect.READ, "talk"), bank)
    memory.close()
    assert SqlStore(tmp_path / "btm.db").unsettled("talk") == []


def test_another_wish_and_another_conversation_are_not_in_its_way(tmp_path: Path) -> None:
    bank = Bank(TimeoutError("timed out"))
    first = opened(tmp_path / "btm.db")
    pay(first, bank)
    first.close()
    second = opened(tmp_path / "btm.db")
    assert not pay(second, bank, id="P2").refused
    other = ToolCall("pay", {"id": "P1"}, Effect.WRITE, "another talk")
    assert not second.call(other, bank).refused
    second.close()


def test_a_failure_that_did_nothing_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    bank = Bank(ConnectionRefusedError("connection refused"))
    first = opened(tmp_path / "btm.db")
    pay(first, bank)
    first.close()
    second = opened(tmp_path / "btm.db")
    assert not pay(second, bank).refused
    second.close()


class Lagging:
    """A database that never hears how a write ended: its writer is behind."""

    def __init__(self) -> None:
        self.noted: list[Intent] = []

    def claim(self, intent: Intent, blocks: Callable[[Intent], bool]) -> Intent | None:
        standing = next((other for other in self.noted if blocks(other)), None)
        self.noted += [intent] if standing is None else []
        return standing

    def unsettled(self, conversation: str) -> list[Intent]:
        return list(self.noted)


@pytest.mark.parametrize(
    "outcome",
    [Outcome(None), Outcome(ErrorKind.AUTH_ERROR, "401")],
    ids=["it worked", "it failed and did nothing"],
)
def test_a_write_that_ended_is_not_in_doubt_while_the_database_has_yet_to_hear_of_it(
    outcome: Outcome,
) -> None:
    intents = Intents(Lagging(), b"key", PAY, lambda event: None)
    call = ToolCall("pay", {"id": "P1"}, Effect.WRITE, "talk", "c1")
    assert intents.begin(call, "print", 0.0, ()) is None
    assert [intents.runs(i, 0.0) for i in intents.unsettled("talk")] == [True]
    intents.end(call, outcome)
    assert intents.unsettled("talk") == []
    assert intents.begin(replace(call, call_id="c2"), "print", 1.0, ()) is None


KILLED = """
import os, signal, sys
sys.path[:0] = {paths!r}
from pathlib import Path
from test_intents import opened, pay
def killed(tool, arguments):
    os.kill(os.getpid(), signal.SIGKILL)
pay(opened(Path({path!r})), killed, "k1")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this platform has no kill -9")
@pytest.mark.parametrize("call_id", ["k1", "k2"])
def test_a_process_killed_inside_a_write_leaves_it_in_doubt(call_id: str, tmp_path: Path) -> None:
    here = Path(__file__).resolve().parent
    code = KILLED.format(paths=[str(here), str(here.parent)], path=str(tmp_path / "btm.db"))
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    bank = Bank()
    memory = opened(tmp_path / "btm.db")
    assert pay(memory, bank, call_id).refused
    assert bank.paid == 0
    memory.close()


def test_the_replay_of_a_payment_that_worked_is_refused(tmp_path: Path) -> None:
    bank = Bank()
    first = opened(tmp_path / "btm.db")
    pay(first, bank, "k1")
    first.close()
    second = opened(tmp_path / "btm.db")
    handled = pay(second, bank, "k1")
    assert handled.refused
    assert "it worked" in handled.context.text
    assert not pay(second, bank, "k2").refused, "to ask for it once more is another wish"
    second.close()


@pytest.mark.parametrize("processes", [1, 2])
def test_of_threads_that_want_the_same_at_once_one_pays(processes: int, tmp_path: Path) -> None:
    memories = [opened(tmp_path / "btm.db") for _ in range(processes)]
    running, go_on = threading.Event(), threading.Event()
    paid: list[str] = []

    def slow(tool: str, arguments: Any) -> Any:
        paid.append(tool)
        running.set()
        assert go_on.wait(20.0)
        return {"status": "paid"}

    first = threading.Thread(target=pay, args=(memories[0], slow))
    first.start()
    assert running.wait(20.0)
    refused = [pay(memory, slow, f"k{n}") for memory in memories for n in range(2)]
    go_on.set()
    first.join()
    assert [handled.refused for handled in refused] == [True] * len(refused)
    assert paid == ["pay"]
    for memory in memories:
        memory.close()


def test_a_write_of_a_process_that_runs_is_not_repeated_although_a_check_does_not_show_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "btm.db"
    bank = Bank(status="none")
    memory = opened(path)
    store = SqlStore(path)

    def begun_elsewhere(tool: str, arguments: Any) -> Any:
        raise TimeoutError("timed out")

    pay(memory, begun_elsewhere, "k1")
    memory.flush()
    with store._database.transaction() as connection:
        connection.exec_driver_sql("UPDATE intents SET state = 'begun', owner = 'elsewhere|7|1'")
    memory.close()
    again = opened(path)
    monkeypatch.setattr("btm.runtime.intents.is_running", lambda owner: True)
    for _ in range(2):
        again.call(ToolCall("get_payment", {"id": "P1"}, Effect.READ, "talk"), bank)
        assert pay(again, bank).refused
    monkeypatch.setattr("btm.runtime.intents.is_running", lambda owner: False)
    assert pay(again, bank).refused, "now it is in doubt"
    again.call(ToolCall("get_payment", {"id": "P1"}, Effect.READ, "talk"), bank)
    assert not pay(again, bank).refused
    again.close()


def test_a_cancelled_write_is_in_doubt(tmp_path: Path) -> None:
    async def cancelled() -> None:
        memory = opened(tmp_path / "btm.db")
        begun = asyncio.Event()

        async def slow(tool: str, arguments: Any) -> Any:
            begun.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(memory.acall(ToolCall("pay", {"id": "P1"}, Effect.WRITE, "talk"), slow))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        bank = Bank()
        assert pay(memory, bank).refused
        assert bank.paid == 0
        memory.close()

    asyncio.run(cancelled())


def test_a_write_that_a_framework_put_off_is_made_when_it_comes_again(tmp_path: Path) -> None:
    signal_ = type("GraphBubbleUp", (Exception,), {"__module__": "langgraph.errors"})
    memory = opened(tmp_path / "btm.db")

    def interrupted(tool: str, arguments: Any) -> Any:
        raise signal_

    with pytest.raises(signal_):
        pay(memory, interrupted, "k1")
    bank = Bank()
    assert not pay(memory, bank, "k1").refused
    assert bank.paid == 1
    memory.close()


def test_ordinary_writes_are_noted_without_a_wait_and_strictly_if_asked(tmp_path: Path) -> None:
    def noted(durability: str) -> list[str]:
        path = tmp_path / f"{durability}.db"
        memory, other = opened(path, durability=durability), SqlStore(path)
        seen: list[str] = []

        def look(tool: str, arguments: Any) -> str:
            seen.extend(intent.call_id for intent in other.unsettled("talk"))
            return "done"

        memory.call(ToolCall("set_note", {"id": "1"}, Effect.WRITE, "talk", "k1"), look)
        memory.close()
        return seen

    assert noted("strict") == ["k1"]
    assert noted("default") in ([], ["k1"]), "whenever the writer came to it"


@pytest.mark.parametrize("tool", ["send_payment", "bookTable"])
def test_of_a_tool_that_no_map_knows_the_name_says_whether_it_is_on_the_disk_first(
    tool: str, tmp_path: Path
) -> None:
    memory = memory_of(path=tmp_path / "btm.db", fallback_map=FallbackMap.empty(), mode="guard")
    memory.call(ToolCall("warm_up", {}, Effect.READ, "talk"), lambda *_: "fine")
    assert memory.flush()
    found: list[int] = []

    def run(*_: Any) -> str:
        found.append(len(SqlStore(tmp_path / "btm.db").unsettled("talk")))
        return "done"

    memory.call(ToolCall(tool, {"id": "P1"}, Effect.WRITE, "talk"), run)
    memory.close()
    assert found == [1]


def test_arguments_are_not_given_away_by_what_is_noted(tmp_path: Path) -> None:
    memory = opened(tmp_path / "btm.db")
    pay(memory, Bank(TimeoutError("timed out")), account="DE89370400440532013000")
    memory.close()
    data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"DE89370400440532013000" not in data
    assert b"account" not in data


def test_a_process_knows_whether_another_one_runs() -> None:
    assert process_identity.is_running(process_identity.own())
    assert process_identity.is_running("elsewhere|1|1") is None
    if hasattr(os, "fork") and process_identity.own().rpartition("|")[2]:
        done = subprocess.Popen([sys.executable, "-c", "pass"])
        host = process_identity.own().split("|")[0]
        done.wait()
        assert process_identity.is_running(f"{host}|{done.pid}|1") is False


@pytest.mark.parametrize("mode", ["advise", "guard", "act"])
def test_a_write_is_prepared_once_however_often_it_is_noted(mode: str, monkeypatch: Any) -> None:
    prepared: list[Any] = []

    def counted(arguments: Any, *rest: Any) -> dict[str, str]:
        prepared.append(arguments)
        return wish_marks(arguments, *rest)

    monkeypatch.setattr(intents, "wish_marks", counted)
    with memory_of(fallback_map=PAY, mode=mode) as memory:
        pay(memory, Bank(), "c1")
    assert len(prepared) == 1
