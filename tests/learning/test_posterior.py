"""Pooling, forgetting and intervals: evidence is a plain sum, and a belief is read off it."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from core_kit import key
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta as scipy_beta

from btm.learning.posterior import (
    BetaPosterior,
    Decay,
    Evidence,
    Priors,
    flat,
    intervals,
    levels,
    pooled,
    shares,
    start_mean,
    unlearned,
)
from btm.model import Action, ErrorKind, EvidenceKey, Family

KINDS = (ErrorKind.TIMEOUT, ErrorKind.SERVER_ERROR, ErrorKind.AUTH_ERROR, ErrorKind.NOT_FOUND)
counts = st.floats(0, 50).map(lambda x: round(x, 3))


@st.composite
def keys(draw: st.DrawFn) -> EvidenceKey:
    action = draw(st.sampled_from((Action.RETRY, Action.REVISE, Action.SWITCH)))
    target = draw(st.sampled_from(("x", "y"))) if action is Action.SWITCH else ""
    return EvidenceKey(
        draw(st.sampled_from(("a", "b"))),
        draw(st.sampled_from(KINDS)),
        action,
        target,
        draw(st.integers(1, 3)),
    )


rows = st.lists(st.tuples(keys(), counts, counts), max_size=12)


# -- intervals -----------------------------------------------------------------------------------------------------


@given(st.floats(0.05, 500), st.floats(0.05, 500), st.sampled_from((0.5, 0.8, 0.95, 0.99)))
def test_the_interval_is_the_beta_distributions_own(a: float, b: float, mass: float) -> None:
    low, high = BetaPosterior(a, b).interval(mass)
    expected = scipy_beta.interval(mass, a, b)
    assert (low, high) == pytest.approx(expected, abs=1e-6)


def test_low_and_high_are_the_95_percent_interval() -> None:
    belief = BetaPosterior(3, 2)
    assert (belief.low, belief.high) == belief.interval(0.95)
    assert belief.low < belief.mean < belief.high


# -- pooling -------------------------------------------------------------------------------------------------------


def test_a_retry_is_pooled_over_its_kind_and_a_switch_over_its_target() -> None:
    assert levels(key("a", "timeout", "retry", ordinal=2))[1] == ("kind", "timeout", "retry", "2")
    assert levels(key("a", "timeout", "switch", "x"))[1] == ("target", "switch", "x", "1")


@given(keys())
def test_without_evidence_a_belief_is_the_shipped_start(k: EvidenceKey) -> None:
    belief = pooled(Evidence(), k, Priors())
    assert belief.mean == pytest.approx(start_mean(k.kind.family, k.action, k.ordinal))
    assert belief.n == 0


def test_pooling_by_hand() -> None:
    evidence = Evidence(
        [
            (key("a", "timeout", "retry"), 3.0, 1.0),  # the key itself
            (key("b", "timeout", "retry"), 1.0, 5.0),  # the same kind elsewhere
            (key("b", "server_error", "retry"), 2.0, 0.0),  # the same family, another kind
        ]
    )
    s1, s2, s3 = 4.0, 3.0, 2.0
    # Six tries of one key tell its pool as much as 6·3/(2 + 6) independent ones.
    kind = 6 * (s3 + 1) / (s3 + 6)
    # Two of another kind tell it 2·3/(2 + 2), and the family 1.5·4/(3 + 1.5).
    family = 2 * (s3 + 1) / (s3 + 2)
    family *= (s2 + 1) / (s2 + family)
    top = (s1 * start_mean(Family.TRANSIENT, Action.RETRY, 1) + family) / (s1 + family)
    size = passed_on(top, s1 + family, s2)
    middle = (size * top + kind / 6) / (size + kind)
    size = passed_on(middle, size + kind, s3)
    belief = pooled(evidence, key("a", "timeout", "retry"), Priors(strengths=(s1, s2, s3)))
    assert belief.alpha == pytest.approx(size * middle + 3)
    assert belief.beta == pytest.approx(size * (1 - middle) + 1)
    assert (belief.n, belief.worked) == (4.0, 3.0)


def passed_on(mean: float, size: float, strength: float) -> float:
    """The pseudo-counts of what stands below a pool whose own mean is unsure."""
    unsure = mean * (1 - mean) / (size + 1)
    spread = (mean * (1 - mean) - unsure) / (strength + 1) + unsure
    return mean * (1 - mean) / spread - 1


def test_one_busy_key_does_not_speak_for_all() -> None:
    rows = [(key(f"t{n}", "timeout", "retry"), 8.0, 2.0) for n in range(20)]
    alike = pooled(Evidence(rows), key("new", "timeout", "retry"), Priors())
    for tries in (1_000.0, 100_000.0):
        busy = (key("busy", "timeout", "retry"), 0.05 * tries, 0.95 * tries)
        belief = pooled(Evidence([*rows, busy]), key("new", "timeout", "retry"), Priors())
        assert belief.mean > alike.mean - 0.06
        assert belief.high > 0.95


def test_little_evidence_leaves_wide_intervals_below_it() -> None:
    few = Evidence([(key("a", "timeout", "retry"), 2.0, 0.0)])
    many = Evidence([(key(f"t{n}", "timeout", "retry"), 8.0, 2.0) for n in range(40)])
    new = key("new", "timeout", "retry")
    wide, narrow = pooled(few, new, Priors()), pooled(many, new, Priors())
    assert wide.high - wide.low > narrow.high - narrow.low


def test_a_tool_that_is_bad_after_other_errors_is_believed_to_be_bad_after_this_one() -> None:
    others = [
        (key(f"t{n}", kind, "retry"), 9.0, 1.0) for n in range(6) for kind in ("timeout", "server_error")
    ]
    bad = [(key("bad", "server_error", "retry"), 0.0, 10.0)]
    asked = key("bad", "timeout", "retry")
    before, after = (pooled(Evidence(rows), asked, Priors()).mean for rows in (others, [*others, *bad]))
    unlike = pooled(Evidence([*others, *bad]), key("new", "timeout", "retry"), Priors()).mean
    assert after < before - 0.1
    assert after < unlike - 0.1


@pytest.mark.parametrize("fault", ["auth_error", "invalid_arguments"])
def test_a_tool_that_gets_over_what_passes_gets_no_further_over_what_does_not(fault: str) -> None:
    heals = [(key("tool", "server_error", "retry"), 60.0, 0.0)]
    before, after = (
        pooled(Evidence(rows), key("tool", fault, "retry"), Priors()).mean for rows in ([], heals)
    )
    assert before < after < before + 0.05


def test_a_tool_that_gets_over_what_does_not_pass_gets_over_what_does() -> None:
    odd = [(key("tool", "auth_error", "retry"), 60.0, 0.0)]
    before, after = (
        pooled(Evidence(rows), key("tool", "server_error", "retry"), Priors()).mean for rows in ([], odd)
    )
    assert after > before + 0.1


def test_evidence_of_a_substitute_counts_once() -> None:
    new = key("new", "timeout", "switch", "x")
    same = [(key(f"t{n}", "timeout", "switch", "x"), 0.0, 10.0) for n in range(3)]
    top, middle, *_ = shares(Evidence(same), new, Priors())
    assert top.counts.total == 0.0
    assert middle.counts.total > 0.0


@given(keys(), counts, counts)
def test_own_evidence_does_not_move_its_own_prior(k: EvidenceKey, worked: float, failed: float) -> None:
    alone = pooled(Evidence(), k, Priors())
    belief = pooled(Evidence([(k, worked, failed)]), k, Priors())
    assert belief.alpha == pytest.approx(alone.alpha + worked)
    assert belief.beta == pytest.approx(alone.beta + failed)


@given(rows, keys())
def test_one_more_success_never_lowers_a_belief_and_one_more_failure_never_raises_it(
    learned: list[tuple[EvidenceKey, float, float]], k: EvidenceKey
) -> None:
    def mean(extra: tuple[float, float]) -> float:
        return pooled(Evidence([*learned, (k, *extra)]), k, Priors()).mean

    assert mean((1, 0)) > mean((0, 0)) > mean((0, 1))


@given(rows, keys())
def test_what_another_tool_did_after_the_same_error_moves_their_pool_the_same_way(
    learned: list[tuple[EvidenceKey, float, float]], k: EvidenceKey
) -> None:
    """Not so of what the tool itself did after other errors: that speaks for it where others fail, and else little."""

    def pool(*more: tuple[EvidenceKey, float, float]) -> float:
        return shares(Evidence([*learned, *more]), k, Priors())[1].mean

    other = k._replace(tool="another")
    assert pool((other, 1, 0)) >= pool() - 1e-12
    assert pool((other, 0, 1)) <= pool() + 1e-12


@given(rows)
def test_with_much_evidence_a_key_stands_alone(learned: list[tuple[EvidenceKey, float, float]]) -> None:
    k = key("a", "timeout", "retry")
    evidence = Evidence([*learned, (k, 90_000.0, 10_000.0)])
    assert pooled(evidence, k, Priors()).mean == pytest.approx(0.9, abs=0.01)


@given(rows, keys())
def test_every_belief_is_proper(learned: list[tuple[EvidenceKey, float, float]], k: EvidenceKey) -> None:
    for model in (pooled, flat, unlearned):
        belief = model(Evidence(learned), k, Priors(), 0.5)
        assert belief.alpha > 0
        assert belief.beta > 0
        assert 0 <= belief.low <= belief.mean <= belief.high <= 1


@given(rows, keys(), st.floats(0.01, 1))
def test_the_shares_of_the_levels_add_up_to_the_belief(
    learned: list[tuple[EvidenceKey, float, float]], k: EvidenceKey, scale: float
) -> None:
    evidence = Evidence(learned)
    found = shares(evidence, k, Priors(), scale)
    assert [s.level for s in found] == list(levels(k))
    assert found[-1].mean == pytest.approx(pooled(evidence, k, Priors(), scale).mean)
    assert all(s.counts.successes >= 0 and s.counts.failures >= 0 for s in found)


@given(rows)
def test_the_order_of_learning_does_not_matter(learned: list[tuple[EvidenceKey, float, float]]) -> None:
    k = key("a", "timeout", "retry")
    means = {round(pooled(Evidence(order), k, Priors()).mean, 9) for order in list(permutations(learned[:4]))}
    assert len(means) == 1


@given(rows, keys(), counts, counts)
def test_what_is_taken_back_leaves_no_trace(
    learned: list[tuple[EvidenceKey, float, float]], k: EvidenceKey, s: float, f: float
) -> None:
    evidence = Evidence(learned)
    before = pooled(evidence, k, Priors())
    evidence.add(k, s, f)
    evidence.add(k, -s, -f)
    after = pooled(evidence, k, Priors())
    assert (after.alpha, after.beta) == pytest.approx((before.alpha, before.beta))


def test_taking_back_what_was_never_learned_here_leaves_a_proper_belief() -> None:
    k = key("a", "timeout", "retry")
    evidence = Evidence()
    evidence.add(k, -5.0, 5.0)  # a person reported a call of another process
    belief = pooled(evidence, k, Priors())
    assert (belief.worked, belief.n) == (0.0, 5.0)
    assert 0 <= belief.low <= belief.high <= 1


def test_flat_and_unlearned_are_the_two_baselines() -> None:
    k = key("a", "timeout", "retry")
    evidence = Evidence([(k, 3.0, 1.0), (key("b", "timeout", "retry"), 100.0, 0.0)])
    assert flat(evidence, k, Priors()) == BetaPosterior(4.0, 2.0, 4.0, 3.0)
    assert unlearned(evidence, k, Priors()).mean == start_mean(Family.TRANSIENT, Action.RETRY, 1)


def test_fitted_means_replace_the_shipped_ones() -> None:
    k = key("a", "timeout", "retry")
    priors = Priors(means={("family", "transient", "retry", "1"): 0.11})
    assert pooled(Evidence(), k, priors).mean == pytest.approx(0.11)


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("action", Action)
def test_the_shipped_chances_fall_with_every_try(family: Family, action: Action) -> None:
    first, second, third = (start_mean(family, action, n) for n in (1, 2, 3))
    assert 0 < third <= second <= first < 1


# -- forgetting ----------------------------------------------------------------------------------------------------

times = st.floats(0, 1e6)
half_lives = st.floats(3_600, 1e6)


@given(times, times, half_lives)
def test_an_observation_counts_by_its_age_when_it_is_read(at: float, age: float, half_life: float) -> None:
    decay = Decay(half_life, landmark=0.0)
    assert decay.weight(at) * decay.scale(at + age) == pytest.approx(2.0 ** (-age / half_life))


def test_after_one_half_life_evidence_counts_half() -> None:
    decay = Decay(60.0, landmark=1_000.0)
    assert decay.weight(1_000.0) == 1.0
    assert decay.weight(1_300.0) * decay.scale(1_360.0) == pytest.approx(0.5)


@given(st.lists(st.tuples(times, st.booleans()), min_size=1, max_size=10), half_lives, times)
def test_the_landmark_does_not_matter(
    seen: list[tuple[float, bool]], half_life: float, landmark: float
) -> None:
    k = key("a", "timeout", "retry")

    def belief(decay: Decay) -> BetaPosterior:
        evidence = Evidence((k, decay.weight(at) * ok, decay.weight(at) * (not ok)) for at, ok in seen)
        return pooled(evidence, k, Priors(), decay.scale(1e6))

    a, b = belief(Decay(half_life, 0.0)), belief(Decay(half_life, landmark))
    assert (a.alpha, a.beta) == pytest.approx((b.alpha, b.beta))


@given(rows, keys(), st.floats(1e-6, 1e6))
def test_moving_the_landmark_keeps_every_belief(
    learned: list[tuple[EvidenceKey, float, float]], k: EvidenceKey, factor: float
) -> None:
    evidence = Evidence(learned)
    before = pooled(evidence, k, Priors(), 0.25)
    evidence.rescale(factor)
    after = pooled(evidence, k, Priors(), 0.25 / factor)
    assert (after.alpha, after.beta) == pytest.approx((before.alpha, before.beta))


def test_never_forgetting_is_an_infinite_half_life() -> None:
    decay = Decay(math.inf, landmark=5.0)
    assert decay.weight(1e12) == decay.scale(-1e12) == 1.0
    assert not decay.overdue(1e12)


def test_a_clock_that_is_far_off_does_not_overflow() -> None:
    decay = Decay(1.0, landmark=1.7e9)
    for now in (0.0, 1e18):
        assert math.isfinite(decay.weight(now))
        assert math.isfinite(decay.scale(now))
    assert decay.overdue(1.8e9)


def test_a_dozen_failures_leave_more_than_one_chance_in_a_thousand() -> None:
    here = [
        EvidenceKey("bash", kind, Action.RETRY, "", 2)
        for kind in (ErrorKind.NOT_FOUND, ErrorKind.INVALID_ARGUMENTS)
    ]
    believed = pooled(Evidence((key, 0.0, 12.0) for key in here), here[0], Priors())
    assert 0.002 < believed.mean < 0.02


def test_intervals_of_many_beliefs_are_those_of_each() -> None:
    beliefs = [BetaPosterior(0.5 + n, 40.0 / (n + 1)) for n in range(30)]
    assert intervals(beliefs) == [pytest.approx(belief.interval()) for belief in beliefs]
    assert intervals([]) == []
