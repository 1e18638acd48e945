"""What a writer of a map slipped on is said in words that name the character to change."""

from __future__ import annotations

import pytest

from btm.cli.map_report import _grouped
from btm.errors import FallbackMapError
from btm.fallback import FallbackMap
from btm.fallback.schema import json_schema
from btm.maps.check import check_text
from btm.maps.init import hands_over
from btm.support.effects import cannot_be_undone

HEAD = "version: 1\ndomain: d\ntools:\n"


@pytest.mark.parametrize(
    ("text", "place", "says", "expected"),
    [
        ("\tget_order: {effect: read}\n", "4:1", "a tab indents this line", "spaces"),
        ("  a:\n    effect: read\n   fallbacks: []\n", "6:4", "indented by 3 spaces", "2 or 4 spaces"),
        ("  a\n    effect: read\n", "4:4", "'a' has no colon", "a:"),
        ("  a:\n    effect: read\n    description: gives: all\n", "6:23", "a second ': '", "in quotes"),
        ("  a: {effect: read\n  b: {effect: read}\n", "5:3", "not closed", "closing bracket"),
        ('  a: {effect: "read}\n', "4:15", "not closed", "the same quote"),
        ("  a:\n    effect:read\n", "5:5", "the text 'effect:read'", "did you mean 'effect: read'"),
        ("  a:\n    effect read\n", "5:5", "the text 'effect read'", "did you mean 'effect: read'"),
    ],
)
def test_a_slip_of_yaml_names_the_character_to_change(
    text: str, place: str, says: str, expected: str
) -> None:
    with pytest.raises(FallbackMapError) as wrong:
        FallbackMap.from_text(HEAD + text, "m.yaml")
    assert str(wrong.value).startswith(f"m.yaml:{place}: ")
    assert says in str(wrong.value)
    assert expected in str(wrong.value)


def test_a_single_equals_sign_is_told_from_a_comparison() -> None:
    text = "  w: {effect: write, verify: {tool: r, done_when: \"result.status = 'done'\"}}\n  r: {effect: read}\n"
    with pytest.raises(FallbackMapError, match="a single '='; write '==' to compare"):
        FallbackMap.from_text(HEAD + text)


def test_the_first_fallback_is_number_one() -> None:
    with pytest.raises(FallbackMapError, match=r"a\.fallbacks #1 has no 'coverage'"):
        FallbackMap.from_text(HEAD + "  a: {effect: read, fallbacks: [{tool: b}]}\n  b: {effect: read}\n")


def test_a_check_finds_wrong_references_beside_wrong_keys() -> None:
    text = (
        HEAD
        + "  a: {efect: read, effect: read}\n  b: {effect: read, fallbacks: [{tool: c, coverage: full}]}\n"
    )
    found, _ = check_text(text, "m.yaml")
    assert [finding.what for finding in found] == [
        "unknown key 'efect' in tools.a",
        "the tool 'c' is not declared",
    ]


def test_findings_that_say_the_same_are_shown_once() -> None:
    tools = "".join(f"  get_{name}: {{effect: read}}\n" for name in "abcde")
    found, _ = check_text(HEAD + tools, "m.yaml")
    shown = _grouped(found)
    assert len(found) == 6
    assert sorted(len(others) for _, others in shown) == [0, 4]


def test_every_property_of_the_schema_says_what_it_is() -> None:
    schema = json_schema()
    models = {"": schema, **schema["$defs"]}
    silent = [
        f"{model}.{name}"
        for model, found in models.items()
        for name, is_ in found.get("properties", {}).items()
        if not is_.get("description")
    ]
    assert silent == []


@pytest.mark.parametrize(
    "name",
    [
        "charge_card",
        "make_payment",
        "create_booking",
        "reserveTable",
        "place_order",
        "gmail_send",
        "wire_money",
        "sms_user",
    ],
)
def test_what_moves_money_sends_or_books_cannot_be_undone(name: str) -> None:
    assert cannot_be_undone(name)


@pytest.mark.parametrize("name", ["update_address", "add_note", "create_ticket", "set_status", "rename_file"])
def test_other_writes_are_not_taken_for_it(name: str) -> None:
    assert not cannot_be_undone(name)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("transfer_to_human_agents", True),
        ("talkToOperator", True),
        ("escalate_ticket", True),
        ("contact_support", True),
        ("page_oncall", True),
        ("create_agent", False),
        ("call_agent", False),
        ("get_support_hours", False),
        ("send_money_to_person", False),
    ],
)
def test_a_hand_over_to_a_person_is_told_from_its_name(name: str, is_one: bool) -> None:
    assert hands_over(name) is is_one
