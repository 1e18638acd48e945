"""MCP on the wire: JSON-RPC requests ``tools/call`` and their responses.

https://modelcontextprotocol.io/specification/2025-06-18/server/tools
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.logs.answers import failed, opened
from btm.logs.turns import Turns
from btm.logs.values import arguments_of


def is_wire(found: Mapping[str, Any]) -> bool:
    """Whether these are the fields of a JSON-RPC message."""
    return "jsonrpc" in found and ("method" in found or "result" in found or "error" in found)


def begins(value: Mapping[str, Any]) -> bool:
    """Whether a line is what a connection begins with."""
    return value.get("method") == "initialize" and "jsonrpc" in value


def read(turns: Turns, found: Mapping[str, Any], at: float | None) -> None:
    """Read one message; requests other than calls of tools, and their responses, say nothing here."""
    name = f"rpc-{found.get('id')}"
    if found.get("method") == "tools/call":
        params = found.get("params") or {}
        turns.call(params["name"], arguments_of(params.get("arguments")), name, at)
    elif "method" not in found and turns.awaits(name):
        is_error, said, error_type = failed(found)
        if is_error:
            turns.result(name, said, True, error_type)
        else:
            value, flag, error_type = opened(found.get("result"))
            turns.result(name, value, flag, error_type)
