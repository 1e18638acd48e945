"""A named pipe is waited for, and not for ever."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from btm import FallbackMap, ToolMemory
from btm.cli.main import cli
from btm.errors import BTMError, StoreError
from btm.support import open_files
from btm.support.open_files import read_whole

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(open_files, "WAIT_S", 0.3)
    os.mkfifo(tmp_path / "pipe.yaml")
    return tmp_path / "pipe.yaml"


def test_what_is_written_into_a_pipe_is_read(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "WAIT_S", 30.0)

    def write() -> None:
        with pipe.open("wb") as file:
            file.write(b"one ")
            file.flush()
            time.sleep(0.05)
            file.write(b"two")

    writer = threading.Thread(target=write)
    writer.start()
    assert read_whole(pipe) == b"one two"
    writer.join()


def test_a_pipe_that_nobody_writes_is_said_and_leaves_no_thread(pipe: Path) -> None:
    with pytest.raises(TimeoutError, match="nobody writes"):
        read_whole(pipe)
    for thread in threading.enumerate():
        if thread.name == "btm-pipe":
            thread.join(5.0)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    "argv",
    [
        ["fit", "--dry-run", "{}"],
        ["audit", "{}"],
        ["classify", "{}"],
        ["map", "check", "{}"],
        ["context", "--tool", "t", "--error", "timeout", "--map", "{}"],
        ["context", "--tool", "t", "--error", "timeout", "--policies", "{}"],
        ["context", "--tool", "t", "--error", "timeout", "--call", "@{}"],
        ["context", "--tool", "t", "--error", "timeout", "--db", "{}"],
        ["show", "--db", "{}"],
        ["fit", "--db", "{}", "-"],
    ],
)
def test_no_command_waits_for_ever(argv: list[str], pipe: Path) -> None:
    result = CliRunner().invoke(cli, [part.format(pipe) for part in argv])
    assert result.exit_code
    assert isinstance(result.exception, BTMError | SystemExit)


def test_a_memory_says_that_a_pipe_is_no_database(pipe: Path) -> None:
    with pytest.raises(StoreError, match="no file"):
        ToolMemory.open(pipe)
    with pytest.raises(BTMError, match="nobody writes"):
        FallbackMap.load(pipe)
