"""One clock that is wrong must not decide what everybody believes."""

from __future__ import annotations

import itertools
import logging
import math
from pathlib import Path

import pytest
from core_kit import NO_MAP, Clock, Tools, call, key, known, memory_of, recounted, stored

from btm.model import EvidenceKey
from btm.store.merging import merged
from btm.store.sql import SqlStore

DAY = 86_400.0
FORTNIGHT = 14 * DAY
RETRY = key("get_order", "timeout", "retry")
AHEAD = pytest.mark.parametrize("days", [0.5, 365, 3_650])
_numbers = itertools.count()


class StillClock(Clock):
    """A clock that btm's own waits do not move: ages stay exact."""

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def lived(
    path: Path, clock: StillClock, *, works: int = 0, fails: int = 0, half_life_s: float = FORTNIGHT
) -> dict[EvidenceKey, tuple[float, float]]:
    """Open a memory, fail and retry so often, and return what it believes to have seen."""
    with memory_of(clock, path=path, half_life_s=half_life_s, fallback_map=NO_MAP) as memory:
        for answer in ["fine"] * works + [TimeoutError("timed out")] * fails:
            talk = f"talk{next(_numbers)}"
            for reply in (TimeoutError("timed out"), answer):
                memory.call(call("get_order", talk, order_id="o1"), Tools(get_order=[reply]))
            memory.end(talk)
        assert memory.flush()
        return known(memory)


@AHEAD
@pytest.mark.parametrize("half_life_s", [FORTNIGHT, DAY, 3_600.0, math.inf])
def test_an_attempt_of_the_future_weighs_what_one_of_now_does(
    days: float, half_life_s: float, tmp_path: Path
) -> None:
    path, clock = tmp_path / "btm.db", StillClock()
    lived(path, clock, works=100, half_life_s=half_life_s)
    lived(path, StillClock(clock.now + days * DAY), fails=1, half_life_s=half_life_s)
    assert lived(path, clock, half_life_s=half_life_s)[RETRY] == pytest.approx((100.0, 1.0))
    assert lived(path, clock, works=100, half_life_s=half_life_s)[RETRY] == pytest.approx((200.0, 1.0))
    assert lived(path, clock, half_life_s=half_life_s)[RETRY] == pytest.approx((200.0, 1.0))


@AHEAD
def test_the_table_is_still_a_recount_of_the_attempts(days: float, tmp_path: Path) -> None:
    path, clock = tmp_path / "btm.db", StillClock()
    lived(path, clock, works=5)
    lived(path, StillClock(clock.now + days * DAY), fails=1)
    lived(path, clock, works=5, fails=2)
    store = SqlStore(path)
    assert stored(store) == {k: pytest.approx(v) for k, v in recounted(store).items()}
    store.close()


def test_what_was_fitted_beside_attempts_of_the_future_is_kept(tmp_path: Path) -> None:
    path, clock = tmp_path / "btm.db", StillClock()
    lived(path, clock, works=1)
    other = RETRY._replace(tool="other")
    store = SqlStore(path)
    weight = store.decay.weight(clock.now)
    store.add_learned([(RETRY, 10 * weight, 7 * weight), (other, 3 * weight, 0.0)])
    store.close()
    lived(path, StillClock(clock.now + 100 * DAY), fails=1, works=1)
    seen = lived(path, clock)
    assert seen[RETRY] == pytest.approx((12.0, 8.0))
    assert seen[other] == pytest.approx((3.0, 0.0))


def test_a_merge_takes_nothing_along_that_outweighs_all(tmp_path: Path) -> None:
    path, clock = tmp_path / "btm.db", StillClock()
    lived(path, clock, works=10)
    lived(path, StillClock(clock.now + 365 * DAY), fails=1)
    store = SqlStore(path)
    found = merged([store], clock.now)
    store.close()
    scale = found.decay.scale(clock.now)
    assert {k: (s * scale, f * scale) for k, s, f in found.evidence}[RETRY] == pytest.approx((10.0, 1.0))


def test_the_future_is_met_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, clock = tmp_path / "btm.db", StillClock()
    lived(path, clock, works=1)
    lived(path, StillClock(clock.now + 2.0), works=1)
    with caplog.at_level(logging.WARNING, "btm"):
        lived(path, clock, works=1)
        assert caplog.messages == [], "clocks differ by a few seconds"
        lived(path, StillClock(clock.now + DAY), works=1)
        lived(path, clock, works=1)
    assert len(caplog.messages) == 1
    assert f"{path} holds attempts of up to 86400 s after this clock's time" in caplog.messages[0]


def test_calls_of_the_future_say_nothing_about_a_tool_s_health_now(tmp_path: Path) -> None:
    path, clock = tmp_path / "btm.db", StillClock()
    lived(path, clock, works=1)
    lived(path, StillClock(clock.now + DAY), fails=9)
    store = SqlStore(path)
    assert len(store.load(clock.now).recent_calls) == 2
    store.close()


def test_a_clock_that_is_set_back_outweighs_nothing_while_the_memory_is_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = StillClock()
    memory = memory_of(clock, half_life_s=FORTNIGHT, fallback_map=NO_MAP)

    def live(number: int, answer: object) -> None:
        for reply in (TimeoutError("timed out"), answer):
            memory.call(call("get_order", f"talk{number}", order_id="o1"), Tools(get_order=[reply]))

    for number in range(20):
        live(number, "fine")
    clock.now += 365 * DAY
    live(100, TimeoutError("timed out"))
    assert known(memory)[RETRY] == pytest.approx((0.0, 1.0), abs=1e-6)
    clock.now -= 365 * DAY
    assert known(memory)[RETRY] == pytest.approx((20.0, 1.0))
    live(200, "fine")
    assert known(memory)[RETRY] == pytest.approx((21.0, 1.0))
    assert len(caplog.messages) == 1
    assert "the clock was set back by 31536000 s" in caplog.messages[0]
    memory.close()


YEAR = 365 * DAY


@pytest.mark.parametrize("half_life_s", [3_600.0, FORTNIGHT, math.inf])
@pytest.mark.parametrize(
    "offsets",
    [
        (0, 10 * YEAR, 0),
        (0, 10 * YEAR, 0, 10 * YEAR, 0),
        (10 * YEAR, 0),
        (0, -10 * YEAR, 0),
        (0, 30 * YEAR, 20 * YEAR, 10 * YEAR, 0),
    ],
)
def test_a_clock_that_jumps_by_years_makes_no_more_of_what_was_seen(
    offsets: tuple[float, ...], half_life_s: float, tmp_path: Path
) -> None:
    start = StillClock().now
    for path in (tmp_path / "one.db", tmp_path / "many.db"):
        if path.name == "one.db":  # one memory lives through it
            clock = StillClock()
            with memory_of(clock, path=path, half_life_s=half_life_s, fallback_map=NO_MAP) as memory:
                for number, offset in enumerate(offsets):
                    clock.now = start + offset
                    for reply in (TimeoutError("timed out"), "fine"):
                        memory.call(
                            call("get_order", f"talk{number}", order_id="o1"), Tools(get_order=[reply])
                        )
                (seen,) = known(memory).values()
                assert sum(seen) <= len(offsets) + 1e-6
        else:
            for offset in offsets:
                lived(path, StillClock(start + offset), works=1, half_life_s=half_life_s)
        (seen,) = lived(path, StillClock(start), half_life_s=half_life_s).values()
        assert 1.0 - 1e-3 <= sum(seen) <= len(offsets) + 1e-6
