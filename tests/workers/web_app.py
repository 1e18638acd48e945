"""A WSGI application whose requests call the tool. With --preload the memory is opened before the workers are forked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from shop_tools import look_up


def app(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    """Answer with what the tool says."""
    said = look_up(order_id=environ["PATH_INFO"].strip("/")).encode()
    start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(said)))])
    return [said]
