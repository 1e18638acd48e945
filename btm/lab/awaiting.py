"""Tools and agents of one's own may be async: what they return is waited for here."""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def awaited(value: Any) -> Any:
    """Return a value, or what it comes to where it is awaitable; in a thread where this one's loop is running."""
    if not inspect.isawaitable(value):
        return value
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_wait(value))
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, _wait(value)).result()


async def _wait(value: Any) -> Any:
    return await value
