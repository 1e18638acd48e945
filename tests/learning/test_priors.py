from __future__ import annotations

import random

import numpy as np
import pytest
from scipy.stats import betabinom

from btm.learning.posterior import Evidence, Priors, pooled
from btm.learning.priors import MOST_KEYS, STRENGTH_BOUNDS, fit_priors, log_likelihood, some
from btm.model import Action, ErrorKind, EvidenceKey

KINDS = (ErrorKind.TIMEOUT, ErrorKind.RATE_LIMIT, ErrorKind.SERVER_ERROR)


def key(tool: str, kind: ErrorKind = ErrorKind.TIMEOUT) -> EvidenceKey:
    return EvidenceKey(tool, kind, Action.RETRY, "", 1)


def tools_drawn_from(strength: float, mean: float, rng: random.Random, *, tries: int = 20) -> Evidence:
    """Evidence of tools whose chances differ as Beta(strength·mean, strength·(1-mean)) says."""
    rows = []
    for kind in KINDS:
        for number in range(60):
            chance = rng.betavariate(strength * mean, strength * (1 - mean))
            worked = sum(rng.random() < chance for _ in range(tries))
            rows.append((key(f"tool{number}", kind), float(worked), float(tries - worked)))
    return Evidence(rows)


def test_without_data_the_shipped_priors_stay() -> None:
    assert fit_priors(Evidence()) == Priors()


def test_one_tool_says_little_about_how_tools_differ() -> None:
    fitted = fit_priors(Evidence([(key("only"), 5.0, 0.0)]))
    for strength, shipped in zip(fitted.strengths, Priors().strengths, strict=True):
        assert shipped / 2 < strength < shipped * 2


def test_nothing_but_successes_gives_finite_strengths_and_a_high_mean() -> None:
    evidence = Evidence([(key(f"tool{n}"), 50.0, 0.0) for n in range(20)])
    fitted = fit_priors(evidence)
    assert all(STRENGTH_BOUNDS[0] <= s <= STRENGTH_BOUNDS[1] for s in fitted.strengths)
    assert pooled(evidence, key("new"), fitted).mean > 0.9


@pytest.mark.parametrize("strength", [1.0, 4.0, 30.0])
def test_the_strength_that_made_the_data_is_found_again(strength: float) -> None:
    fitted = fit_priors(tools_drawn_from(strength, 0.6, random.Random(0)))
    assert strength / 2 < fitted.strengths[2] < strength * 2


def test_a_tool_never_seen_is_believed_to_do_what_the_others_did() -> None:
    evidence = tools_drawn_from(8.0, 0.3, random.Random(1))
    timeouts = [row for row in evidence.rows() if row[0].kind is ErrorKind.TIMEOUT]
    worked, failed = sum(row[1] for row in timeouts), sum(row[2] for row in timeouts)
    believed = pooled(evidence, key("never seen"), fit_priors(evidence)).mean
    assert believed == pytest.approx(worked / (worked + failed), abs=0.01)
    assert believed == pytest.approx(0.3, abs=0.1)


def test_an_action_that_does_worse_than_shipped_starts_lower_after_other_errors_too() -> None:
    evidence = tools_drawn_from(8.0, 0.2, random.Random(1))
    elsewhere = key("any", ErrorKind.UNKNOWN)  # of another family, of which nothing was seen
    shipped = Priors().top_mean(elsewhere)
    assert shipped / 2 < fit_priors(evidence).top_mean(elsewhere) < shipped


def test_what_a_level_starts_from_does_not_count_its_own_evidence_twice() -> None:
    few = Evidence([(key("tool"), 0.0, 4.0)])
    fitted, shipped = pooled(few, key("tool"), fit_priors(few)), pooled(few, key("tool"), Priors())
    assert fitted.mean == pytest.approx(shipped.mean, abs=0.05)


def test_tools_that_differ_are_pooled_less_than_tools_that_are_alike() -> None:
    differing = fit_priors(tools_drawn_from(0.8, 0.5, random.Random(2)))
    alike = fit_priors(tools_drawn_from(50.0, 0.5, random.Random(2)))
    assert differing.strengths[2] < alike.strengths[2]


def test_the_likelihood_is_that_of_the_beta_binomial() -> None:
    means, worked, failed = np.array([0.3, 0.7]), np.array([4.0, 1.0]), np.array([6.0, 9.0])
    ours = log_likelihood(5.0, means, worked, failed)
    # scipy's has the binomial coefficient too, which does not depend on the prior.
    theirs = betabinom.logpmf(worked, worked + failed, 5.0 * means, 5.0 * (1 - means)).sum()
    other = log_likelihood(9.0, means, worked, failed)
    theirs_other = betabinom.logpmf(worked, worked + failed, 9.0 * means, 9.0 * (1 - means)).sum()
    assert ours - other == pytest.approx(theirs - theirs_other)


def test_of_more_keys_than_a_caller_can_wait_for_whole_tools_are_fitted_and_the_same_each_time() -> None:
    rows = [(key(f"tool{n}", kind), 3.0, 1.0) for n in range(2_000) for kind in KINDS]
    part = some(Evidence(rows), {"tool1999"})
    assert len(part) == MOST_KEYS
    assert list(part.rows())[:3] == rows[-3:]
    assert list(part.rows()) == list(some(Evidence(rows), {"tool1999"}).rows())
    of_tool: dict[str, int] = {}
    for found, *_ in part.rows():
        of_tool[found.tool] = of_tool.get(found.tool, 0) + 1
    assert list(of_tool.values()).count(len(KINDS)) >= len(of_tool) - 1
    small = Evidence(rows[:30])
    assert some(small) is small


def test_a_sample_of_many_tools_gives_the_strengths_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    rows = []
    for number in range(1_200):
        chance = rng.betavariate(8.0 * 0.6, 8.0 * 0.4)
        worked = sum(rng.random() < chance for _ in range(20))
        rows.append((key(f"tool{number}"), float(worked), float(20 - worked)))
    part = fit_priors(Evidence(rows)).strengths[2]
    monkeypatch.setattr("btm.learning.priors.MOST_KEYS", 10_000)
    assert part == pytest.approx(fit_priors(Evidence(rows)).strengths[2], rel=0.15)
