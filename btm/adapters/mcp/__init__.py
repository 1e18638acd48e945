"""btm for the Model Context Protocol: a proxy in front of any server, and the middleware that it is made of.

``btm mcp -- npx some-server`` runs the proxy. In a FastMCP server or proxy of your own::

    server.add_middleware(RecoveryMiddleware(memory))

Only tool calls are touched. Needs the extra ``mcp``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from btm.errors import MissingExtraError

if TYPE_CHECKING:
    from btm.adapters.mcp.interposer import Interposer as Interposer
    from btm.adapters.mcp.middleware import RecoveryMiddleware as RecoveryMiddleware
    from btm.adapters.mcp.proxy import Proxy as Proxy
    from btm.adapters.mcp.proxy import Upstream as Upstream

_HOME = {
    "Interposer": "btm.adapters.mcp.interposer",
    "RecoveryMiddleware": "btm.adapters.mcp.middleware",
    "Proxy": "btm.adapters.mcp.proxy",
    "Upstream": "btm.adapters.mcp.proxy",
}

__all__ = ["Interposer", "Proxy", "RecoveryMiddleware", "Upstream"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("fastmcp", "jsonschema", "mcp", "mcp_types"):
            raise
        raise MissingExtraError("fastmcp", "mcp", "btm's MCP proxy") from error
