"""Which process something is from, and whether that one still runs."""

from __future__ import annotations

import os
import platform
from pathlib import Path

_OWN: list[tuple[int, str]] = []


def own() -> str:
    """Return the identity of this process: its host (and there, its world of process ids), its id, and when it began."""
    pid = os.getpid()
    if not _OWN or _OWN[-1][0] != pid:  # a forked child is another process
        _OWN[:] = [(pid, f"{_host()}|{pid}|{_begun(pid)}")]
    return _OWN[-1][1]


def is_running(identity: str) -> bool | None:
    """Whether the process of an identity runs; None where that cannot be told from here."""
    host, _, rest = identity.rpartition("|")[0].rpartition("|")
    if host != _host() or not rest.isdecimal():
        return None
    begun = identity.rpartition("|")[2]
    if not begun:
        return None  # this platform does not say when a process began, and ids are given again
    return _begun(int(rest)) == begun


def _host() -> str:
    parts = [platform.node()[:48], _read("/proc/sys/kernel/random/boot_id")[:8]]
    try:
        parts.append(os.readlink("/proc/self/ns/pid"))
    except OSError:
        parts.append("")
    return ":".join(parts)


def _begun(pid: int) -> str:
    # The 22nd field, counted behind the name, which may hold anything. In clock ticks since the machine started.
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace").strip()
    except OSError:
        return ""
