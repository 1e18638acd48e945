from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shared_data import shared

from btm.errors import EvaluationError
from btm.fallback import FallbackMap
from btm.lab.calibration import Calibration, ConversationEvidence, bootstrap_mean, calibrate, cut, lessons
from btm.lab.forecasts import BASELINES, Method, forecasters
from btm.learning.posterior import Evidence
from btm.logs.reading import read_conversations
from btm.model import Action, Attempt, ErrorKind, EvidenceKey


def key(tool: str, ordinal: int = 1) -> EvidenceKey:
    return EvidenceKey(tool, ErrorKind.TIMEOUT, Action.RETRY, "", ordinal)


def lesson(
    *outcomes: tuple[str, bool], log: str = "log", started_at: float | None = None
) -> ConversationEvidence:
    attempts = tuple(Attempt("i", "c", key(tool), worked, at=0.0) for tool, worked in outcomes)
    return ConversationEvidence(f"{log}:1", started_at, attempts)


def many(rng: random.Random, tools: int, count: int) -> list[ConversationEvidence]:
    """Lessons of one attempt each, of tools whose chances lie around 0.8."""
    chances = {f"tool{n}": rng.betavariate(8.0, 2.0) for n in range(tools)}
    drawn = (rng.choice(list(chances)) for _ in range(count))
    return [lesson((tool, rng.random() < chances[tool])) for tool in drawn]


def group(found: Calibration, name: str) -> Any:
    return next(g for g in found.groups if g.name == name)


def loss(found: Calibration, name: str, method: Method) -> float:
    return next(float(s.log_loss) for s in group(found, name).scores if s.method is method)


def test_parts_follow_each_other_in_time_where_the_log_knows_it() -> None:
    told = [lesson(("a", True), log=f"log{n % 2}", started_at=float(9 - n)) for n in range(10)]
    made = cut(told, 5)
    assert made.by_time
    assert [[found.started_at for found in part] for part in made.parts] == [
        [0, 1],
        [2, 3],
        [4, 5],
        [6, 7],
        [8, 9],
    ]


def test_without_times_each_log_is_cut_by_itself() -> None:
    told = [lesson((f"{log}{n}", True), log=log) for log in "ab" for n in range(4)]
    made = cut(told)
    assert not made.by_time
    assert [[found.attempts[0].key.tool for found in part] for part in made.parts] == [
        ["a0", "a1", "b0", "b1"],
        ["a2", "a3", "b2", "b3"],
    ]


def test_one_part_is_no_split() -> None:
    with pytest.raises(EvaluationError, match="at least two parts"):
        cut([lesson(("a", True))], 1)


def test_logs_without_recoveries_are_an_error_and_not_a_table_of_nothing() -> None:
    with pytest.raises(EvaluationError, match="too few attempts"):
        calibrate(cut([]))


def test_nothing_of_a_later_part_is_known_to_an_earlier_forecast() -> None:
    told = many(random.Random(0), 5, 60)
    upside_down = [
        replace_outcomes(found, not found.attempts[0].success) if n >= 40 else found
        for n, found in enumerate(told)
    ]
    first, second = calibrate(cut(told, 3)), calibrate(cut(upside_down, 3))
    for method in Method:
        assert np.array_equal(first.forecasts[method][:40], second.forecasts[method][:40])


def replace_outcomes(found: ConversationEvidence, success: bool) -> ConversationEvidence:
    return found._replace(attempts=tuple(replace(attempt, success=success) for attempt in found.attempts))


def test_a_raw_rate_is_bounded_and_falls_back_to_the_global_rate_for_a_new_key() -> None:
    said = forecasters(Evidence([(key("always"), 9.0, 0.0), (key("never"), 0.0, 3.0)]))
    assert said[Method.RAW](key("always")) == 0.99
    assert said[Method.RAW](key("never")) == 0.01
    assert said[Method.RAW](key("new")) == said[Method.GLOBAL](key("new")) == 0.75
    assert said[Method.FLAT](key("new")) == 0.5


def test_pooling_wins_clearly_where_keys_are_thin() -> None:
    found = calibrate(cut(many(random.Random(1), 150, 600)), samples=500)
    for difference in group(found, "thin").differences:
        if (
            difference.baseline is not Method.GLOBAL
        ):  # which is right about tools of a kind that nobody has seen
            assert difference.log_loss_interval.high < 0
    assert not any(d.worse for g in found.groups for d in g.differences)


def test_with_much_evidence_a_key_pooling_costs_nothing() -> None:
    found = calibrate(cut(many(random.Random(2), 4, 2_000)), samples=500)
    assert loss(found, "all", Method.POOLED) == pytest.approx(loss(found, "all", Method.RAW), abs=0.005)


def test_too_few_conversations_give_no_interval() -> None:
    told = [lesson(("a", True), ("a", False), ("b", True)) for _ in range(8)]
    (difference, *_) = calibrate(cut(told)).groups[0].differences
    assert difference.log_loss_interval is None
    assert not difference.worse


def test_where_all_attempts_end_alike_no_interval_is_given() -> None:
    told = [lesson((f"t{n % 3}", False)) for n in range(200)]
    assert all(d.log_loss_interval is None for d in calibrate(cut(told)).groups[0].differences)
    some = [lesson((f"t{n % 3}", n % 10 == 0)) for n in range(200)]
    assert all(d.log_loss_interval is not None for d in calibrate(cut(some)).groups[0].differences)


def test_what_never_worked_can_still_be_foretold_where_nothing_is_known() -> None:
    told = [
        lesson((f"t{n}", n == 150)) for n in range(200)
    ]  # every key is new, none had worked, and then one does
    assert np.isfinite(calibrate(cut(told, 4)).groups[0].scores[3].log_loss)


def test_the_bootstrap_draws_whole_conversations() -> None:
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=40), 25)  # 25 copies of each: as much as 40 values tell, not 1,000
    together, apart = np.repeat(np.arange(40), 25), np.arange(1_000)
    wide, narrow = bootstrap_mean(values, together, seed=0), bootstrap_mean(values, apart, seed=0)
    assert wide is not None
    assert narrow is not None
    assert (wide.high - wide.low) > 4 * (narrow.high - narrow.low)
    assert wide.low < values.mean() < wide.high


def test_the_same_seed_gives_the_same_intervals() -> None:
    told = many(random.Random(3), 10, 200)
    assert calibrate(cut(told), seed=5).groups == calibrate(cut(told), seed=5).groups
    assert calibrate(cut(told), seed=5).groups != calibrate(cut(told), seed=6).groups


def test_the_log_of_a_lesson_is_its_source_without_the_place() -> None:
    assert ConversationEvidence("logs/a.jsonl:17", None, ()).log == "logs/a.jsonl"
    assert ConversationEvidence("b.json#3", None, ()).log == "b.json"


def real(*paths: str) -> Sequence[ConversationEvidence]:
    files = [str(shared(f"data/traces/{path}")) for path in paths]
    return lessons(read_conversations(files), FallbackMap.empty())


SINGLE = [
    ("intercode/bash-gpt-3.5.jsonl.gz",),
    ("intercode/bash-gpt-4.jsonl.gz",),
    ("intercode/sql-gpt-3.5.jsonl.gz",),
    ("intercode/sql-gpt-4.jsonl.gz",),
]
SOURCES = [("intercode",), ("tau1",), ("tau2",), ("tau1", "tau2")]


@pytest.mark.parametrize("parts", [2, 8])
@pytest.mark.parametrize("logs", SINGLE + SOURCES, ids="+".join)
def test_pooled_beliefs_are_best_or_tied_on_held_out_parts_of_real_logs(
    logs: tuple[str, ...], parts: int
) -> None:
    found = calibrate(cut(real(*logs), parts))
    worse = [(g.name, d) for g in found.groups for d in g.differences if d.worse]
    assert not worse
    if parts == 8 and logs in SOURCES:  # one log alone has a hundred attempts, and hardly one that worked
        assert all(loss(found, "all", Method.POOLED) < loss(found, "all", baseline) for baseline in BASELINES)


# In InterCode two of 35 attempts at thin keys worked: too few to say.
@pytest.mark.parametrize("logs", [("tau1",), ("tau2",)], ids="+".join)
def test_pooled_beliefs_are_clearly_best_on_thin_keys_of_real_logs(logs: tuple[str, ...]) -> None:
    thin = group(calibrate(cut(real(*logs), 8)), "thin")
    for difference in thin.differences:
        assert difference.log_loss_interval.high < 0, difference
