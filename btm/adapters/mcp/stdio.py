"""The process's stdin and stdout for MCP, read and written by the event loop.

The SDK's own go through threads, three times for each call: each hop wakes a thread and then the loop again.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.context import reset_transport, set_transport
from mcp.server.stdio import stdio_server

_CHUNK = 1 << 16


async def serve(server: FastMCP[Any]) -> None:
    """Serve one client on stdin and stdout until it closes them: ``run_stdio_async`` with our own streams.

    Where these cannot be watched (Windows, a file, a terminal, one socket for both), it is ``run_stdio_async`` itself.
    """
    if not _can_be_watched():
        await server.run_stdio_async(show_banner=False, log_level="ERROR")
        return
    token = set_transport("stdio")
    low = server._mcp_server
    try:
        async with (
            server._lifespan_manager(),
            _pipes() as (lines, out),
            stdio_server(lines, out) as (reading, writing),
        ):
            await low.run(reading, writing, low.create_initialization_options())
    except* ConnectionError:
        pass  # the client reads no more: it is gone
    finally:
        reset_transport(token)


def _can_be_watched() -> bool:
    if sys.platform == "win32":
        return False
    try:
        kinds = [os.fstat(0), os.fstat(1)]
    except OSError:
        return False
    # asyncio takes whatever comes in at a socket to write to for its end: it must not be the one that is read.
    apart = (kinds[0].st_dev, kinds[0].st_ino) != (kinds[1].st_dev, kinds[1].st_ino)
    return apart and all(stat.S_ISFIFO(kind.st_mode) or stat.S_ISSOCK(kind.st_mode) for kind in kinds)


@asynccontextmanager
async def _pipes() -> AsyncIterator[tuple[Any, Any]]:
    """Take both over, as the SDK does: meanwhile stdin is empty, and what anybody prints goes to stderr."""
    own = [os.dup(0), os.dup(1)]
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    ending = asyncio.StreamReaderProtocol(asyncio.StreamReader())
    incoming, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(own[0]), "rb", 0)
    )
    outgoing, _ = await loop.connect_write_pipe(lambda: ending, os.fdopen(os.dup(own[1]), "wb", 0))
    try:
        yield _Lines(reader), _Out(asyncio.StreamWriter(outgoing, ending, None, loop))
    finally:
        outgoing.close()
        incoming.close()
        for number, ours in enumerate(own):
            os.set_blocking(ours, True)
            os.dup2(ours, number)
            os.close(ours)


class _Lines:
    """The lines of a stream, however long."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def __aiter__(self) -> AsyncIterator[str]:
        begun: list[bytes] = []
        while piece := await self._reader.read(_CHUNK):
            *whole, rest = piece.split(b"\n")
            for line in whole:
                yield b"".join([*begun, line]).decode("utf-8", "replace")
                begun.clear()
            begun.append(rest)
        if last := b"".join(begun):
            yield last.decode("utf-8", "replace")


class _Out:
    """What the SDK needs of a file to write to."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode())

    async def flush(self) -> None:
        await self._writer.drain()
