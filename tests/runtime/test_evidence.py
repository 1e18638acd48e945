"""What attempts add up to, as of now."""

from __future__ import annotations

import pytest
from core_kit import key

from btm.learning.posterior import Decay, Evidence, Priors, pooled, unlearned
from btm.model import Action, Attempt, ErrorKind, EvidenceKey
from btm.runtime.evidence import Credit
from btm.store import Snapshot

RETRY = key("get_order", "timeout", "retry")
NOW = 1_700_000_000.0


def credit(half_life_s: float = 100.0) -> Credit:
    return Credit(Snapshot(Decay(half_life_s, NOW), Priors(), b""), pooled)


def attempt(success: bool, at: float) -> Attempt:
    return Attempt("i", "c", RETRY, success, at)


def seen(books: Credit, now: float) -> tuple[float, float]:
    belief = books.belief(RETRY, now)
    return belief.worked, belief.n - belief.worked


def test_evidence_fades_as_time_goes_by() -> None:
    books = credit()
    books.give([attempt(True, NOW), attempt(False, NOW + 100)], NOW + 100)
    assert seen(books, NOW + 100) == pytest.approx((0.5, 1.0))
    assert seen(books, NOW + 200) == pytest.approx((0.25, 0.5))
    ((listed, belief),) = books.beliefs(NOW + 200)
    assert listed == RETRY
    assert belief == books.belief(RETRY, NOW + 200)


def test_what_is_given_can_be_taken_back_or_turned() -> None:
    books = credit()
    books.give([attempt(True, NOW), attempt(True, NOW)], NOW)
    books.turn([attempt(True, NOW)])
    assert seen(books, NOW) == pytest.approx((1.0, 1.0))
    books.take_back([attempt(True, NOW)])
    assert seen(books, NOW) == pytest.approx((0.0, 1.0))


def test_the_landmark_moves_on_and_no_belief_changes() -> None:
    books = credit()
    books.give([attempt(True, NOW)], NOW)
    later = NOW + 100 * 250
    books.give([attempt(False, later)], later)
    assert books._decay.landmark == later
    worked, failed = seen(books, later)
    assert worked == pytest.approx(2.0**-250)
    assert failed == 1.0


def test_a_clock_that_was_set_back_makes_nothing_count_for_more() -> None:
    books = credit()
    books.give([attempt(True, NOW + 1_000)], NOW + 1_000)
    assert seen(books, NOW) == pytest.approx((1.0, 0.0))


def test_an_attempt_that_a_wrong_clock_dated_ahead_weighs_no_more_than_others() -> None:
    books = credit()
    books.give([attempt(True, NOW)] * 5, NOW)
    books.give([attempt(False, NOW + 1_000)], NOW + 1_000)
    assert seen(books, NOW) == pytest.approx((5.0, 1.0))
    assert seen(books, NOW + 100) == pytest.approx((2.5, 0.5)), "from then on it fades like the others"
    books.turn([attempt(True, NOW)])
    books.take_back([attempt(False, NOW + 1_000)])
    assert seen(books, NOW) == pytest.approx((4.0, 1.0))


def test_of_more_attempts_than_are_kept_none_counts_more_than_once() -> None:
    books = credit()
    for _ in range(1_500):
        books.give([attempt(True, NOW + 1_000)], NOW + 1_000)
    worked, failed = seen(books, NOW)
    assert worked <= 1_500.001
    assert failed == 0.0


# -- how strongly pools are believed ---------------------------------------------------------------------------------


def two_camps(tools: int, tries: int) -> list[tuple[EvidenceKey, float, float]]:
    """Tools of which every other one always heals and the rest never do."""
    return [
        (EvidenceKey(f"t{n}", ErrorKind.TIMEOUT, Action.RETRY, "", 1), tries * (n % 2), tries * (1 - n % 2))
        for n in range(tools)
    ]


def test_a_memory_finds_out_how_much_tools_differ_when_it_opens() -> None:
    rows = tuple((key, float(worked), float(failed)) for key, worked, failed in two_camps(30, 5))
    new = EvidenceKey("new", ErrorKind.TIMEOUT, Action.RETRY, "", 1)
    shipped = pooled(Evidence(rows), new, Priors())
    snapshot = Snapshot(Decay(), Priors(), b"", rows)
    fitted = Credit(snapshot, pooled).belief(new, 0.0)
    assert fitted.low < 0.02 < shipped.low
    assert fitted.high > 0.98 > shipped.high


def test_a_baseline_without_learning_stays_as_it_is_shipped() -> None:
    rows = tuple((key, float(worked), float(failed)) for key, worked, failed in two_camps(30, 5))
    key = rows[0][0]
    assert Credit(Snapshot(Decay(), Priors(), b"", rows), unlearned).belief(key, 0.0) == unlearned(
        Evidence(), key, Priors()
    )


def test_a_few_sums_without_a_time_of_their_own_are_not_taken_for_enough_to_fit_to() -> None:
    few = Snapshot(
        Decay(100.0, NOW), Priors(), b"", evidence=((RETRY, 2.0, 6.0),)
    )  # merged, or fitted from logs
    shipped = pooled(Evidence(few.evidence), RETRY, Priors())
    assert Credit(few, pooled).belief(RETRY, NOW) == shipped


def test_what_stood_in_is_found_among_the_tools_own_switches() -> None:
    switch = key("get_order", "timeout", "switch", "list_orders")
    others = [(key(f"tool{n}", "timeout", "switch", "other"), 9.0, 0.0) for n in range(5)]
    books = Credit(Snapshot(Decay(100.0, NOW), Priors(), b"", evidence=((switch, 5.0, 1.0), *others)), pooled)
    assert books.stood_in("get_order", ErrorKind.TIMEOUT, NOW) == ("list_orders",)
    assert books.stood_in("get_order", ErrorKind.NOT_FOUND, NOW) == ()
