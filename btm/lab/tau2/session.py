"""One episode of tau2 retail: its tools and their twins over one copy of the database."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import orjson

from btm.lab.environment import ToolSpec, Write
from btm.lab.tau2.source import fresh_tools, hash_of, own_specs
from btm.lab.tau2.twins import TWIN_SPECS, TWINS, as_own
from btm.lab.toolspec import check_arguments
from btm.model import Effect

NO_CHANGE = frozenset({"refresh_session", "transfer_to_human_agents"})


@cache
def all_specs() -> Mapping[str, ToolSpec]:
    """Return the specs of tau2's tools and of the twins."""
    return MappingProxyType({**own_specs(), **TWIN_SPECS})


class RetailSession:
    """Tools over a copy of tau2's database; judged by tau2's own hash of it."""

    def __init__(self) -> None:
        self._tools = fresh_tools()
        self._writes: list[Write] = []

    @property
    def writes(self) -> list[Write]:
        """The changes made so far."""
        return self._writes

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool; records come as JSON values, and what tau2's tools answer as text stays text.

        Raises what tau2's tool raises (ValueError mostly), TypeError for wrong arguments, and LookupError for an
        unknown tool.
        """
        spec = all_specs().get(tool)
        if spec is None:
            raise LookupError(f"there is no tool {tool!r}")
        if spec.effect is Effect.READ or tool in NO_CHANGE:
            return self._run(tool, arguments)
        before = self._record(arguments)
        result = self._run(tool, arguments)
        if self._record(arguments) != before:
            own, same = as_own(tool, arguments)
            change = f"{own} {orjson.dumps(same, option=orjson.OPT_SORT_KEYS).decode()}"
            self._writes.append(Write(tool, dict(arguments), change))
        return result

    def _run(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        if tool in TWINS:
            problem = check_arguments(TWIN_SPECS[tool], arguments)
            if problem:
                raise TypeError(f"{tool}: {problem}")
            return TWINS[tool](self._tools, **arguments)
        result = self._tools.use_tool(tool, **arguments)
        return result.model_dump() if hasattr(result, "model_dump") else result

    def _record(self, arguments: Mapping[str, Any]) -> Any:
        """Return the record that a write changes, as it stands."""
        db = self._tools.db
        record = db.orders.get(arguments.get("order_id")) or db.users.get(arguments.get("user_id"))
        return record.model_dump() if record is not None else None

    def digest(self) -> str:
        """Return tau2's own hash of the database."""
        return hash_of(self._tools.db)
