"""Silent faults: marks in the data, values that cannot be true, expectations, a learned shape."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.classify import Expectations, Freshness, ShapeProfile, ShapeRow, classify
from btm.classify.shape import MAX_KEYS, MAX_PATHS, lower_bound
from btm.model import Effect, ErrorKind, Outcome, ToolCall

NOW = datetime(2026, 11, 29, 15, 0, tzinfo=UTC).timestamp()


def look(result: Any, tool: str = "get_weather", effect: Effect = Effect.READ, **arguments: Any) -> Outcome:
    return classify(ToolCall(tool, arguments, effect, at=NOW), result)


# -- marks of an incomplete answer


@pytest.mark.parametrize(
    "result",
    [
        {"items": [1], "truncated": True},
        {"items": [1], "has_more": True, "truncated": True},
        {"items": [1], "incomplete_results": True},
        {"data": {"a": 1}, "errors": [{"message": "b did not answer"}]},
        {"items": [1], "warnings": ["2 of 5 suppliers did not respond; results are incomplete"]},
        "1: import os\n[output truncated: showing lines 1-200 of 5310]",
    ],
)
def test_an_answer_that_says_it_is_incomplete_is_partial(result: Any) -> None:
    outcome = look(result, "list_things")
    assert outcome.kind is ErrorKind.PARTIAL_DATA
    assert outcome.silent
    assert outcome.reason


@pytest.mark.parametrize(
    "result",
    [
        {"items": [1], "truncated": False, "has_more": False, "next_page_token": None},
        {"items": [1], "has_more": True, "next_page_token": "CAUQAA"},
        {"items": [1], "next": None, "warnings": ["Passport must be valid for six months"]},
        "Showing 10 of 10 results",
    ],
)
def test_an_answer_that_says_it_is_whole_is_a_success(result: Any) -> None:
    assert look(result, "list_things").ok


def test_a_batch_with_failures_is_partial_as_a_write_and_a_count_as_a_read() -> None:
    counts = {"succeeded": 47, "failed": 3}
    assert look(counts, "import_contacts", Effect.WRITE).kind is ErrorKind.PARTIAL_DATA
    assert look(counts, "run_tests").ok


# -- marks of an old answer


def test_the_age_of_an_answer_matters_for_live_things() -> None:
    old = {"temperature_c": 4.1, "observed_at": "2026-11-27T06:50:00Z"}
    assert look(old).kind is ErrorKind.STALE_DATA
    assert look(old, observed="2026-11-27").ok  # asked for that day
    assert look({"temperature_c": 4.1, "observed_at": "2026-11-29T14:50:00Z"}).ok
    assert look({"id": 1, "created_at": "2019-04-03T00:00:00Z", "updated_at": "2020-01-01"}, "get_account").ok


def test_without_a_time_of_the_call_no_date_is_called_old() -> None:
    assert classify(ToolCall("get_rate"), {"rate": 1.1, "as_of": "2024-02-03T09:00:00Z"}).ok
    assert (
        classify(ToolCall("get_rate"), {"rate": 1.1, "as_of": "2024-02-03"}, now=NOW).kind
        is ErrorKind.STALE_DATA
    )


def test_http_says_when_an_answer_is_stale() -> None:
    stale = {"status": 200, "headers": {"warning": '110 - "Response is Stale"'}, "body": {"price": 1}}
    assert look(stale).kind is ErrorKind.STALE_DATA
    assert look({"sku": "A", "stale": True}).kind is ErrorKind.STALE_DATA


# -- values that cannot be true


@pytest.mark.parametrize(
    "result",
    [
        {"lat": 946.9, "lon": 7.4},
        {"temperature_c": -999.0},
        {"humidity_pct": 140},
        {"yes_pct": 62, "no_pct": 55},
        {"check_in": "2026-12-18", "check_out": "2026-12-11"},
        {"start": "2026-12-02T10:00:00Z", "end": "2026-12-02T09:00:00Z"},
        {"min_price": 90, "max_price": 20},
        {"expression": "7 * 8", "result": 54},
        {"lines": [{"qty": 2, "unit_price": 10.0}], "total": 125.0},
    ],
)
def test_what_cannot_be_true_is_a_factual_error(result: Any) -> None:
    assert look(result, "get_thing").kind is ErrorKind.FACTUAL_ERROR


@pytest.mark.parametrize(
    "result",
    [
        {"lat": -90, "lon": 180},
        {"count": -1},
        {
            "departure": "2026-12-10T23:30:00",
            "arrival": "2026-12-10T21:10:00",
        },  # local times, across the date line
        {"expression": "10 / 3", "result": 3.33},
        {"lines": [{"qty": 2, "unit_price": 10.0}], "shipping": 5.0, "total": 25.0},
        {"cpu_pct": 91, "memory_pct": 80},
        {"start": "22:00", "end": "06:00"},
    ],
)
def test_what_is_merely_unusual_is_left_alone(result: Any) -> None:
    assert look(result, "get_thing").ok


def test_an_answer_about_another_thing_than_asked_is_wrong() -> None:
    assert look({"order_id": "W2"}, "get_order", order_id="W1").kind is ErrorKind.FACTUAL_ERROR
    assert look({"order_id": "#w-1"}, "get_order", order_id="W1").ok


def test_a_calculators_answer_is_checked_against_its_expression() -> None:
    assert look("54", "calculate", expression="7 * 8").kind is ErrorKind.FACTUAL_ERROR
    assert look("56.0", "calculate", expression="7 * 8").ok


# -- what the map expects


def test_expectations_are_checked_in_order_and_say_which_failed() -> None:
    expected = Expectations(
        required=("order_id", "items[].price"),
        types={"order_id": "string"},
        ranges={"items[].price": (0, 100)},
        fresh=Freshness("updated_at", 3_600.0),
    )

    def check(result: Any) -> tuple[ErrorKind | None, str]:
        outcome = classify(ToolCall("get_order", at=NOW), result, expectations=expected)
        return outcome.kind, outcome.reason

    good = {"order_id": "W1", "items": [{"price": 5}], "updated_at": "2026-11-29T14:30:00Z"}
    assert check(good)[0] is None
    assert check({**good, "order_id": None}) == (
        ErrorKind.PARTIAL_DATA,
        "the required field order_id is missing",
    )
    assert check({**good, "items": [{"price": 5}, {}]})[0] is ErrorKind.PARTIAL_DATA
    assert check({**good, "order_id": 7})[0] is ErrorKind.SCHEMA_DRIFT
    assert check({**good, "items": [{"price": 500}]})[0] is ErrorKind.FACTUAL_ERROR
    assert check({**good, "updated_at": "2026-11-29T12:00:00Z"})[0] is ErrorKind.STALE_DATA
    assert check("three pans and a lid")[0] is ErrorKind.MALFORMED


# -- the learned shape


def learned(*results: Any) -> ShapeProfile:
    profile = ShapeProfile()
    for result in results:
        profile = profile.observe(result)
    return profile


ORDER = {"order_id": "W1", "status": "open", "items": [{"id": 1, "price": 2.5}], "address": {"city": "Bern"}}


def test_a_field_that_was_always_there_and_is_gone_is_partial_data() -> None:
    profile = learned(*[ORDER] * 30)
    assert profile.verdict(ORDER) is None
    verdict = profile.verdict({k: v for k, v in ORDER.items() if k != "status"})
    assert verdict is not None
    assert (verdict.kind, verdict.path) == (ErrorKind.PARTIAL_DATA, "$.status")
    assert 0.9 <= verdict.confidence < 1
    assert "30 of 30" in verdict.reason


def test_a_renamed_or_retyped_field_is_schema_drift() -> None:
    profile = learned(*[ORDER] * 30)
    renamed = {("state" if k == "status" else k): v for k, v in ORDER.items()}
    for changed in (
        renamed,
        {**ORDER, "status": {"code": "open"}},
        {**ORDER, "items": [{"id": 1, "price": "2.5"}]},
    ):
        verdict = profile.verdict(changed)
        assert verdict is not None
        assert verdict.kind is ErrorKind.SCHEMA_DRIFT


def test_the_shape_says_nothing_before_there_is_enough_evidence() -> None:
    assert learned(*[ORDER] * 27).verdict({"order_id": "W1"}) is None
    assert learned(*[ORDER] * 28).verdict({"order_id": "W1"}) is not None


def test_long_lists_do_not_count_as_many_answers() -> None:
    assert learned(*[{"rows": [{"a": 1}] * 50}] * 5).verdict({"rows": [{}]}) is None


def test_an_optional_field_never_fires() -> None:
    results = [{**ORDER, "note": "x"} if n % 5 else ORDER for n in range(200)]
    assert learned(*results).verdict(ORDER) is None


def test_a_field_that_was_null_may_hold_something_and_whole_numbers_are_numbers() -> None:
    profile = learned(*[{"cancelled_at": None, "price": 2.5}] * 50)
    assert profile.verdict({"cancelled_at": "2026-11-29", "price": 3}) is None


def test_maps_whose_keys_are_data_neither_fire_nor_explode() -> None:
    profile = learned(*[{"methods": {f"card_{n}{n + 1}77": {"last": n}}} for n in range(100)])
    assert profile.verdict({"methods": {}}) is None
    assert profile.verdict({"methods": {"card_99999": {"last": 1}}}) is None
    assert len(profile.counts) < 10
    words = learned(*[{f"word{chr(97 + n % 26)}{chr(97 + n // 26)}": n} for n in range(500)])
    assert len(words.counts) <= MAX_KEYS + 1 <= MAX_PATHS
    assert words.verdict({"other": 1}) is None


def test_a_classification_with_a_shape_names_the_fault() -> None:
    profile = learned(*[ORDER] * 30)
    outcome = classify(ToolCall("get_order"), '{"order_id": "W1"}', shape=profile)
    assert outcome.kind is ErrorKind.PARTIAL_DATA
    assert outcome.silent
    assert outcome.rule.startswith("shape:$.")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=6), st.lists(JSON, max_size=6), JSON)
def test_profiles_merge_by_addition_and_survive_their_rows(
    first: list[Any], second: list[Any], probe: Any
) -> None:
    apart = learned(*first).merge(learned(*second))
    together = learned(*first, *second)
    assert {row[:2] for row in apart.rows()} == {row[:2] for row in together.rows()}
    for left, right in zip(apart.rows(), together.rows(), strict=True):
        assert left.answers == pytest.approx(right.answers)
    again = ShapeProfile.from_rows(ShapeRow(*row) for row in together.rows())
    assert list(again.rows()) == list(together.rows())
    assert again.verdict(probe) == together.verdict(probe)


@given(st.lists(JSON, min_size=1, max_size=5))
def test_what_was_observed_never_fires(results: list[Any]) -> None:
    profile = learned(*(results * 30))
    assert all(profile.verdict(result) is None for result in results)


def test_the_bound_is_the_quantile_of_the_beta_posterior() -> None:
    from scipy.stats import beta

    for seen, missed in ((28, 0), (46, 1), (61, 2), (90.5, 4.5)):
        assert lower_bound(seen, missed) == pytest.approx(beta.ppf(0.05, 1 + seen, 1 + missed))


def test_keys_that_are_addresses_or_secrets_are_not_kept() -> None:
    profile = learned({"status": "ok", "ann@example.org": 1, "sk-abcdefghijklmnop": {"quota": 2}, "total": 3})
    assert {row.path for row in profile.rows()} == {"$", "$.status", "$.total"}
