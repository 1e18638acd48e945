"""The clinic as an MCP server on stdio, for the tests of environments over MCP."""

from __future__ import annotations

from typing import Any

from clinic import Clinic
from mcp.server import MCPServer

server = MCPServer("clinic")
clinic = Clinic()
READS = {"readOnlyHint": True}


@server.tool(annotations=READS)
def find_patient(name: str) -> dict[str, Any]:
    """Find a patient by full name."""
    return clinic.find_patient(name)


@server.tool(annotations=READS)
def get_visit(visit_id: str) -> dict[str, Any]:
    """Return a visit."""
    return clinic.get_visit(visit_id)


@server.tool(annotations=READS)
def list_visits(patient_id: str) -> list[dict[str, Any]]:
    """Return a patient's visits."""
    return clinic.list_visits(patient_id)


@server.tool()
def cancel_visit(visit_id: str) -> dict[str, Any]:
    """Cancel a visit."""
    return clinic.cancel_visit(visit_id)


@server.tool()
def reset_all() -> str:
    """Put everything back."""
    vars(clinic).update(vars(Clinic()))
    return "done"


server.run()
