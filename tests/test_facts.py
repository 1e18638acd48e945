"""Values that a conversation has shown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from btm.facts import Facts


def test_fields_of_arguments_and_results_are_known_by_name() -> None:
    facts = Facts()
    facts.note("find_user", {"email": "a@example.com"}, {"user_id": "u1", "address": {"city": "Oslo"}})
    assert dict(facts.known) == {"email": "a@example.com", "user_id": "u1", "city": "Oslo"}


def test_json_in_text_is_read_like_an_object() -> None:
    facts = Facts()
    facts.note("find_user", {}, json.dumps({"user_id": "u1"}))
    assert facts.known["user_id"] == "u1"


def test_a_plain_answer_stands_under_its_tools_name() -> None:
    facts = Facts()
    facts.note("find_user_id", {}, "u1")
    assert facts.known["find_user_id"] == "u1"


def test_the_latest_value_counts() -> None:
    facts = Facts()
    facts.note("a", {}, {"user_id": "old"})
    facts.note("b", {"user_id": "new"}, {})
    assert facts.known["user_id"] == "new"


def test_a_list_of_several_does_not_say_which_is_meant() -> None:
    facts = Facts()
    facts.note("orders", {}, [{"order_id": "o1"}, {"order_id": "o2"}])
    assert "order_id" not in facts.known
    facts.note("orders", {}, [{"order_id": "o3"}])
    assert facts.known["order_id"] == "o3"


def test_long_texts_and_huge_results_are_passed_over() -> None:
    facts = Facts()
    facts.note("read", {}, {"body": "x" * 1_000, "id": 1})
    facts.note("read", {}, '{"other": 2}' + " " * 200_000)
    assert dict(facts.known) == {"id": 1}


def test_the_number_of_names_is_bounded_and_the_oldest_are_forgotten() -> None:
    facts = Facts()
    for n in range(2_000):
        facts.note("t", {f"name{n}": n}, {})
    assert len(facts.known) == 300
    assert "name1999" in facts.known
    assert "name0" not in facts.known


class Broken(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no")

    def __len__(self) -> int:
        return 1


def test_objects_that_raise_show_nothing_and_break_nothing() -> None:
    facts = Facts()
    facts.note("t", Broken(), Broken())
    facts.note("t", {"id": 1}, {"inner": Broken(), "user_id": "u1"})
    assert facts.known["id"] == 1


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=10),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=20,
    )
)
def test_any_result_is_taken_in_and_gives_plain_values(result: Any) -> None:
    facts = Facts()
    facts.note("t", {}, result)
    assert all(isinstance(v, str | int | float | bool) for v in facts.known.values())
