"""Tools of which nothing is known: the agent is told so, and only guard and act keep it from a repeat."""

from __future__ import annotations

import pytest

from btm import Effect, FallbackMap, ToolCall, ToolMemory
from btm.errors import RefusedCallError
from btm.runtime.conditions import ToolEffects


def berth_calendar(berth: str) -> str:
    """Arrivals and departures."""
    raise TimeoutError(f"no answer about {berth}")


def settle_dues(vessel: str) -> str:
    """Charge the vessel's agent."""
    raise TimeoutError(f"no answer about {vessel}")


def harbour_weather(place: str) -> str:
    """Returns wind and waves."""
    raise TimeoutError(f"no answer about {place}")


def note_of(memory: ToolMemory, function: object) -> str:
    wrapped = memory.wrap(function)  # type: ignore[type-var]
    with pytest.raises(TimeoutError) as caught:
        wrapped("N1")  # type: ignore[operator]
    return "\n".join(caught.value.__notes__)


def test_the_agent_is_asked_what_the_tool_does() -> None:
    with ToolMemory.open(":memory:", detail="full") as memory:
        note = note_of(memory, berth_calendar)
    assert "next: call berth_calendar again if all it does is look something up" in note
    assert "Whether berth_calendar changes anything is not known here." in note
    assert "went through" not in note


def test_a_deed_is_not_asked_about() -> None:
    with ToolMemory.open(":memory:") as memory:
        note = note_of(memory, settle_dues)
    assert "next: stop calling settle_dues" in note


def test_what_only_looks_is_repeated() -> None:
    with ToolMemory.open(":memory:") as memory:
        assert "next: retry harbour_weather" in note_of(memory, harbour_weather)


def test_guard_refuses_what_may_have_been_done() -> None:
    with ToolMemory.open(":memory:", mode="guard") as memory:
        assert "next: stop calling berth_calendar" in note_of(memory, berth_calendar)
        with pytest.raises(RefusedCallError):
            memory.wrap(berth_calendar)("N1")


def test_a_stated_effect_is_no_assumption() -> None:
    with ToolMemory.open(":memory:") as memory:
        wrapped = memory.wrap(effect="write")(berth_calendar)
        with pytest.raises(TimeoutError) as caught:
            wrapped("N1")
    assert "next: stop calling berth_calendar" in "\n".join(caught.value.__notes__)


def test_who_knows_no_description_takes_none_back() -> None:
    effects = ToolEffects(FallbackMap.empty())
    effects.describe("berth_calendar", "Returns arrivals and departures.")
    for nothing in (None, ""):
        effects.describe("berth_calendar", nothing)
        assert effects.of("berth_calendar") is Effect.READ


def test_what_a_tool_is_likely_to_do_is_said_by_its_description_too() -> None:
    effects = ToolEffects(FallbackMap.empty())
    assert effects.likely("berth_calendar") is Effect.WRITE
    assert not effects.is_assumed(ToolCall("berth_calendar", effect=Effect.WRITE))  # no call was made
    effects.describe("berth_calendar", "Returns arrivals and departures.")
    assert effects.likely("berth_calendar") is Effect.READ
