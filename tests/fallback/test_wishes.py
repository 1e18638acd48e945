"""When two calls of a write ask for the same thing, and what the map says about wishes."""

from __future__ import annotations

from typing import Any

import pytest

from btm.errors import FallbackMapError
from btm.fallback import FallbackMap
from btm.fallback.wishes import same_marks, same_wish, wish_marks
from btm.model import ToolCall

PAY = {"customer": "c1", "amount": 50}


@pytest.mark.parametrize(
    "other",
    [
        PAY, {"customer": "c1", "amount": "50"}, {"amount": 50.0, "customer": "c1"}, {"customer": " C1", "amount": "50.00"},
        {**PAY, "memo": "second try"}, {**PAY, "idempotency_key": "k-2"}, {**PAY, "idempotencyKey": "k-2"},
        {**PAY, "note": None, "currency": ""}, {**PAY, "metadata": {"attempt": 2}}, {**PAY, "Idempotency-Key": "z"},
        {**PAY, "amount": "$50"}, {**PAY, "amount": "50,00"}, {**PAY, "amount": "50 EUR"}, {**PAY, "amount": "USD 50.00"},
    ],
)  # fmt: skip
def test_a_wish_is_the_same_however_it_is_spelled(other: dict[str, Any]) -> None:
    assert same_wish(PAY, other)
    assert same_wish({**other, "memo": "first"}, PAY)
    assert same_wish({"payment": PAY, "memo": "first"}, {"payment": other, "memo": "again"})


@pytest.mark.parametrize(
    "other",
    [
        {"customer": "c2", "amount": 50}, {"customer": "c1", "amount": 51}, {"customer": "c1", "amount": 5},
        {"memo": "x"}, {}, {"customer": ["c1", "c2"], "amount": 50},
    ],
)  # fmt: skip
def test_another_customer_or_amount_is_another_wish(other: dict[str, Any]) -> None:
    assert not same_wish(PAY, other)


def test_texts_that_are_the_wish_tell_wishes_apart() -> None:
    mail = {"to": "a@example.com", "subject": "Invoice", "body": "..."}
    assert not same_wish(mail, {**mail, "subject": "Reminder"})
    assert not same_wish({"description": "a"}, {"description": "b"})


def test_the_map_says_which_arguments_make_the_wish() -> None:
    made = FallbackMap.from_text("""
version: 1
domain: bank
tools:
  pay: {effect: write, takes: [customer, amount, text, ref], identity: [customer, amount], idempotency_key: ref}
""")
    pay = ToolCall("pay", {**PAY, "text": "rent", "ref": "1"})
    assert made.same_wish(pay, ToolCall("pay", {**PAY, "text": "the rent", "ref": "2"}))
    assert not made.same_wish(pay, ToolCall("pay", {**PAY, "amount": 51, "text": "rent", "ref": "1"}))
    assert not made.same_wish(pay, ToolCall("refund", pay.arguments))
    assert made.idempotent("pay")


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ("{effect: read, takes: [a], identity: [a]}", "t.yaml:5:.*'t' is a read"),
        (
            "{effect: write, takes: [amount], identity: [amuont]}",
            "takes no argument 'amuont'.*did you mean 'amount'",
        ),
        (
            "{effect: write, takes: [key], idempotency_key: kee}",
            "takes no argument 'kee'.*did you mean 'key'",
        ),
        ("{effect: read, empty: okay}", "empty"),
        ("{effect: read, kind: generic}", "kind"),
    ],
)
def test_a_wrong_wish_is_an_error_with_its_place(entry: str, what: str) -> None:
    with pytest.raises(FallbackMapError, match=what):
        FallbackMap.from_text(f"version: 1\ndomain: d\ntools:\n  # the tool\n  t: {entry}\n", "t.yaml")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"amount": "1,050.00"}, {"amount": 1050}, True),
        ({"amount": "12.345"}, {"amount": "12345"}, False),
        ({"ref": "INV 12"}, {"ref": "ORD 12"}, False),
        (
            {"to": "a@b.c", "subject": "Hi", "body": "one"},
            {"to": "a@b.c", "subject": "Hi", "body": "else"},
            True,
        ),
        ({"title": "Bug", "bodyHtml": "<p>1"}, {"title": "Bug", "bodyHtml": "<p>2"}, True),
        (
            {"to": "a@b.c", "subject": "Hi", "body": "one"},
            {"to": "d@b.c", "subject": "Hi", "body": "one"},
            False,
        ),
        ({"channel": "ops", "text": "one"}, {"channel": "ops", "text": "two"}, False),
    ],
)
def test_amounts_and_letters_are_the_same_by_what_they_say(
    one: dict[str, Any], other: dict[str, Any], same: bool
) -> None:
    assert same_wish(one, other) is same
    key = bytes(16)
    assert same_marks(wish_marks(one, key), wish_marks(other, key)) is same
