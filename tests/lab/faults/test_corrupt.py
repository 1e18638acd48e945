import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.lab.faults import Draw, ToolShape
from btm.lab.faults.corrupt import Aim, corrupt, harms
from btm.lab.faults.values import aged, earlier, other
from btm.model import Effect, ErrorKind

ORDER: dict[str, Any] = {
    "order_id": "W1",
    "status": "shipped",
    "items": [{"item_id": "I1", "price": 10.5}, {"item_id": "I2", "price": 3.0}],
    "as_of": "2026-01-01T00:00:00Z",
}
SHAPE = ToolShape(required=("order_id", "status"), fresh="as_of", compared=("status",))
SILENT = [
    ErrorKind.SCHEMA_DRIFT,
    ErrorKind.PARTIAL_DATA,
    ErrorKind.STALE_DATA,
    ErrorKind.FACTUAL_ERROR,
]


def aim(n: int = 0, shape: ToolShape = SHAPE, used: tuple[Any, ...] = ()) -> Aim:
    return Aim(Draw((n,)), shape, used)


@pytest.mark.parametrize("kind", SILENT)
@pytest.mark.parametrize("n", range(8))
def test_a_corrupted_result_differs_and_leaves_the_clean_one_alone(kind: ErrorKind, n: int) -> None:
    clean = json.loads(json.dumps(ORDER))
    wrong = corrupt(kind, clean, aim(n))
    assert wrong is not None
    assert wrong != ORDER
    assert clean == ORDER
    assert wrong == corrupt(kind, clean, aim(n))


def test_partial_data_lacks_the_required_field_that_the_task_needs() -> None:
    for n in range(10):
        wrong = corrupt(ErrorKind.PARTIAL_DATA, ORDER, aim(n, used=(("status",),)))
        assert wrong is not None
        assert "status" not in wrong
        assert "order_id" in wrong


def test_partial_data_cuts_a_list_where_nothing_is_declared() -> None:
    wrong = corrupt(ErrorKind.PARTIAL_DATA, ORDER, aim(shape=ToolShape()))
    assert wrong is not None
    assert len(wrong["items"]) == 1


def test_drifted_fields_are_renamed_or_moved_and_the_values_are_still_there() -> None:
    forms = [json.dumps(corrupt(ErrorKind.SCHEMA_DRIFT, ORDER, aim(n))) for n in range(30)]
    assert len(set(forms)) >= 4
    assert any("shipped" in form and "status" not in json.loads(form) for form in forms)
    assert any('"href"' in form for form in forms)


def test_a_drifted_field_that_the_task_needs_is_moved_out_of_the_result() -> None:
    for n in range(10):
        wrong = corrupt(ErrorKind.SCHEMA_DRIFT, ORDER, aim(n, used=(("status",),)))
        assert wrong is not None
        assert "status" not in wrong
        assert "shipped" not in json.dumps(wrong)
        assert wrong["order_id"] == "W1"


def test_stale_data_shows_an_earlier_state_and_an_old_date() -> None:
    wrong = corrupt(ErrorKind.STALE_DATA, ORDER, aim(used=(("status",),)))
    assert wrong is not None
    assert wrong["status"] == "processed"
    assert wrong["as_of"] < "2025-12-31T00:00:00Z"


def test_a_stale_list_lacks_its_newest_entries() -> None:
    wrong = corrupt(ErrorKind.STALE_DATA, ORDER, aim(used=(("items", 1, "item_id"),)))
    assert wrong is not None
    assert [i["item_id"] for i in wrong["items"]] == ["I1"]


def test_a_factual_error_is_another_value_of_the_same_type_in_a_compared_field() -> None:
    wrong = corrupt(ErrorKind.FACTUAL_ERROR, ORDER, aim())
    assert wrong is not None
    assert isinstance(wrong["status"], str)
    assert {k: v for k, v in wrong.items() if k != "status"} == {
        k: v for k, v in ORDER.items() if k != "status"
    }
    assert wrong["as_of"] == ORDER["as_of"]


def test_a_bare_text_is_compared_as_a_whole() -> None:
    bare = ToolShape(compared=(".",))
    wrong = corrupt(ErrorKind.FACTUAL_ERROR, "ava_stone_112", aim(shape=bare))
    assert isinstance(wrong, str)
    assert wrong.startswith("ava_stone_11")
    assert wrong != "ava_stone_112"
    assert harms(ErrorKind.FACTUAL_ERROR, bare, {(): "ava_stone_112"})


def test_nothing_is_changed_where_no_field_can_be_found_out() -> None:
    assert corrupt(ErrorKind.FACTUAL_ERROR, ORDER, aim(shape=ToolShape())) is None
    assert corrupt(ErrorKind.PARTIAL_DATA, "plain text", aim()) is None


def test_json_text_comes_back_as_json_text() -> None:
    wrong = corrupt(ErrorKind.PARTIAL_DATA, json.dumps(ORDER), aim(used=(("status",),)))
    assert isinstance(wrong, str)
    assert "status" not in json.loads(wrong)


def test_fields_of_every_record_in_a_list_are_hit() -> None:
    wrong = corrupt(ErrorKind.PARTIAL_DATA, [dict(ORDER), dict(ORDER)], aim(used=((0, "status"),)))
    assert wrong is not None
    assert all("status" not in record for record in wrong)


def test_a_raised_fault_is_no_corruption() -> None:
    with pytest.raises(ValueError, match="does not come as a result"):
        corrupt(ErrorKind.TIMEOUT, ORDER, aim())


def test_a_fault_harms_only_where_the_task_looks() -> None:
    assert harms(ErrorKind.PARTIAL_DATA, SHAPE, {("status",): "shipped"})
    assert not harms(ErrorKind.PARTIAL_DATA, SHAPE, {("items", 0, "item_id"): "I1"})
    assert harms(ErrorKind.STALE_DATA, SHAPE, {("items", 0, "item_id"): "I1"})
    assert not harms(ErrorKind.STALE_DATA, SHAPE, {("order_id",): "W1"})
    assert harms(ErrorKind.FACTUAL_ERROR, SHAPE, {("status",): "shipped"})
    assert not harms(ErrorKind.FACTUAL_ERROR, ToolShape(), {("status",): "shipped"})
    assert not harms(ErrorKind.STALE_DATA, ToolShape(Effect.WRITE, fresh="as_of"), {("status",): "shipped"})
    assert harms(ErrorKind.TIMEOUT, ToolShape(Effect.WRITE), {})


@given(st.one_of(st.booleans(), st.integers(), st.floats(0.01, 1e6), st.text(min_size=1)), st.integers())
def test_another_value_is_of_the_same_type_and_differs(value: Any, seed: int) -> None:
    wrong = other(value, Draw((seed,)))
    assert type(wrong) is type(value)
    assert wrong != value


def test_identifiers_keep_their_form() -> None:
    assert other("#W1234567", Draw((1,))).startswith("#W123456")


def test_the_first_state_of_a_record_has_no_earlier_one_and_gets_a_later_one() -> None:
    assert earlier("pending", Draw()) == "processed"
    assert earlier("delivered", Draw()) == "shipped"
    assert earlier("just a text", Draw()) == "just a text"


def test_a_date_keeps_its_form() -> None:
    now = 1_767_225_600.0
    assert aged("2026-01-01T00:00:00Z", now, 86_400) == "2025-12-31T00:00:00Z"
    assert aged("2026-01-01", now, 86_400) == "2025-12-31"
    assert aged("2026-01-01T00:00:00+00:00", now, 86_400) == "2025-12-31T00:00:00+00:00"
    assert aged(int(now), now, 86_400) == int(now) - 86_400
    assert aged(int(now * 1000), now, 86_400) == int(now * 1000) - 86_400_000
