from __future__ import annotations

from pathlib import Path

from btm import ToolMemory
from btm.model import Effect, ErrorKind, Outcome, ToolCall
from btm.runtime.outcomes import LEARNED_FROM, ResultSchemas
from btm.store.sql import SqlStore

GOOD = {"order_id": "O1", "status": "pending", "items": [{"id": 1}]}
CUT = {"order_id": "O1", "items": [{"id": 1}]}


def outcome(memory: ToolMemory, number: int, result: object) -> Outcome:
    call = ToolCall("get_order", {"page": number}, Effect.READ, "c", f"{number}")
    return memory.call(call, lambda tool, arguments: result).outcome


def test_a_field_that_was_always_there_is_missed() -> None:
    with ToolMemory.open(learn_shapes=True, clock=lambda: 1_000.0) as memory:
        for number in range(40):
            assert outcome(memory, number, GOOD).ok
        found = outcome(memory, 40, CUT)
    assert found.kind is ErrorKind.PARTIAL_DATA
    assert found.silent
    assert "status" in found.reason
    assert found.confidence >= 0.9


def test_it_is_not_asked_for_by_default() -> None:
    with ToolMemory.open(clock=lambda: 1_000.0) as memory:
        for number in range(40):
            outcome(memory, number, GOOD)
        assert outcome(memory, 40, CUT).ok


def test_shapes_are_kept_in_the_database(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    with ToolMemory.open(path, learn_shapes=True, clock=lambda: 1_000.0) as memory:
        for number in range(40):
            outcome(memory, number, GOOD)
    with ToolMemory.open(path, learn_shapes=True, clock=lambda: 1_001.0) as memory:
        assert outcome(memory, 41, CUT).kind is ErrorKind.PARTIAL_DATA


def test_a_shape_can_be_forgotten_for_good(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    with ToolMemory.open(path, learn_shapes=True, clock=lambda: 1_000.0) as memory:
        for number in range(40):
            outcome(memory, number, GOOD)
        memory.forget_shape("get_order")
        assert outcome(memory, 41, CUT).ok
    store = SqlStore(path, now=1_000.0)
    assert all(tool != "get_order" or path != "$.status" for tool, path, _, _ in store.load(0.0).shapes)
    store.close()


def test_a_bad_answer_teaches_nothing_about_good_ones() -> None:
    shapes = ResultSchemas()
    for _ in range(40):
        shapes.learn("t", GOOD)
    known = shapes.profile("t")
    with ToolMemory.open(learn_shapes=True, clock=lambda: 1_000.0) as memory:
        for number in range(40):
            outcome(memory, number, GOOD)
        for number in range(40, 80):
            assert not outcome(memory, number, CUT).ok
    assert known is not None


def test_a_shape_is_learned_from_so_many_answers_and_no_more() -> None:
    shapes = ResultSchemas()
    added = [bool(shapes.learn("t", GOOD)) for _ in range(LEARNED_FROM + 5)]
    assert added == [True] * LEARNED_FROM + [False] * 5


def test_rows_give_the_profile_back() -> None:
    shapes, rows = ResultSchemas(), []
    for _ in range(30):
        rows += shapes.learn("t", GOOD)
    assert ResultSchemas(rows).profile("t") == shapes.profile("t")
