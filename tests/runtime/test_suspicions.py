"""A success that may be an error text: a hint for the next turn, never an act, never evidence of a failure."""

from __future__ import annotations

import pytest

from btm import FallbackMap, ToolMemory
from btm.classify import classify
from btm.model import Effect, ToolCall

DOUBTFUL = "Rates for Friday. The service was unavailable on Sunday."


def test_the_text_is_suspected_and_a_success() -> None:
    outcome = classify(ToolCall("get_rates"), DOUBTFUL)
    assert outcome.ok
    assert outcome.suspected is not None


@pytest.mark.parametrize("mode", ["advise", "guard", "act"])
def test_the_model_is_told_before_its_next_turn_and_nothing_else_happens(mode: str) -> None:
    made = []

    def invoke(*_: object) -> str:
        made.append(1)
        return DOUBTFUL

    with ToolMemory.open(None, mode=mode) as memory:
        handled = memory.call(ToolCall("get_rates", conversation="c", call_id="1"), invoke)
        assert handled.result == DOUBTFUL
        assert handled.context is None
        assert len(made) == 1
        assert any("may be an error" in line for line in memory.notices("c"))
        assert memory.notices("another") == []
        again = memory.call(ToolCall("get_rates", conversation="c", call_id="2"), invoke)
        assert not again.refused  # no incident stands in the way of the same call


def test_the_next_good_answer_ends_the_suspicion() -> None:
    with ToolMemory.open(None, mode="advise") as memory:
        memory.call(ToolCall("get_rates", conversation="c", call_id="1"), lambda *_: DOUBTFUL)
        memory.call(ToolCall("get_rates", conversation="c", call_id="2"), lambda *_: {"EUR": 1.08})
        assert memory.notices("c") == []


def test_what_btm_asks_of_its_own_accord_ends_no_suspicion() -> None:
    looked = FallbackMap.from_text(
        "{version: 1, domain: d, tools: {book: {effect: write, verify: {tool: get, arguments: {}, always: true,"
        " done_when: 'result.there'}}, get: {effect: read}}}"
    )

    def invoke(tool: str, _: object) -> object:
        return (
            {"there": True} if tool == "get" else "Booked for Friday. The service was unavailable on Sunday."
        )

    with ToolMemory.open(None, mode="act", fallback_map=looked) as memory:
        handled = memory.call(ToolCall("book", {}, Effect.WRITE, "c", "1"), invoke)
        assert handled.outcome.ok
        assert any("may be an error" in line for line in memory.notices("c"))


def test_observing_says_nothing() -> None:
    with ToolMemory.open(None, mode="observe") as memory:
        memory.call(ToolCall("get_rates", conversation="c", call_id="1"), lambda *_: DOUBTFUL)
        assert memory.notices("c") == []
