"""``btm mcp``: a proxy in front of any MCP server, and clients' configurations with it written in."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from btm.cli.mcp_wrap import wrap
from btm.cli.options import POLICIES, map_option
from btm.cli.output import fail, remark
from btm.errors import StoreError
from btm.model import Mode

if TYPE_CHECKING:
    from btm.adapters.mcp import Proxy, Upstream
    from btm.memory import ToolMemory

MODES = [mode.value for mode in Mode]


class _WithDefault(click.Group):
    """A group whose commands need no name where it is ``serve``: what does not begin with a command's is for that."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in self.commands:
            args = ["serve", *args]
        return super().parse_args(ctx, args)


@click.group("mcp", cls=_WithDefault)
def mcp_group() -> None:
    """Put btm in front of an MCP server."""


mcp_group.add_command(wrap)


@mcp_group.command("serve", short_help="Serve an MCP server's tools through btm.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND ARGS...]")
@click.option("--url", metavar="URL", help="The server's address (streamable HTTP), instead of a command.")
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="NAME=VARIABLE",
    help="A header for --url, with its value from an environment variable (so that no secret is in the process list).",
)
@click.option(
    "--server",
    "servers",
    multiple=True,
    metavar="NAME=COMMAND|URL",
    help="One of several servers; their tools are called NAME_tool, also in the map. May be repeated.",
)
@map_option()
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="advise",
    help="observe: learn only; advise: say what to do next; guard: also refuse what a policy forbids; "
    "act: also retry, verify and switch.",
)
@click.option(
    "--db",
    "database",
    metavar="FILE",
    help="What was learned (path or URL). Default: mcp.db in your folder for application data.",
)
@POLICIES
def serve(
    command: tuple[str, ...],
    url: str | None,
    headers: tuple[str, ...],
    servers: tuple[str, ...],
    map_name: str | None,
    mode: str,
    database: str | None,
    policies: str,
) -> None:
    r"""Serve an MCP server's tools on stdin and stdout, with btm around every tool call.

    \b
    btm mcp -- npx -y @modelcontextprotocol/server-filesystem .
    btm mcp --map shop.yaml --mode act --url https://example.com/mcp
    btm mcp --server shop="python shop.py" --server spare=https://example.com/mcp

    Everything that is not a tool call passes as it is. "btm mcp wrap FILE" writes the proxy into a client's
    configuration and takes it out again.
    """
    upstreams = _upstreams(command, url, _headers(headers), servers)
    memory = memory_for_tools(database, map_name, mode, policies)
    logging.getLogger("fastmcp").setLevel(logging.ERROR)
    from btm.adapters.mcp import Proxy  # noqa: PLC0415 - loads the extra

    with memory:
        asyncio.run(serve_until_closed(Proxy(memory, upstreams)))


async def serve_until_closed(proxy: Proxy) -> None:
    """Serve one client until it closes its end, or the process is asked to end."""
    task = asyncio.ensure_future(proxy.run())
    with suppress(NotImplementedError):  # Windows has no such signals
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


def _upstreams(
    command: tuple[str, ...], url: str | None, headers: dict[str, str], servers: tuple[str, ...]
) -> list[Upstream]:
    from btm.adapters.mcp import Upstream  # noqa: PLC0415 - loads the extra

    if sum(map(bool, (command, url, servers))) != 1:
        fail("name the server: a command after --, or --url, or --server NAME=COMMAND for several")
    if headers and not url:
        fail("--header belongs to --url")
    if command:
        return [Upstream(command=command)]
    if url:
        return [Upstream(url=_address(url), headers=headers)]
    made: dict[str, Any] = {}
    for text in servers:
        name, equals, where = text.partition("=")
        if not equals or not name.isidentifier() or not where.strip():
            fail(f"--server {text!r} is not NAME=COMMAND or NAME=URL, with a name of letters, digits and _")
        if name in made:
            fail(f"--server names {name!r} twice")
        if where.startswith(("http://", "https://")):
            made[name] = Upstream(name, url=where)
        else:
            made[name] = Upstream(name, command=_words(name, where))
    return list(made.values())


def _words(name: str, command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as problem:
        fail(f"the command of --server {name} cannot be read: {problem}")


def _address(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        fail(f"--url {url!r} does not begin with http:// or https://")
    return url


def _headers(texts: tuple[str, ...]) -> dict[str, str]:
    made: dict[str, str] = {}
    for text in texts:
        name, equals, variable = text.partition("=")
        if not equals or not name or not variable:
            fail(f"--header {text!r} is not NAME=VARIABLE, such as Authorization=SHOP_AUTHORIZATION")
        if variable not in os.environ:
            fail(f"--header {name}: the environment has no variable {variable}")
        made[name] = os.environ[variable]
    return made


def memory_for_tools(
    database: str | None, map_name: str | None, mode: str, policies: str, usual: str = "mcp.db"
) -> ToolMemory:
    """Open a memory for a process that stands between a client and its tools: these must not go because a file does."""
    from btm.memory import ToolMemory  # noqa: PLC0415 - loads the store

    where = database or _usual_database(usual)
    try:
        return ToolMemory.open(where, fallback_map=map_name, mode=mode, policies=policies)
    except StoreError as problem:
        remark(f"{problem}; what is learned now is kept in this process only")
        return ToolMemory.open(None, fallback_map=map_name, mode=mode, policies=policies)


def _usual_database(name: str) -> str | None:
    folder = Path(click.get_app_dir("btm"))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        remark(f"{folder}: {problem.strerror}; what is learned now is kept in this process only")
        return None
    return str(folder / name)
