"""``btm hook``: command hooks of coding agents. Little is imported here: every tool call of the agent waits for it."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from btm import __version__
from btm.cli.standing import check_map, standing

MODES = ("observe", "advise", "guard")
_ANSWER_S = 10.0
_START_S = 5.0
_LOOK_S = 0.02


def _options(command: Any) -> Any:
    for option in (
        click.option(
            "--map", "map_name", metavar="FILE", help="A fallback map (a path, or a shipped one's name)."
        ),
        click.option("--mode", type=click.Choice(MODES), default="advise", help="How far btm goes."),
        click.option(
            "--db", "database", metavar="FILE", help="What was learned. Default: hooks.db beside mcp.db."
        ),
    ):
        command = option(command)
    return command


@click.group("hook")
def hook_group() -> None:
    """Command hooks for coding agents."""


@hook_group.command("claude", short_help="Answer Claude Code's hooks, or install them.")
@_options
@click.option("--install", is_flag=True, help="Write the hooks into the settings, and show what changes.")
@click.option("--undo", is_flag=True, help="Take the hooks out of the settings again.")
@click.option("--dry-run", is_flag=True, help="With --install or --undo: only show what would change.")
@click.option(
    "--settings",
    default="~/.claude/settings.json",
    metavar="FILE",
    help="The settings: your own, or a project's .claude/settings.json.",
)
def claude(
    map_name: str | None,
    mode: str,
    database: str | None,
    install: bool,
    undo: bool,
    dry_run: bool,
    settings: str,
) -> None:
    """Read the JSON of a Claude Code hook on stdin, and answer it.

    btm hook claude --install --mode guard

    Claude is told what to do next after a tool has failed; in guard mode, calls that a policy forbids are denied. The
    first event starts a process that remembers; it ends after an hour without events. Whatever goes wrong here,
    Claude Code goes on as if there were no hook.
    """
    options = ["--mode", mode, *standing(map_name, database)]
    if install and undo:
        raise click.UsageError("--install or --undo, not both")
    if install or undo:
        from btm.cli.hook_install import change  # noqa: PLC0415 - a hook has no use for it

        check_map(map_name)
        change(settings, options, mode=mode, undo=undo, dry_run=dry_run)
        return
    with suppress(Exception):
        answered = ask(sys.stdin.buffer.read(), options)
        if answered:
            sys.stdout.write(answered)


@hook_group.command("serve", hidden=True)
@_options
@click.argument("path")
def serve_command(map_name: str | None, mode: str, database: str | None, path: str) -> None:
    """Remember between hooks, on the socket PATH."""
    from btm.adapters.claude_code.server import serve  # noqa: PLC0415 - loads the store
    from btm.cli.mcp import memory_for_tools  # noqa: PLC0415

    with memory_for_tools(database, map_name, mode, "default", "hooks.db") as memory:
        serve(memory, Path(path))


def ask(event: bytes, options: list[str]) -> str:
    """Hand an event to the process that remembers, which is started if need be; return its answer, ``""`` for none."""
    line = json.dumps(json.loads(event)).encode() + b"\n"
    path = socket_path(options)
    answer = _exchange(path, line)
    if answer is None:
        _start(path, options)
        end = time.monotonic() + _START_S
        while answer is None and time.monotonic() < end:
            time.sleep(_LOOK_S)
            answer = _exchange(path, line)
    return "" if not answer or answer.strip() == b"{}" else answer.decode()


def socket_path(options: list[str]) -> Path:
    """Return the socket for these options and this version: another map or an update gets a process of its own."""
    folder = Path(click.get_app_dir("btm")) / "hooks"
    name = hashlib.sha256("\0".join([__version__, str(folder), *options]).encode()).hexdigest()[:16]
    if len(str(folder)) > 80:  # the system's limit on the names of sockets is about 100
        folder = Path("/tmp") / f"btm-{os.getuid()}"  # noqa: S108 - made for its owner alone, and checked
    return folder / f"{name}.sock"


def _exchange(path: Path, line: bytes) -> bytes | None:
    """Return the answer, None when nobody listens."""
    with suppress(OSError):
        if path.parent.stat().st_uid != os.getuid():
            return b""  # somebody else's folder: say nothing there
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_ANSWER_S)
        try:
            connection.connect(str(path))
        except OSError:
            return None
        connection.sendall(line)
        with connection.makefile("rb") as answers:
            return answers.readline()


def _start(path: Path, options: list[str]) -> None:
    subprocess.Popen(  # noqa: S603 - this interpreter, with the options of this command
        [sys.executable, "-m", "btm", "hook", "serve", *options, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
