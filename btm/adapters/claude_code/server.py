"""The process that remembers between hooks: each hook is a process of its own, too short to load a memory."""

from __future__ import annotations

import json
import logging
import os
import socketserver
import threading
import time
from pathlib import Path
from typing import Any

from btm.adapters.claude_code.events import answer
from btm.memory import ToolMemory
from btm.support.failsafe import safely
from btm.support.file_lock import try_lock

IDLE_S = 3600.0
"""Seconds without an event after which the process ends."""
_LIMIT = 64_000_000
_LOOK_S = 1.0

_log = logging.getLogger("btm")


class _HookHandler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        line = self.rfile.readline(_LIMIT)
        server: Any = self.server
        server.seen_at = time.monotonic()
        made = safely(_answered, line, server.memory)
        self.wfile.write(json.dumps(made or {}).encode() + b"\n")


def _answered(line: bytes, memory: ToolMemory) -> dict[str, Any]:
    event = json.loads(line)
    return answer(event, memory) if isinstance(event, dict) else {}


def serve(memory: ToolMemory, path: Path, *, idle_s: float = IDLE_S) -> bool:
    """Answer hooks on a socket until none has come for ``idle_s`` seconds. Return False if another process does so.

    The socket is in a folder that only its owner can enter.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    with path.with_suffix(".lock").open("ab") as lock:
        if not try_lock(lock):
            return False
        path.unlink(missing_ok=True)  # left by a process that was killed: nobody else holds the lock
        server = _HookServer(str(path), memory)
        thread = threading.Thread(target=server.serve_forever, name="btm-hook", daemon=True)
        thread.start()
        try:
            while time.monotonic() - server.seen_at < idle_s:
                time.sleep(min(_LOOK_S, idle_s))
        finally:
            path.unlink(missing_ok=True)
            server.shutdown()
            server.server_close()
    return True


class _HookServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: str, memory: ToolMemory) -> None:
        self.memory = memory
        self.seen_at = time.monotonic()
        before = os.umask(0o177)
        try:
            super().__init__(path, _HookHandler)
        finally:
            os.umask(before)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - socketserver's signature
        """Go on: a hook that was stopped before it read its answer is no fault."""
        _log.debug("a hook was not answered", exc_info=True)
