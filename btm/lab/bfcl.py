"""The multi-turn tasks of the Berkeley Function Calling Leaderboard as an environment: its classes, its data, its gold.

The only module that imports ``bfcl_eval`` (``pip install --no-deps bfcl-eval mpmath``; figures were measured on 2026.3.23).
A task is judged as there: by the public attributes of its classes at the end, and by what its look-ups answered.
"""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from btm.errors import EvaluationError, MissingExtraError
from btm.fallback import FallbackMap
from btm.lab.environment import ToolSpec
from btm.lab.gold import GoldEnvironment, GoldTask, Holder
from btm.model import Effect

_PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_ROWS = "BFCL_v4_multi_turn_base.json"
_MODULES: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
HUMAN = "hand_over_to_a_human"
"""BFCL has no such tool: an agent that cannot go on has to be able to say so."""

_SUMMARY = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}
_TYPES: Mapping[str, str] = {"dict": "object", "float": "number", "tuple": "array", "double": "number"}


class BfclEnvironment(GoldEnvironment):
    """BFCL's 200 multi-turn tasks (base), their turns in one request. Raises MissingExtraError where it is absent."""

    domain = "bfcl"
    fallback_map = str(files("btm.lab") / "bfcl_map.yaml")

    def __init__(self) -> None:
        try:
            self._data = Path(str(import_module("bfcl_eval").__file__)).parent / "data"
            import_module(f"{_PACKAGE}.math_api")
        except ImportError as missing:
            raise MissingExtraError("bfcl-eval mpmath", "", "the domain bfcl") from missing

    @cached_property
    def tools(self) -> Mapping[str, ToolSpec]:  # type: ignore[override]
        """The tools of all eight classes by name; the map says which of them write."""
        effects = FallbackMap.load(self.fallback_map)
        docs = (
            doc for module in _MODULES.values() for doc in self._lines(f"multi_turn_func_doc/{module}.json")
        )
        human = ToolSpec(HUMAN, "Hand the task over to a human.", _SUMMARY, Effect.WRITE)
        return {HUMAN: human} | {
            doc["name"]: ToolSpec(
                doc["name"],
                doc["description"].rpartition("Tool description: ")[2],
                _schema(doc["parameters"]),
                effects.effect(doc["name"]) or Effect.READ,
            )
            for doc in docs
        }

    @cached_property
    def _rows(self) -> Mapping[str, Mapping[str, Any]]:
        return {row["id"]: row for row in self._lines(_ROWS)}

    def _lines(self, name: str) -> Iterator[Any]:
        return map(json.loads, (self._data / name).read_text("utf-8").splitlines())

    def gold(self) -> Mapping[str, GoldTask]:
        """Return the tasks. What nothing shows, such as the symbol of a share, the agent is taken to know."""
        truths = {row["id"]: row["ground_truth"] for row in self._lines(f"possible_answer/{_ROWS}")}
        return {name: self._task(row, truths[name]) for name, row in self._rows.items()}

    def _task(self, row: Mapping[str, Any], truth: list[list[str]]) -> GoldTask:
        request = "\n".join(said["content"] for turn in row["question"] for said in turn)
        calls = [self._call(text) for turn in truth for text in turn]
        return GoldTask(request, calls, hears=True, knows=True)

    def _call(self, text: str) -> tuple[str, Mapping[str, Any]]:
        made = ast.parse(text.strip(), mode="eval").body
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name):
            raise EvaluationError(f"BFCL's gold has {text!r}, which is no call")
        tool = made.func.id
        names = list(self.tools[tool].parameters["properties"])
        given = dict(zip(names, map(ast.literal_eval, made.args), strict=False))
        return tool, {**given, **{str(word.arg): ast.literal_eval(word.value) for word in made.keywords}}

    def hold(self, name: str) -> BfclHolder:
        return BfclHolder(self._rows[name])


class BfclHolder(Holder):
    """The instances of a task's classes."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._made = {
            name: _instance(name, row["initial_config"].get(name)) for name in row["involved_classes"]
        }

    def invoke(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Call a method. Raises LookupError where the task has no class with it, and what the method raises."""
        if tool == HUMAN:
            return {"handed_over": True}
        for made in self._made.values():
            if hasattr(made, tool):
                return to_jsonable_python(getattr(made, tool)(**arguments), fallback=str)
        raise LookupError(f"there is no tool {tool!r} in this task")

    def state(self) -> Any:
        return {name: _plain(vars(made)) for name, made in self._made.items()}


def _instance(name: str, config: Mapping[str, Any] | None) -> Any:
    made = getattr(import_module(f"{_PACKAGE}.{_MODULES[name]}"), name)()
    if hasattr(made, "_load_scenario"):
        made._load_scenario(copy.deepcopy(config or {}))  # as BFCL's own runner does
    return made


def _plain(value: Any) -> Any:
    """Return public attributes, deep, as JSON values; a folder's way up is left out, it would go round for ever."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items() if not str(k).startswith("_") and k != "parent"}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return _plain(vars(value)) if hasattr(value, "__dict__") else str(value)


def _schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON schema for one that names Python's types."""
    made = dict(schema)
    if "type" in made:
        made["type"] = _TYPES.get(made["type"], made["type"])
    if made.get("type") == "any":
        del made["type"]
    if "properties" in made:
        made["properties"] = {name: _schema(inner) for name, inner in made["properties"].items()}
        made.setdefault("required", [])
    if isinstance(made.get("items"), Mapping):
        made["items"] = _schema(made["items"])
    return made
