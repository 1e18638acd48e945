"""Options of the ``btm map`` commands, and what they read."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from btm.maps.evidence import Row
    from btm.maps.tools import ToolInfo

TOOLS = click.option(
    "--tools",
    metavar="SOURCE",
    help="The real tools: module:attribute (a list of LangChain tools or functions, or a function that returns one; "
    "the module is imported), or a JSON file (OpenAI tools, MCP tools/list, OpenAPI).",
)
DATABASE = click.option("--db", "database", metavar="FILE", help="A database that btm learned into.")


def read_tools_option(source: str | None) -> tuple[ToolInfo, ...] | None:
    """Return the tools that --tools names, or None without it. Raises ToolsError."""
    if source is None:
        return None
    from btm.maps.tools import read_tools  # noqa: PLC0415

    if "" not in sys.path:
        sys.path.insert(0, "")  # module:attribute is looked up from where the command runs
    return read_tools(source)


def read_rows_option(database: str | None) -> list[Row]:
    """Return the evidence of the database that --db names. Raises StoreError."""
    if database is None:
        return []
    from btm.cli.database import open_existing  # noqa: PLC0415 - SQLAlchemy is only needed where a database is given
    from btm.maps.evidence import rows_of  # noqa: PLC0415

    with closing(open_existing(database)) as store:
        return rows_of(store, time.time())
