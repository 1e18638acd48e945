"""A map that is read and written again means the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btm.authored.loading import authored_folder
from btm.fallback import FallbackMap
from btm.fallback.fields import _KIND_NAMES
from btm.fallback.schema import MapFile, json_schema
from btm.maps.editing import flow

SHIPPED = sorted(path.stem for path in authored_folder("fallback_maps").glob("*.yaml"))


def written(model: MapFile) -> str:
    values = model.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return "".join(f"{key}: {flow(value)}\n" for key, value in {"tools": {}, **values}.items())


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_map_survives_being_written_and_read(name: str) -> None:
    made = FallbackMap.load(name)
    assert FallbackMap.from_text(written(made.model)).model == made.model


NAMES = ["get_a", "find b", "on", "null", "ü-1"]
FIELDS = st.lists(st.sampled_from(["status", "items[].price", "on", "1"]), max_size=2, unique=True)
COVERAGE = st.sampled_from(["full", "partial", 0.25, 1])


@st.composite
def tools(draw: st.DrawFn) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in NAMES:
        entry: dict[str, Any] = {"effect": "read", "description": draw(st.text(max_size=8))}
        others = [n for n in NAMES if n != name]
        gives, lacks = draw(FIELDS), draw(FIELDS)
        entry["fallbacks"] = [
            {
                "tool": draw(st.sampled_from(others)),
                "coverage": draw(COVERAGE),
                "gives": gives,
                "lacks": [field for field in lacks if field not in gives],
                "only_for": draw(st.lists(st.sampled_from(_KIND_NAMES), max_size=2)),
                "arguments": {
                    "q": draw(st.sampled_from(["{{ call.x }}", "plain: {}", 3, None, ["{{ call.y }}"]]))
                },
            }
            for _ in range(draw(st.integers(0, 2)))
        ]
        entry["timeout"] = draw(st.sampled_from(["30s", "5m", 7]))
        entry["expect"] = {"required": draw(FIELDS), "ranges": {"a.b": [None, draw(st.integers(0, 9))]}}
        made[name] = entry
    return made


@settings(max_examples=40)
@given(tools())
def test_any_map_survives_being_written_and_read(drawn: dict[str, Any]) -> None:
    model = FallbackMap.from_text(f"version: 1\ndomain: d\ntools: {flow(drawn)}\n").model
    assert FallbackMap.from_text(written(model)).model == model
    assert model.tools["get_a"].timeout in (30.0, 300.0, 7.0)


def test_the_json_schema_names_every_key_of_the_format() -> None:
    schema = json_schema()
    for name in (
        "MapFile",
        "ToolEntry",
        "Fallback",
        "ViaStep",
        "Repair",
        "Verify",
        "CrossCheck",
        "Expect",
        "ErrorText",
    ):
        part = schema if name == "MapFile" else schema["$defs"][name]
        assert part["additionalProperties"] is False
