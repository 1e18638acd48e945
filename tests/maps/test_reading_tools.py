"""btm.maps.tools: lists of real tools in every form that authors have them in."""

from __future__ import annotations

import dataclasses
import enum
import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
from langchain_core.tools import tool
from pydantic import BaseModel

from btm.maps.schemas import fields_of, fits, json_type, types_of
from btm.maps.tools import ToolInfo, ToolsError, read_tools, tools_of
from btm.model import Effect

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


def one(source: object, tmp_path: Path) -> ToolInfo:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(source))
    (found,) = read_tools(str(path))
    return found


@pytest.mark.parametrize(
    "document",
    [
        [{"type": "function", "function": {"name": "forecast", "description": "Look ahead.", "parameters": SCHEMA}}],
        {"tools": [{"type": "function", "name": "forecast", "description": "Look ahead.", "parameters": SCHEMA}]},
        [{"name": "forecast", "description": "Look ahead.", "input_schema": SCHEMA}],
        {"id": 1, "result": {"tools": [{"name": "forecast", "description": "Look ahead.", "inputSchema": SCHEMA}]}},
        {"name": "forecast", "description": "Look ahead.", "parameters": {**SCHEMA, "type": "dict"}},
        {"forecast": {"name": "forecast", "description": "Look ahead.", "parameters": SCHEMA}},
    ],
    ids=["OpenAI chat", "OpenAI responses", "Anthropic", "MCP", "BFCL", "by name"],
)  # fmt: skip
def test_json_of_every_dialect_gives_the_same_tool(document: object, tmp_path: Path) -> None:
    found = one(document, tmp_path)
    assert (found.name, found.description, found.takes) == ("forecast", "Look ahead.", ("city", "days?"))
    assert found.types("days") == {"integer"}


def test_mcp_annotations_decide_the_effect(tmp_path: Path) -> None:
    found = one([{"name": "zap", "inputSchema": {}, "annotations": {"readOnlyHint": True}}], tmp_path)
    assert found.effect() == (Effect.READ, "its readOnlyHint is true")
    found = one(
        [
            {
                "name": "get_x",
                "inputSchema": {},
                "annotations": {"destructiveHint": True, "idempotentHint": True},
            }
        ],
        tmp_path,
    )
    assert found.effect() == (Effect.WRITE, "its destructiveHint is true")
    assert found.idempotent is True
    assert one([{"name": "get_x", "inputSchema": {}}], tmp_path).effect() == (
        Effect.READ,
        "guessed from its name",
    )


def test_where_nothing_is_said_the_effect_is_guessed_or_assumed(tmp_path: Path) -> None:
    def effect(name: str, description: str = "") -> tuple[Effect, str]:
        return one([{"name": name, "description": description, "inputSchema": {}}], tmp_path).effect()

    assert effect("tides", "Returns the tides.") == (Effect.READ, "guessed from its description")
    assert effect("tides", "The tides.") == (
        Effect.WRITE,
        "assumed: nothing tells whether it only reads",
    )


def test_an_openapi_document_gives_a_tool_for_each_operation(tmp_path: Path) -> None:
    document = {
        "openapi": "3.1.0",
        "paths": {
            "/orders/{id}": {
                "get": {
                    "operationId": "orderById",
                    "parameters": [{"name": "id", "required": True, "schema": {"type": "string"}}],
                },
                "delete": {"summary": "Remove it."},
                "parameters": [],
            },
            "/orders": {
                "post": {
                    "operationId": "newOrder",
                    "requestBody": {
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}
                    },
                }
            },
        },
        "components": {
            "schemas": {
                "Order": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
            }
        },
    }
    (tmp_path / "api.json").write_text(json.dumps(document))
    by_name = {t.name: t for t in read_tools(str(tmp_path / "api.json"))}
    assert set(by_name) == {"orderById", "delete_orders_id", "newOrder"}
    assert by_name["orderById"].effect() == (Effect.READ, "its HTTP verb is GET")
    assert by_name["delete_orders_id"].effect() == (Effect.WRITE, "its HTTP verb is DELETE")
    assert by_name["newOrder"].takes == ("item",)


class Place(BaseModel):
    lat: float
    lon: float


class Level(enum.Enum):
    LOW = "low"


class Result(TypedDict):
    status: str
    total: float


@dataclasses.dataclass
class Row:
    key: str


def look(
    place: Place,
    level: Level,
    mode: Literal["a", "b"],
    limit: int | None = None,
    *,
    tags: list[str] | tuple[str, ...] = (),
    note: Annotated[str, "x"] = "",
) -> Result:
    """Look at a place."""
    raise NotImplementedError


def anything(*args: Any, **kwargs: Any) -> list[Row]:
    """Do anything."""
    raise NotImplementedError


def test_a_plain_function_is_read_from_its_signature() -> None:
    (found,) = tools_of([look])
    assert found.takes == ("place", "level", "mode", "limit?", "tags?", "note?")
    assert found.types("limit") == {"integer", "null"}
    assert found.types("level") == found.types("mode") == found.types("note") == {"string"}
    assert found.types("tags") == {"array"}
    assert found.returns == ("status", "total")
    assert not found.open


def test_a_function_that_takes_anything_is_open() -> None:
    (found,) = tools_of([anything])
    assert found.open
    assert found.returns == ("key",)


def test_langchain_tools_are_read_by_what_they_have() -> None:
    @tool
    def get_weather(city: str, unit: str = "C") -> dict[str, Any]:
        """Get the weather."""
        return {}

    (found,) = tools_of([get_weather])
    assert (found.name, found.description, found.takes) == (
        "get_weather",
        "Get the weather.",
        ("city", "unit?"),
    )


def test_one_tool_is_as_good_as_a_list_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "from langchain_core.tools import tool\n\n@tool\ndef look(order_id: str) -> str:\n    'Look.'\n    return ''\n"
    (tmp_path / "one_tool_module.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [found.name for found in read_tools("one_tool_module:look")] == ["look"]


def test_mcp_tool_objects_are_read_by_what_they_have() -> None:
    class Annotations:
        readOnlyHint = True  # noqa: N815 - the protocol's own name

    class Tool:
        name = "zap"
        description = "Zap."
        inputSchema = SCHEMA  # noqa: N815
        outputSchema = {"type": "object", "properties": {"zapped": {}}}  # noqa: N815, RUF012
        annotations = Annotations()

    (found,) = tools_of([Tool()])
    assert (found.takes, found.returns, found.read_only) == (("city", "days?"), ("zapped",), True)


MODULE = '''
def get_a(x: int) -> dict:
    """A."""
def get_b(x: int) -> dict:
    """B."""
TOOLS = [get_a, get_b]
BY_NAME = {"a": get_a}
def make_tools():
    return [get_a]
class Kit:
    tools = TOOLS
kit = Kit()
def broken():
    raise RuntimeError("no network")
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_tools_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_tools_module", raising=False)
    return "own_tools_module"


@pytest.mark.parametrize(
    ("attribute", "names"),
    [("TOOLS", ["get_a", "get_b"]), ("BY_NAME", ["get_a"]), ("make_tools", ["get_a"]), ("kit", ["get_a", "get_b"]),
     ("get_b", ["get_b"]), ("Kit.tools", ["get_a", "get_b"])],
)  # fmt: skip
def test_a_module_attribute_may_be_a_list_a_function_or_a_holder(
    module: str, attribute: str, names: list[str]
) -> None:
    assert [t.name for t in read_tools(f"{module}:{attribute}")] == names


def test_what_cannot_be_read_is_said(module: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "empty.json").write_text("[]")
    (tmp_path / "odd.json").write_text('[{"description": "nameless"}]')
    for source, said in {
        f"{module}:TOOL": "did you mean 'TOOLS'",
        f"{module}:broken": "no network",
        "no_such_module_here:x": "cannot be imported",
        str(tmp_path / "bad.json"): "is not JSON",
        str(tmp_path / "empty.json"): "no tools found",
        str(tmp_path / "odd.json"): "no name",
        str(tmp_path / "none.json"): "cannot be read",
    }.items():
        with pytest.raises(ToolsError, match=said):
            read_tools(source)


def test_schemas_say_types_and_fields() -> None:
    root = {"$defs": {"A": {"type": "object", "properties": {"x": {}}}, "Loop": {"$ref": "#/$defs/Loop"}}}
    assert types_of({"$ref": "#/$defs/A"}, root) == {"object"}
    assert types_of({"anyOf": [{"type": "string"}, {"type": "null"}]}, root) == {"string", "null"}
    assert types_of({"type": ["integer", "string"]}, root) == {"integer", "string"}
    assert types_of({"const": 3}, root) == {"integer"}
    assert len(types_of({"$ref": "#/$defs/Loop"}, root)) == 7
    assert len(types_of({"$ref": "#/$defs/Nowhere"}, root)) == 7
    assert fields_of({"type": "array", "items": {"$ref": "#/$defs/A"}}, root) == ("x",)
    assert fits(frozenset({"integer"}), frozenset({"number"}))
    assert not fits(frozenset({"string"}), frozenset({"number"}))
    assert [json_type(v) for v in (None, True, 1, 1.5, "a", [], {})] == [
        "null", "boolean", "integer", "number", "string", "array", "object",
    ]  # fmt: skip
