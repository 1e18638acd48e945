"""What the scenarios run in processes of their own."""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from btm import Effect, FallbackMap, ToolCall, ToolMemory
from btm.cli.main import main as run_command

logging.getLogger("btm").setLevel(logging.CRITICAL)
MAP = "version: 1\ndomain: bank\ntools:\n  pay: {effect: write, irreversible: true}\n"


def failing(tool: str, arguments: object) -> object:
    raise TimeoutError("timed out")


def fine(tool: str, arguments: object) -> object:
    return {"ok": True}


def lived(memory: ToolMemory, name: str) -> None:
    for call_id, invoke in (("1", failing), ("2", fine)):
        memory.call(ToolCall("get_order", {"id": name}, Effect.READ, name, call_id), invoke)
    memory.end(name)


def acknowledge(path: str, run: str) -> None:
    """Live conversations for ever, and name each once it is in the database."""
    memory = ToolMemory.open(path, sleep=lambda seconds: None)
    print("begun", flush=True)
    number = 0
    while True:
        names = [f"r{run}-{number + n}" for n in range(3)]
        number += 3
        for name in names:
            lived(memory, name)
        if memory.flush():
            print("".join(f"{name}.\n" for name in names), end="", flush=True)


def attempts(path: str, process: str, number: str) -> None:
    memory = ToolMemory.open(path, sleep=lambda seconds: None)
    for item in range(int(number)):
        lived(memory, f"p{process}-{item}")
    print(any(memory.flush() for _ in range(30)) and memory.close())


def pay(path: str, mode: str, how: str, ledger: str) -> None:
    """Make a payment; ``kill``: the process ends while it runs, after the money went."""
    memory = ToolMemory.open(
        path, mode=mode, fallback_map=FallbackMap.from_text(MAP), sleep=lambda seconds: None
    )

    def tool(name: str, arguments: object) -> object:
        with Path(ledger).open("a") as file:
            file.write("paid\n")
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"paid": True}

    memory.call(ToolCall("pay", {"to": "ann", "amount": 5}, Effect.WRITE, "talk", ""), tool)
    memory.close()


def read_only(path: str, rounds: str) -> None:
    """Take the right to write from the database under a running memory, have another one opened, and give it back."""
    # Root may write whatever it likes, unless it gives its capabilities away.
    capset: Any = ctypes.CDLL(None).capset
    capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())
    memory = ToolMemory.open(path, sleep=lambda seconds: None)
    lived(memory, "first")
    good = memory.flush()
    for item in range(int(rounds)):
        _allow(Path(path), 0o444, 0o555)
        late = ToolMemory.open(path, sleep=lambda seconds: None)
        lived(memory, f"a{item}")
        lived(late, f"b{item}")
        good &= not late.flush()
        _allow(Path(path), 0o644, 0o755)
        good &= late.flush() and late.close() and memory.flush()
    print(good and memory.close())


def _allow(path: Path, file_mode: int, folder_mode: int) -> None:
    path.parent.chmod(0o755)
    for file in path.parent.glob(f"{path.name}*"):
        if not file.name.endswith(".key"):
            file.chmod(file_mode)
    path.parent.chmod(folder_mode)


def command(kill_after: str, *argv: str) -> None:
    """Run a btm command, in 2 GB of memory at most; kill it after so many steps of SQLite inside, 0: never."""
    resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, resource.RLIM_INFINITY))
    steps = [0]

    def step() -> int:
        steps[0] += 1
        if steps[0] == int(kill_after):
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    @event.listens_for(Engine, "connect")
    def count(connection: Any, record: object) -> None:
        if hasattr(connection, "set_progress_handler"):
            connection.set_progress_handler(step, 50)

    atexit.register(lambda: print("steps", steps[0], file=sys.stderr))
    sys.argv = ["btm", *argv]
    run_command()


if __name__ == "__main__":
    commands: dict[str, Callable[..., None]] = {
        "acknowledge": acknowledge,
        "attempts": attempts,
        "pay": pay,
        "read_only": read_only,
        "command": command,
    }
    commands[sys.argv[1]](*sys.argv[2:])
