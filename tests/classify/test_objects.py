"""Objects that are not plain data: what they say of themselves counts, never how they keep their data."""

from __future__ import annotations

import collections
import dataclasses
import types
from typing import Any

import networkx as nx
import pytest

from btm.classify import classify
from btm.model import Effect, ErrorKind, ToolCall

CALL = ToolCall("get_table", effect=Effect.READ)


class Frame:
    """As pandas keeps a table: everything private, and ``empty`` says whether there is anything."""

    def __init__(self, rows: int) -> None:
        self._manager = rows
        self.__dict__["attrs"] = {}

    @property
    def empty(self) -> bool:
        return self._manager == 0

    def __len__(self) -> int:
        return self._manager


class PrivateOnly:
    def __init__(self) -> None:
        self._x = 5


class Ambiguous:
    """As numpy and pandas answer a bare question for truth."""

    _x = 1

    def __bool__(self) -> bool:
        raise ValueError("The truth value of an array is ambiguous")

    def __len__(self) -> int:
        raise TypeError("unsized object")


@pytest.mark.parametrize(
    "value",
    [
        Frame(2),
        PrivateOnly(),
        Ambiguous(),
        object(),
        nx.path_graph(3),
        nx.DiGraph([(1, 2)]),
        range(3),
        len,
        int,
        collections.Counter("ab"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_healthy_object_is_an_answer(value: Any) -> None:
    assert classify(CALL, value).ok


@pytest.mark.parametrize(
    "value", [Frame(0), nx.Graph(), collections.deque()], ids=lambda value: type(value).__name__
)
def test_an_object_that_says_that_it_is_empty_brought_nothing(value: Any) -> None:
    assert classify(CALL, value).kind is ErrorKind.EMPTY_RESULT


def test_an_object_with_a_failing_status_failed_and_a_record_is_read_by_its_fields() -> None:
    answer = types.SimpleNamespace(status_code=503, headers={}, reason="Service Unavailable")
    assert classify(CALL, answer).kind is ErrorKind.UNAVAILABLE

    @dataclasses.dataclass
    class Reply:
        ok: bool
        error: str

    assert classify(CALL, Reply(ok=False, error="invalid_auth")).kind is ErrorKind.AUTH_ERROR
    assert classify(CALL, Reply(ok=True, error="")).ok
