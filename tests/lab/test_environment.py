"""The types of an environment, the walk over JSON values, and tool descriptions from functions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.errors import EvaluationError
from btm.lab.environment import (
    ExpectedAnswer,
    Given,
    ScriptStep,
    ShownValue,
    Task,
    Write,
    double_writes,
    load_environment,
)
from btm.lab.jsonvalue import (
    ABSENT,
    at,
    element_path,
    equal,
    field_name,
    leaves,
    like,
    pairs,
    parsed,
)
from btm.lab.toolspec import check_arguments, spec_of
from btm.model import Effect

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)


def task(changes: tuple[str, ...] = (), **rest: object) -> Task:
    return Task("t", "please", {}, rest.get("steps", ()), "goal", rest.get("answers", ()), changes)  # type: ignore[arg-type]


def writes(*changes: str) -> list[Write]:
    return [Write("tool", {}, change) for change in changes]


def test_an_unknown_domain_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(EvaluationError, match=r"did you mean 'shop'"):
        load_environment("shp")


@pytest.mark.parametrize(
    ("asked", "made", "doubles"),
    [
        ((), (), 0),
        (("refund 5",), ("refund 5",), 0),
        (("refund 5",), ("refund 5", "refund 5"), 1),
        (("refund 5", "refund 5"), ("refund 5", "refund 5"), 0),
        (("cancel 1",), ("cancel 2",), 0),
        ((), ("cancel 2", "cancel 2", "cancel 2"), 2),
    ],
)
def test_double_writes_are_those_beyond_what_was_asked(
    asked: tuple[str, ...], made: tuple[str, ...], doubles: int
) -> None:
    assert double_writes(task(asked), writes(*made)) == doubles


def test_a_task_knows_which_places_of_a_result_are_used() -> None:
    place, other = ShownValue(0, ("user_id",), "u1"), ShownValue(1, ("total",), 5)
    steps = (
        ScriptStep("find", {"email": "e"}, ((("email",), Given()),)),
        ScriptStep("get", {"user_id": "u1"}, ((("user_id",), place),)),
        ScriptStep("do", {"user_id": "u1"}, ((("user_id",), place),), requires=(place,)),
    )
    found = task(steps=steps, answers=(ExpectedAnswer("5", (other,)),))
    assert found.used(0) == (place,)
    assert found.used(1) == (other,)
    assert found.used(2) == ()


@given(JSON)
def test_every_leaf_stands_where_its_path_says(value: object) -> None:
    for path, leaf in leaves(value):
        assert at(value, path) == leaf
        assert any(where == path for where, _ in like(value, path))


@pytest.mark.parametrize("path", [("a", 5), ("a", "x"), ("b",), ("a", 0, "c"), (0,)])
def test_a_place_that_is_not_there_is_absent(path: tuple[str | int, ...]) -> None:
    assert at({"a": [1]}, path) is ABSENT


def test_paths_tell_their_field_and_their_list_element() -> None:
    path = ("orders", 2, "items", 0, "price")
    assert field_name(path) == "price"
    assert element_path(path) == ("orders", 2, "items", 0)
    assert field_name(("payment_methods", 0)) == "payment_methods"
    assert element_path(("a", "b")) is None
    assert field_name(()) == ""


def test_dates_of_reading_are_no_pairs() -> None:
    assert pairs({"as_of": "now", "id": 1, "tags": [], "n": [{"x": None}]}) == {("id", 1), ("x", None)}


def test_true_is_not_one() -> None:
    assert not equal(True, 1)
    assert equal(2, 2.0)


def test_text_that_holds_json_is_parsed_and_other_text_is_left() -> None:
    assert parsed('{"a": 1}') == {"a": 1}
    assert parsed("{no") == "{no"
    assert parsed("12") == "12"


def lend(desk: object, title: str, days: int, fee: float = 0.5, notes: dict = {}) -> None:  # type: ignore[type-arg]  # noqa: B006
    """Lend a book
    to a reader."""


def test_a_function_gives_its_spec() -> None:
    spec = spec_of(lend, Effect.WRITE)
    assert spec.name == "lend"
    assert spec.description == "Lend a book to a reader."
    assert spec.parameters["required"] == ["title", "days"]
    assert spec.parameters["properties"]["fee"] == {"type": "number"}
    assert spec.parameters["properties"]["notes"] == {"type": "object"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"title": "x", "days": 3}, ""),
        ({"title": "x", "days": 3, "fee": 1}, ""),
        ({"title": "x"}, "the argument 'days' is missing"),
        ({"title": "x", "days": True}, "'days' must be of type integer"),
        ({"title": 5, "days": 1}, "'title' must be of type string"),
        ({"title": "x", "days": 1, "color": 1}, "there is no argument 'color'"),
    ],
)
def test_arguments_are_checked_against_the_spec(arguments: dict[str, object], problem: str) -> None:
    assert check_arguments(spec_of(lend, Effect.WRITE), arguments) == problem
