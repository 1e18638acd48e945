"""The promise that classification never raises and that its time is linear and bounded."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btm.classify import ShapeProfile, ToolResult, classify
from btm.model import Effect, ErrorKind, Outcome, ToolCall

CALL = ToolCall("get_order", {"order_id": "W1", "expression": "1+1"}, Effect.WRITE, at=1.8e9)
SHAPE = ShapeProfile().observe({"a": {"b": [1]}})

TEXTS = st.text(max_size=60) | st.sampled_from(
    [
        "\ud800",
        "Error: \udfff",
        "error",
        "timeout",
        "not found",
        "429",
        "status",
        "code",
        "message",
        "data",
        "errors",
        "\x00",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=25,
)


def named(**given: Any) -> Outcome:
    outcome = classify(CALL, **given, shape=SHAPE)
    assert outcome.rule != "internal", outcome
    return outcome


@given(JSON)
@settings(max_examples=400)
def test_any_json_value_has_an_outcome(value: Any) -> None:
    named(result=value)
    named(result=ToolResult(value, is_error=True))


@given(
    st.sampled_from([ValueError, KeyError, RuntimeError, OSError, TypeError, UnicodeError]),
    st.lists(JSON, max_size=3),
)
@settings(max_examples=300)
def test_any_exception_has_an_outcome(kind: type[Exception], arguments: list[Any]) -> None:
    assert named(error=kind(*arguments)).kind is not None


@given(JSON, JSON)
@settings(max_examples=200)
def test_any_attributes_of_an_exception_are_survived(first: Any, second: Any) -> None:
    error = RuntimeError("x")
    for name in (
        "status_code",
        "response",
        "code",
        "errno",
        "retry_after",
        "headers",
        "body",
        "error",
        "exceptions",
        "reason",
    ):
        setattr(error, name, first if len(name) % 2 else second)
    assert named(error=error).kind is not None


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    @property
    def status_code(self) -> int:
        raise RuntimeError("no status")

    @property
    def response(self) -> object:
        return HostileError()


class HostileMapping(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no item")

    def __iter__(self) -> Iterator[str]:
        return iter(("error", "status"))

    def __len__(self) -> int:
        return 2


class HostileObject:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("no attribute")


def test_hostile_objects_are_survived() -> None:
    assert classify(CALL, error=HostileError()).kind is not None
    for result in (
        HostileMapping(),
        HostileObject(),
        [HostileObject()],
        {"error": HostileObject()},
        HostileError(),
    ):
        classify(CALL, result)
        classify(CALL, result, shape=SHAPE)


def test_cycles_are_survived() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert named(error=first).kind is not None
    loop: dict[str, Any] = {"error": "not found"}
    loop["details"] = loop
    assert named(result=loop).kind is not None
    tangle: list[Any] = []
    tangle.append(tangle)
    named(result=tangle)


def test_deep_nesting_is_survived() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = {"error": deep}
    named(result=deep)
    named(result="[" * 15_000)


PIECES = [
    "error ", "the ", "not ", "a ", "'", '"', "(", "[", '{"a":', "\n", "a.b.", "retry after in ", "1m ", "E", "A_", "é",
    "请", "the api the api ", "exceeded the your ", "cannot be ", "argument ", "response missing ", "tool ", "invalid ",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_no_text_takes_long(piece: str) -> None:
    long = piece * (2_000_000 // len(piece))
    for case in (
        {"result": long},
        {"error": ValueError(long)},
        {"result": ToolResult(long, True)},
        {"result": {"error": long}},
    ):
        classify(CALL, **case)  # patterns are compiled at first use
        start = time.process_time()
        classify(CALL, **case)
        assert time.process_time() - start < 0.25, case


def test_fifty_megabytes_are_no_matter() -> None:
    huge = "Error: not found " * 3_000_000
    for case in (
        {"result": huge},
        {"error": ValueError(huge)},
        {"error": KeyError(huge)},
        {"result": huge.encode()},
    ):
        start = time.process_time()
        assert classify(CALL, **case).kind is not None
        assert time.process_time() - start < 1.0


LARGE = json.dumps({"items": [{"id": n, "name": "row"} for n in range(900)], "next": None})


@pytest.mark.parametrize(
    "value",
    [
        LARGE,
        json.dumps(json.loads(LARGE), indent=1),
        LARGE.encode(),
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 80,
        '{"name": "\\ud83d", "age": 3}',
        '{"note": "two\nlines", "age": 3}',
    ],
)
def test_large_json_bytes_and_what_other_readers_of_json_accept_are_successes(value: Any) -> None:
    assert classify(ToolCall("list_customers"), value).ok


def test_large_json_that_breaks_off_is_malformed() -> None:
    assert classify(ToolCall("list_customers"), LARGE[:20_000]).kind is ErrorKind.MALFORMED


@pytest.mark.parametrize(
    "value",
    [
        "ACK=Failure&L_ERRORCODE0=10002&" + "&".join(f"a{n}=1" for n in range(300)),
        {"code": "--5", "message": "Bitte erneut anmelden"},
        {"code": "-" * 14, "message": "no such user"},
        {"code": "9" * 40, "message": "no such user"},
        {"code": 7, "message": "no such user", "data": np.arange(3)},
        '[{"type": ["VerifiableCredential", "X"], "id": "x"}]',
        '{"content": [{"type": ["a"], "text": "x"}]}',
        "<response><![CDATA[" * 800,
        {1: {"failed": []}},
        {True: {"items": [], "error": "gone"}},
        {"value": 10**5000, "message": "a b"},
        [{10**5000: 1}],
    ],
)
def test_no_answer_turns_the_classification_off(value: Any) -> None:
    assert classify(ToolCall("pay", {}, Effect.WRITE), value).rule != "internal"


def test_an_object_that_cannot_be_walked_is_read_by_what_it_says() -> None:
    cyclic: dict[str, Any] = {"error": "no such user"}
    cyclic["parent"] = cyclic
    assert classify(ToolCall("get_user"), cyclic).kind is ErrorKind.NOT_FOUND
    alone: dict[str, Any] = {}
    alone["parent"] = alone
    assert classify(ToolCall("get_user"), alone).rule != "internal"


def test_values_shared_many_times_are_not_walked_many_times() -> None:
    shared: Any = "fine"
    for _ in range(60):
        shared = {"a": shared, "b": shared}
    assert classify(ToolCall("get_user"), {"code": 0, "message": shared}).rule != "internal"


def test_long_names_are_not_kept() -> None:
    tracemalloc.start()
    for n in range(40):
        classify(ToolCall(f"tool_{n}" + "x" * 500_000), "Error: gone")
        classify(ToolCall("get_user"), {f"field_{n}" + "x" * 500_000: 1, "status": "open"})
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 12_000_000  # one of each kind would be 40 MB
