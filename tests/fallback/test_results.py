"""Results as expressions see them: done, compare and pick over whatever a tool returned."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import logging
from collections import namedtuple
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from pydantic import BaseModel

from btm.fallback import FallbackMap, Step
from btm.fallback.values import MAX_DEPTH, TooLargeError, agree, fields_at, plain
from btm.model import Action, ToolCall

CHECKED = FallbackMap.from_text("""
version: 1
domain: d
tools:
  get_price:
    effect: read
    cross_check:
      tool: list_prices
      arguments: {}
      compare: [price, "tags", "items[].name", seller.name]
      pick: "result.prices | selectattr('id', 'eq', call.id) | first"
  list_prices: {effect: read}
  set_price:
    effect: write
    verify: {tool: get_price, arguments: {id: "{{ call.id }}"}, done_when: "result.price == call.price"}
    fallbacks: [{tool: put_price, coverage: full, pick: "result.data.price"}]
  put_price: {effect: write}
""")
GET = ToolCall("get_price", {"id": 1})
SET = ToolCall("set_price", {"id": 1, "price": 9})


class Price(BaseModel):
    price: float


@dataclasses.dataclass
class Row:
    price: decimal.Decimal


class Size(enum.Enum):
    BIG = "big"


Pair = namedtuple("Pair", "price tax")


class McpText(BaseModel):
    type: str = "text"
    text: str


class McpResult(BaseModel):
    content: list[McpText]
    isError: bool = False  # noqa: N815 - the protocol's own name
    structuredContent: dict[str, Any] | None = None  # noqa: N815


@pytest.mark.parametrize(
    "result",
    [
        {"price": 9}, '{"price": 9}', b'{"price": 9}', Price(price=9), Row(decimal.Decimal(9)), Pair(9, 1),
        ToolMessage(content='{"price": 9}', tool_call_id="1"),
        ToolMessage(content=[{"type": "text", "text": '{"price": 9}'}], tool_call_id="1"),
        [{"type": "text", "text": '{"price"'}, {"type": "text", "text": ": 9}"}],
        McpResult(content=[McpText(text='{"price": 9}')]),
        McpResult(content=[], structuredContent={"price": 9}),
        SimpleNamespace(content=[SimpleNamespace(type="text", text='{"price": 9}')], isError=False),
    ],
)  # fmt: skip
def test_a_result_is_read_whatever_form_it_came_in(result: object) -> None:
    assert CHECKED.done(SET, result) is True


@pytest.mark.parametrize("result", ["gone", "", None, "[1, 2", 7, [], {}, {"prices": 9}])
def test_what_cannot_be_told_is_none_and_a_warning(result: object, caplog: pytest.LogCaptureFixture) -> None:
    fresh = FallbackMap(CHECKED.model)
    with caplog.at_level(logging.WARNING, logger="btm"):
        assert fresh.done(SET, result) is None
        assert FallbackMap(CHECKED.model).done(SET, result) is None  # another memory's
    assert caplog.text.count("verify.done_when of set_price") == 1  # said once, not for every call and memory


class Hostile:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("read")

    def __str__(self) -> str:
        raise RuntimeError("str")


def cyclic() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


HOSTILE: dict[str, Callable[[], Any]] = {
    "raises when read": Hostile,
    "holds itself": cyclic,
    "huge": lambda: [0] * 300_000,
    "raises inside": lambda: {"price": Hostile()},
    "deep text": lambda: "[" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_result_raises_into_the_caller(name: str) -> None:
    result = HOSTILE[name]()
    assert CHECKED.done(SET, result) is None
    assert CHECKED.compare(GET, result, result) is None
    assert CHECKED.pick_all(SET, Step(Action.SWITCH, "put_price", pick="result.data.price"), [result]) is None


def test_two_sources_that_disagree_are_told_by_field() -> None:
    other = {
        "prices": [{"id": 1, "price": 10, "tags": ["b", "a"], "seller": {"name": "X"}}, {"id": 2, "price": 9}]
    }
    mine = {"price": 9, "tags": ["a", "b"], "seller": {"name": "Y"}, "items": [{"name": "n"}]}
    assert CHECKED.compare(GET, mine, json.dumps(other)) == ("price", "seller.name")


def test_a_field_that_one_side_lacks_does_not_disagree() -> None:
    assert CHECKED.compare(GET, {"cost": 9}, {"prices": [{"id": 1, "price": 10}]}) == ()


def test_a_cross_check_that_shows_nothing_neither_confirms_nor_contradicts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fresh = FallbackMap(CHECKED.model)
    assert fresh.compare(GET, {"price": 9}, {"prices": []}) is None
    assert "cross_check of get_price" in caplog.text


def test_pick_gives_the_form_that_was_wanted() -> None:
    offer = CHECKED.candidates(SET, None, {})[0]
    assert CHECKED.pick_all(SET, offer, [{"data": {"price": 9}}]) == 9
    assert CHECKED.pick_all(SET, offer, [{"data": {}}]) is None
    raw = object()
    assert CHECKED.pick_all(SET, Step(Action.SWITCH, "put_price"), [raw]) is raw


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0000000001, True), (1, 1.1, False), (0.0, 1e-9, True), ("12.50", 12.5, True), ("a ", "a", True),
        ("a", "A", False), (True, 1, False), (True, True, True), (None, None, True), (None, 0, False),
        ([1, 2], [2, 1], True), ([1, 2], [1, 2, 2], False), (["a", 1], [1.0, "a"], True),
        ([{"a": 1}], [{"a": 2}], False),
        ({"a": 1, "b": 2}, {"a": 1, "c": 3}, True), ({"a": 1}, {"a": 2}, False),
        ([[1]], [[1]], True), ("a", ["a"], False),
    ],
)  # fmt: skip
def test_values_agree_when_they_say_the_same(one: object, other: object, same: bool) -> None:
    assert agree(one, other) is same
    assert agree(other, one) is same


def test_paths_reach_into_mappings_and_lists() -> None:
    value = {"a": {"b": 1}, "items": [{"p": 1}, {"p": 2}, {}]}
    assert fields_at(value, "a.b") == [1]
    assert fields_at(value, "items[].p") == [[1, 2]]
    assert fields_at([{"p": 3}], "[].p") == [[3]]
    assert fields_at("whole", ".") == ["whole"]
    assert fields_at(value, "a.c") is None
    assert fields_at(value, "nothing[].p") is None


def test_plain_values_are_json_values() -> None:
    when = datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)
    made = plain({"t": when, "s": {1}, 3: Size.BIG, "d": decimal.Decimal("1.5"), "o": object})
    assert made["t"] == "2024-01-02T00:00:00+00:00"
    assert (made["s"], made["3"], made["d"]) == ([1], "big", 1.5)
    assert plain("just text") == "just text"
    assert plain("-") == "-"
    assert plain('"text"') == "text"


def test_a_result_too_large_or_too_deep_is_refused() -> None:
    deep: Any = 1
    for _ in range(MAX_DEPTH + 2):
        deep = [deep]
    for value in (deep, list(range(300_000)), json.dumps(list(range(300_000)))):
        with pytest.raises(TooLargeError):
            plain(value)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("4768869370", "4768869376", False),  # ids that differ in one digit of ten
        (4768869370, 4768869376, False),
        ("4768869370", 4768869370, True),
        ("007", "7", True),
        (100.0, 100, True),
        (829.43, 829.4300000001, True),
    ],
)
def test_whole_numbers_agree_only_when_they_are_equal(one: object, other: object, same: bool) -> None:
    assert agree(one, other) is same


BLOCKS = [{"type": "text", "text": '{"events": [1]}'}]
STRUCTURED = {"content": [], "structuredContent": {"events": [1]}, "isError": False}


@pytest.mark.parametrize(
    "result",
    [
        {"content": BLOCKS},
        {"content": BLOCKS, "isError": False},
        json.dumps({"content": BLOCKS}),
        json.dumps({"content": BLOCKS, "isError": False}),
        ToolMessage(content=json.dumps(STRUCTURED), tool_call_id="x"),
        '```json\n{"events": [1]}\n```',
    ],
)  # fmt: skip
def test_a_wrapper_is_taken_off_whatever_it_came_as(result: object) -> None:
    assert plain(result) == {"events": [1]}


@pytest.mark.parametrize(
    "page", [{"content": "text", "title": "t"}, {"content": [{"type": "p"}]}, "```a\n```b```"]
)
def test_what_only_looks_like_a_wrapper_stays(page: object) -> None:
    assert plain(page) == page
