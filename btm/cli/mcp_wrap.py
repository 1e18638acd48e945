"""``btm mcp wrap``: write the proxy into the configuration of an MCP client, or take it out again."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import click

from btm.cli.foreign_json import ForeignJson
from btm.cli.options import map_option
from btm.cli.output import fail
from btm.cli.standing import check_map, standing
from btm.errors import did_you_mean
from btm.model import Mode

# What clients call the table of servers: most of them, VS Code, Zed.
_TABLES = ("mcpServers", "servers", "context_servers")
_NAMES = ("btm", "btm.exe")
_MODULE = ("-m", "btm", "mcp")
_BY_HAND = (
    f": give a server the command {sys.executable!r}, and put {', '.join(map(repr, (*_MODULE, '--')))} and the command "
    "it has now before its arguments"
)


@click.command("wrap", short_help="Write btm into a client's configuration, or take it out.")
@click.argument("config", type=click.Path(dir_okay=False))
@click.option("--undo", is_flag=True, help="Take btm out again.")
@click.option("--server", "names", multiple=True, metavar="NAME", help="Only this server. May be repeated.")
@map_option()
@click.option("--mode", type=click.Choice([mode.value for mode in Mode]), help="As for btm mcp.")
@click.option("--db", "database", metavar="FILE", help="As for btm mcp.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
def wrap(
    config: str,
    undo: bool,
    names: tuple[str, ...],
    map_name: str | None,
    mode: str | None,
    database: str | None,
    dry_run: bool,
) -> None:
    """Let a client reach its MCP servers through btm: .mcp.json, claude_desktop_config.json, mcp.json and the like.

    Each server that is started by a command gets btm in front of it; one reached by a URL stays as it is, since its
    login belongs to the client. What changes is shown as a diff. Exit code 1 says that there was nothing to change.
    """
    file = ForeignJson.read(config, by_hand=_BY_HAND)
    found = dict(_servers(file.value))
    if not found:
        fail(f"{config} names no MCP servers: it has none of {', '.join(_TABLES)}")
    for name in names:
        if name not in found:
            fail(f"{config} has no server {name!r}{did_you_mean(name, found)}")
    check_map(map_name)
    options = [*(("--mode", mode) if mode else ()), *standing(map_name, database)]
    for name, server in found.items():
        if not names or name in names:
            if undo:
                _unwrap(server)
            elif reason := _left_alone(server):
                click.echo(f"{name}: {reason} and stays as it is", err=True)
            else:
                _wrap(server, options)
    file.write_what_changed(dry_run=dry_run)


def _servers(value: Any, depth: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give each server with its name, also those of the projects that Claude Code keeps in one file."""
    if not isinstance(value, dict) or depth > 3:
        return
    for key, inner in value.items():
        if key in _TABLES and isinstance(inner, dict):
            yield from ((name, server) for name, server in inner.items() if isinstance(server, dict))
        elif depth < 3:
            yield from _servers(inner, depth + 1)


def _is_wrapped(server: dict[str, Any]) -> bool:
    arguments = server.get("args")
    return isinstance(arguments, list) and tuple(arguments[:3]) == _MODULE and "--" in arguments


def _left_alone(server: dict[str, Any]) -> str:
    """Return why a server is not wrapped, ``""`` where it is."""
    command, arguments = server.get("command"), server.get("args")
    if command is None:
        return "is reached by a URL" if "url" in server or "serverUrl" in server else "has no command"
    if not isinstance(command, str):
        return "has a command that is no text"
    words = command.split()
    if not words or (len(words) > 1 and not re.search(r"[\\/]", words[0])):
        return 'has a whole line as its command (put all but its first word into "args")'
    by_hand = isinstance(arguments, list) and arguments[:1] == ["mcp"]
    return "has btm in front already" if by_hand and re.split(r"[\\/]", command)[-1] in _NAMES else ""


def _wrap(server: dict[str, Any], options: list[str]) -> None:
    _unwrap(server)
    arguments = server.get("args")
    given = arguments if isinstance(arguments, list) else []
    server["args"] = [*_MODULE, *options, "--", server["command"], *given]
    # Clients do not always have the path of a shell; this interpreter is the one that has btm.
    server["command"] = sys.executable


def _unwrap(server: dict[str, Any]) -> None:
    if not _is_wrapped(server):
        return
    own = server["args"][server["args"].index("--") + 1 :]
    server["command"], server["args"] = own[0], own[1:]
