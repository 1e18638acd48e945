"""Tools for the tests of maps, in one line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.maps.tools import ToolInfo


def tool(
    name: str, required: str = "", optional: str = "", *, types: Mapping[str, str] | None = None, **more: Any
) -> ToolInfo:
    """Return a tool that takes these arguments; ``types`` says of which JSON type some of them are."""
    typed = {name: {"type": kind} for name, kind in (types or {}).items()}
    properties = {n: typed.get(n, {}) for n in [*required.split(), *optional.split()]}
    return ToolInfo(
        name, parameters={"type": "object", "properties": properties, "required": required.split()}, **more
    )
