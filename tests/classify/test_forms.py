from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from btm.classify import keys
from btm.classify.keys import form_of, role_of

NAMES = st.sampled_from(
    [
        "status",
        "date",
        "dayOfWeek",
        "total",
        "check_in",
        "check_out",
        "departure",
        "arrival",
        "nights",
        "name",
    ]
)


@given(body=st.dictionaries(NAMES | st.text(max_size=5) | st.integers(), st.none()))
def test_a_form_lists_the_fields_that_can_be_signs_in_their_order(body: dict[Any, Any]) -> None:
    signs = [(role_of(name), name) for name in body if role_of(name) is not None]
    assert list(form_of(body).signs) == signs
    assert form_of(body) == form_of(dict(body))


def test_comparisons_are_offered_only_where_both_fields_are_there() -> None:
    assert form_of({"check_in": 1, "check_out": 2}).ordered
    assert form_of({"start": 1, "end": 2}).ordered
    assert not form_of({"check_in": 1, "name": 2}).ordered
    assert form_of({"equation": 1}).calculated
    assert form_of({"total": 1}).calculated
    assert not form_of({"price": 1}).calculated


def test_names_that_are_data_do_not_fill_the_memory() -> None:
    for number in range(5_000):
        form_of({f"user_{number}": None})
    form_of({"x" * 10_000: None})
    form_of({str(number): None for number in range(1_000)})
    assert len(keys._known) <= 4_096
    assert all(len(names) <= 64 and all(len(name) <= 64 for name in names) for names in keys._known)


def test_a_wide_mapping_is_looked_at_as_far_as_a_bound() -> None:
    body = {**{f"field_{number}": 0 for number in range(300)}, "status": "partial"}
    assert form_of(body).signs == ()
