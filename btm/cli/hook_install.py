"""Claude Code's settings: the hooks written in, and taken out again."""

from __future__ import annotations

import shlex
import sys
from typing import Any

from btm.cli.foreign_json import ForeignJson
from btm.cli.output import fail

_EVENTS = ("PostToolUse", "PostToolUseFailure", "SessionEnd")
_MARK = "-m btm hook claude"


def change(settings: str, options: list[str], *, mode: str, undo: bool, dry_run: bool) -> None:
    """Write the hooks into a settings file, or take them out; print the diff. Exit code 1: nothing to change."""
    file = ForeignJson.read(settings, missing={})
    hooks = file.value.get("hooks", {}) if isinstance(file.value, dict) else None
    if not isinstance(hooks, dict):
        fail(f"{file.path} is not a settings file of Claude Code: it has no table of hooks")
    for event in ("PreToolUse", *_EVENTS):
        if not isinstance(hooks.get(event, []), list):
            fail(f"{file.path}: hooks.{event} is no list, as Claude Code has it")
    _take_out(file.value)
    if not undo:
        command = f"{shlex.quote(sys.executable)} {_MARK} {shlex.join(options)}"
        _put_in(file.value, command, ("PreToolUse", *_EVENTS) if mode == "guard" else _EVENTS)
    file.write_what_changed(dry_run=dry_run)


def _put_in(value: dict[str, Any], command: str, events: tuple[str, ...]) -> None:
    hooks = value.setdefault("hooks", {})
    for event in events:
        entry = {"hooks": [{"type": "command", "command": command, "timeout": 20}]}
        hooks.setdefault(event, []).append(entry if event == "SessionEnd" else {"matcher": "*", **entry})


def _take_out(value: dict[str, Any]) -> None:
    """Remove our entries alone, and what stands empty after that."""
    hooks = value.get("hooks", {})
    for event in list(hooks):
        entries = hooks[event]
        if not isinstance(entries, list) or not any(_is_ours(entry) for entry in entries):
            continue
        hooks[event] = [entry for entry in entries if not _is_ours(entry)]
        if not hooks[event]:
            del hooks[event]
    if "hooks" in value and not hooks:
        del value["hooks"]


def _is_ours(entry: Any) -> bool:
    inner = entry.get("hooks") if isinstance(entry, dict) else None
    commands = (
        [hook.get("command") for hook in inner if isinstance(hook, dict)] if isinstance(inner, list) else []
    )
    return len(commands) == 1 and isinstance(commands[0], str) and _MARK in commands[0]
