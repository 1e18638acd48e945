"""A clock that can be relied on."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from core_kit import MAP, call, known, memory_of, recounted, stored

from btm.model import ToolCall
from btm.support.failsafe import SteadyClock


def clock_of(*readings: Any) -> Callable[[], float]:
    """A clock that gives these readings in turn, the last one for ever."""
    left = list(readings)

    def clock() -> float:
        read = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(read, BaseException):
            raise read
        return read  # type: ignore[no-any-return]

    return clock


WRONG = [math.nan, math.inf, -math.inf, 1.7e12, 1e308, None, "noon", RuntimeError("no battery"), 10**400]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: str(w)[:20])
def test_the_latest_good_reading_stands_in_for_a_wrong_one(
    wrong: Any, caplog: pytest.LogCaptureFixture
) -> None:
    clock = SteadyClock(clock_of(5.0, wrong, wrong, 7.0))
    with caplog.at_level(logging.WARNING, "btm"):
        assert [clock() for _ in range(4)] == [5.0, 5.0, 5.0, 7.0]
    assert len(caplog.records) == 1, "one warning, however often"
    assert "the clock" in caplog.text


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: str(w)[:20])
def test_a_clock_that_never_was_right_gives_the_systems_time(wrong: Any) -> None:
    assert 1.6e9 < SteadyClock(clock_of(wrong))() < 1e11


def test_any_number_is_a_reading_and_time_may_go_back() -> None:
    clock = SteadyClock(clock_of(7, Decimal("6.5"), 0.0, -3.0))
    assert [clock() for _ in range(4)] == [7.0, 6.5, 0.0, -3.0]


def test_an_interrupt_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        SteadyClock(clock_of(KeyboardInterrupt()))()


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: str(w)[:20])
def test_a_memory_with_a_wrong_clock_learns_and_writes(wrong: Any) -> None:
    readings = iter(range(1_700_000_000, 1_700_000_004))

    class Clock:
        def __call__(self) -> float:
            now = next(readings, wrong)
            if isinstance(now, BaseException):
                raise now
            return now

        sleep = asleep = staticmethod(lambda _: None)

    memory = memory_of(Clock(), fallback_map=MAP, half_life_s=3_600.0)  # type: ignore[arg-type]
    for n in range(12):
        memory.call(call("get_order", "talk", f"c{n}", order_id="o1"), _every_other(n))
    assert memory.flush()
    store: Any = memory._store
    assert stored(store) == recounted(store)
    assert sum(s + f for s, f in stored(store).values()) == pytest.approx(6.0, rel=0.01)
    assert all(math.isfinite(number) for pair in known(memory).values() for number in pair)
    memory.close()


def _every_other(number: int) -> Callable[..., Any]:
    def invoke(*_: Any) -> Any:
        if number % 2 == 0:
            raise TimeoutError("timed out")
        return "ok"

    return invoke


@pytest.mark.parametrize("at", [math.nan, math.inf, -math.inf, 1e300])
def test_a_call_that_states_no_possible_time_is_written_all_the_same(at: float) -> None:
    memory = memory_of()
    memory.call(ToolCall("get_order", {}, conversation="talk", call_id="c1", at=at), lambda *_: "ok")
    assert memory.flush()
    store: Any = memory._store
    (row,) = store.log("calls")
    assert math.isfinite(row["started_at"])
    memory.close()
