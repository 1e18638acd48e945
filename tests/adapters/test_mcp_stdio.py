"""The proxy's own end of stdio: what it takes, and how it ends."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastmcp", reason="the MCP proxy needs the extra 'mcp'")

from mcp_kit import SERVER

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows cannot watch pipes: the SDK reads them"
)


def message(number: int, method: str, **params: Any) -> bytes:
    asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(asked).encode() + b"\n"


HELLO = message(
    1,
    "initialize",
    protocolVersion="2025-06-18",
    capabilities={},
    clientInfo={"name": "test", "version": "1"},
)
ADD = message(2, "tools/call", name="add", arguments={"a": 1, "b": 2})


@contextmanager
def proxy(
    folder: Path, stdin: Any = subprocess.PIPE, stdout: Any = subprocess.PIPE
) -> Iterator[subprocess.Popen[bytes]]:
    command = [
        sys.executable,
        "-m",
        "btm",
        "mcp",
        "--db",
        str(folder / "mcp.db"),
        "--",
        sys.executable,
        str(SERVER),
    ]
    with subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def answers(lines: bytes) -> list[Any]:
    return [(found["id"], "error" in found) for found in map(json.loads, lines.splitlines()) if "id" in found]


def test_a_line_may_be_long_or_broken(tmp_path: Path) -> None:
    odd = b"no JSON\n\n\xff\xfe\n" + ADD.replace(b"\n", b"\r\n")
    long = message(3, "tools/call", name="no_such_tool", arguments={"a": "x" * 5_000_000})
    with proxy(tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(HELLO + odd + long)
        process.stdin.flush()
        said = b"".join(process.stdout.readline() for _ in range(3))
        assert sorted(answers(said)) == [(1, False), (2, False), (3, False)]
        rest, complaint = process.communicate()
    assert (process.returncode, rest, complaint) == (0, b"", b"")


def test_files_and_one_socket_for_both_are_served_too(tmp_path: Path) -> None:
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as said:
        asked.write(HELLO + ADD)
        asked.seek(0)
        with proxy(tmp_path, asked, said) as process:
            assert process.wait(60) == 0
        said.seek(0)
        assert [number for number, _ in answers(said.read())] == [1, 2]  # the end of a file ends the session
    ours, theirs = socket.socketpair()
    with ours, proxy(tmp_path, theirs, theirs) as process:
        theirs.close()
        ours.settimeout(60)
        ours.sendall(HELLO + ADD)
        got = b""
        while got.count(b"\n") < 2:
            got += ours.recv(65_536)
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(60) == 0
    assert answers(got) == [(1, False), (2, False)]


def test_a_proxy_that_waits_for_its_client_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    with proxy(tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(HELLO)
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_a_client_that_reads_no_more_ends_the_session_without_a_word(tmp_path: Path) -> None:
    with proxy(tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(HELLO)
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(ADD)
        process.stdin.flush()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""
