"""Values that a conversation has shown."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.runtime.known_values import Facts


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


class Held:
    """Something that a result can hold on to."""


class Message:
    """A tool's message, which carries text, and more than the text."""

    type = "tool"

    def __init__(self, content: Any) -> None:
        self.content = content
        self.artifact = Held()


class Text(str):
    __slots__ = ("held",)


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda held: {"order_id": "o1", "handle": held},
        lambda held: [{"order_id": "o1", "rows": ["x" * 90_000, held]}],
        lambda held: Message('{"order_id": "o1"}'),
        lambda held: Message('{"order_id": "o1", "more": "' + "y" * 50_000 + '"}'),
        lambda held: Message([{"type": "text", "text": '{"order_id": "o1"}'}]),
        lambda held: '{"order_id": "o1"}',
    ],
)
def test_nothing_of_a_result_is_held_but_small_values(wrapped: Any) -> None:
    facts, held = Facts(), Held()
    result = wrapped(held)
    artifact = getattr(result, "artifact", held)
    gone = [weakref.ref(held), weakref.ref(artifact)]
    facts.note("get_order", {"email": "a@example.com", "file": held}, result)
    del result, held, artifact
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert facts.known["order_id"] == "o1"
    assert facts.known["email"] == "a@example.com"


def test_a_text_of_a_caller_s_own_class_is_not_held() -> None:
    facts, held = Facts(), Held()
    text, short = Text("u1"), Text("o1")
    text.held = held  # type: ignore[attr-defined]
    short.held = held  # type: ignore[attr-defined]
    gone = weakref.ref(held)
    facts.note("find_user", {"order_id": short}, text)
    facts.note("get_order", {}, {"user_id": text})
    del held, text, short
    gc.collect()
    assert gone() is None
    assert dict(facts.known) == {"order_id": "o1", "find_user": "u1", "user_id": "u1"}


def test_what_waits_to_be_read_is_short_and_few() -> None:
    facts = Facts()
    for n in range(1_000):
        facts.note("t", {"n": n}, {"body": "x" * 90_000, "id": n})
        facts.note("t", {"n": n, "text": "y" * 90_000}, "z" * 1_900)
        assert len(facts._unread) < 16
        assert sum(len(text) for _, _, text in facts._unread) < 32_000
    assert facts.known["id"] == 999


def test_a_huge_result_is_looked_into_no_further_than_a_few_hundred_values() -> None:
    class Counting(dict[str, Any]):
        looked = 0

        def items(self) -> Any:
            for item in super().items():
                Counting.looked += 1
                yield item

    facts = Facts()
    facts.note("t", {}, Counting({f"name{n}": n for n in range(100_000)}))
    assert Counting.looked <= 401
    assert 0 < len(facts.known) <= 300
    facts.note("t", {}, {"id": 10**1_000, "small": 10**20})
    assert "id" not in facts.known
    assert facts.known["small"] == 10**20


def test_later_values_win_whatever_way_they_are_read() -> None:
    facts = Facts()
    facts.note("a", {"user_id": "one"}, "short")
    facts.note("b", {"user_id": "two"}, {"order": {"id": 1}})
    assert facts.known["user_id"] == "two"
    facts.note("c", {}, '{"user_id": "three"}')
    facts.note("d", {}, {"user_id": "four"})
    assert facts.known["user_id"] == "four"


def test_objects_inside_of_results_show_their_fields() -> None:
    @dataclass
    class Address:
        city: str

    facts = Facts()
    facts.note("t", {}, {"address": Address("Oslo"), "day": date(2026, 7, 1), "price": Decimal("1.5")})
    assert dict(facts.known) == {"city": "Oslo", "day": "2026-07-01", "price": 1.5}
    facts.note("u", {}, Address("Bergen"))
    assert facts.known["city"] == "Bergen"
