from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.logs.values import AS_GIVEN, printed_arguments, time_of

PRINTED = st.dictionaries(
    st.text(max_size=8),
    st.recursive(
        st.text(max_size=12)
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.none()
        | st.booleans(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=5,
    ),
    max_size=4,
)


@given(arguments=PRINTED)
def test_what_python_prints_for_arguments_is_read_as_they_were(arguments: dict[str, Any]) -> None:
    assert printed_arguments(repr(arguments)) == arguments


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("{'n': 12345678901234567890123}", {"n": 12345678901234567890123}),
        ("{'a': 'it''s'}", {"a": "its"}),
        ("{'path': 'C:\\\\temp'}", {"path": "C:\\temp"}),
        ("{'pair': (1, 2)}", {"pair": (1, 2)}),
        ('{"order_id": "W1"}', {"order_id": "W1"}),
        ("{'order_id': get_id()}", {AS_GIVEN: "{'order_id': get_id()}"}),
        ("order W1", {AS_GIVEN: "order W1"}),
    ],
)
def test_printed_arguments_are_python_or_json_or_kept_as_they_are(
    text: str, arguments: dict[str, Any]
) -> None:
    assert printed_arguments(text) == arguments


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e6, 1e9])
def test_a_time_is_read_in_whichever_unit_it_stands(unit: float) -> None:
    assert time_of(1_777_593_600.0 * unit) == pytest.approx(1_777_593_600.0)


@pytest.mark.parametrize("value", [1e300, -1e20, float("inf"), float("nan"), True, "soon", [1]])
def test_what_no_unit_makes_a_time_is_none(value: object) -> None:
    assert time_of(value) is None
