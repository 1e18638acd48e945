"""btm.maps.check: what is wrong with a map, alone and against the real tools."""

from __future__ import annotations

from typing import Any

import pytest
from tool_kit import tool

from btm.maps.check import check_text
from btm.maps.finding import Severity
from btm.maps.tools import ToolInfo

HEAD = "version: 1\ndomain: d\ntools:\n"


def codes(text: str, tools: list[ToolInfo] | None = None) -> list[str]:
    findings, _ = check_text(HEAD + text, "m.yaml", tools)
    return [f"{f.severity}:{f.code}:{f.place.line}" for f in findings]


def one(text: str, code: str, tools: list[ToolInfo] | None = None) -> Any:
    findings, _ = check_text(HEAD + text, "m.yaml", tools)
    (found,) = [f for f in findings if f.code == code]
    return found


def test_a_sound_map_gives_nothing_to_remark() -> None:
    text = (
        "  a: {effect: read, fallbacks: [{tool: b, coverage: full}, {tool: c, coverage: full}]}\n"
        "  b: {effect: read, fallbacks: [{tool: c, coverage: full}]}\n"
        "  c: {effect: read, fallbacks: [{tool: e, coverage: full}]}\n"
        "  e: {effect: read, fallbacks: [{tool: f, coverage: full}]}\n"
        "  f: {role: verify}\n  h: {role: escalation}\n"
    )
    assert codes(text) == []


def test_what_does_not_load_is_one_error_for_each_problem() -> None:
    text = "  a: {effect: read, fallbacks: [{tool: x, coverage: full}]}\n  b: {}\n"
    assert codes(text) == ["error:format:4", "error:format:5"]
    findings, model = check_text("a: b: c", "m.yaml")
    assert model is None
    assert [(f.code, f.place.line, f.place.column) for f in findings] == [("format", 1, 5)]


def test_a_read_without_a_way_round_is_a_warning_and_a_write_a_note() -> None:
    text = "  a: {effect: read}\n  w: {effect: write, idempotent: true}\n  h: {role: escalation}\n"
    assert codes(text) == ["warning:no-way-round:4", "note:no-way-round:5"]


def test_a_write_that_nobody_can_verify_is_a_warning() -> None:
    assert "warning:unverifiable-write:4" in codes("  w: {effect: write}\n")
    assert "warning:unverifiable-write:4" not in codes(
        "  w: {effect: write, verify: {tool: r}}\n  r: {effect: read}\n"
    )


def test_an_offer_that_is_made_twice_is_a_warning() -> None:
    text = "  a: {effect: read, fallbacks: [{tool: b, coverage: full}, {tool: b, coverage: 0.5, only_for: [timeout]}]}\n"
    assert "warning:offered-twice:4" in codes(text + "  b: {effect: read}\n")
    offers = "{tool: b, coverage: 1, only_for: [timeout]}, {tool: b, coverage: 1, only_for: [caller]}"
    other = f"  a: {{effect: read, fallbacks: [{offers}]}}\n"
    assert not any("offered-twice" in c for c in codes(other + "  b: {effect: read}\n"))


def test_a_read_that_stands_in_for_a_write_is_a_warning() -> None:
    text = "  w: {effect: write, fallbacks: [{tool: r, coverage: full}]}\n  r: {effect: read}\n"
    assert one(text, "read-for-write").place.column == 41


def test_tools_that_only_stand_in_for_each_other_are_a_note() -> None:
    text = (
        "  a: {effect: read, fallbacks: [{tool: b, coverage: full}]}\n"
        "  b: {effect: read, fallbacks: [{tool: a, coverage: full}]}\n"
    )
    assert "'a' and 'b'" in one(text, "ping-pong").what
    out = text.replace("{tool: a, coverage: full}]", "{tool: a, coverage: full}, {tool: c, coverage: full}]")
    assert not any("ping-pong" in c for c in codes(out + "  c: {effect: read}\n"))


def test_a_tool_on_which_everything_hangs_is_a_note() -> None:
    text = (
        "".join(f"  {n}: {{effect: read, fallbacks: [{{tool: x, coverage: full}}]}}\n" for n in "abc")
        + "  x: {effect: read}\n"
    )
    found = one(text, "single-point")
    assert (found.severity, found.place.line) == (Severity.NOTE, 7)
    assert "'a', 'b' and 'c'" in found.what


def test_a_map_without_an_escalation_is_a_note() -> None:
    assert "note:no-escalation:3" in codes("  a: {effect: read}\n")


PAIR = "  a: {effect: read, fallbacks: [{tool: b, coverage: full%s}]}\n  b: {effect: read%s}\n"


def test_a_tool_that_does_not_exist_gets_the_nearest_name() -> None:
    found = one(PAIR % ("", ""), "missing-tool", [tool("a"), tool("bb")])
    assert (found.place.line, found.place.column, found.help) == (5, 3, "did you mean 'bb'?")


def test_a_tool_that_the_map_does_not_know_is_a_warning() -> None:
    assert "'new'" in one(PAIR % ("", ""), "unmapped-tool", [tool("a"), tool("b"), tool("new")]).what


def test_an_argument_that_is_required_and_not_filled_is_an_error() -> None:
    tools = [tool("a", "id"), tool("b", "user_id limit")]
    findings = check_text(
        HEAD + PAIR % (", arguments: {user_id: '{{ known.user_id }}'}", ""), "m.yaml", tools
    )[0]
    (found,) = [f for f in findings if f.code == "unfilled-argument"]
    assert found.what == "'b' requires 'limit', and nothing fills it"
    assert (found.severity, found.place.line, found.place.column) == (Severity.ERROR, 4, 40)


def test_arguments_that_nobody_wrote_must_line_up() -> None:
    assert (
        one(PAIR % ("", ""), "unfilled-argument", [tool("a", "id"), tool("b", "id user")]).severity
        is Severity.ERROR
    )
    assert one(PAIR % ("", ""), "unknown-argument", [tool("a", "id x"), tool("b", "id")]).place.column == 40
    seen_before = one(
        PAIR % ("", ", takes: [id, user]"), "unfilled-argument", [tool("a", "id"), tool("b", "id user")]
    )
    assert seen_before.severity is Severity.WARNING
    same = codes(PAIR % ("", ""), [tool("a", "id"), tool("b", "id")])
    assert not any(c.startswith("error") for c in same)


def test_an_argument_that_the_tool_does_not_take_is_an_error() -> None:
    text = PAIR % (", arguments: {order: 1}", "")
    found = one(text, "unknown-argument", [tool("a"), tool("b", optional="order_id")])
    assert (found.place.line, found.place.column, found.help) == (4, 71, "did you mean 'order_id'?")


def test_an_argument_of_the_failed_call_that_does_not_exist_is_an_error() -> None:
    text = PAIR % (', arguments: {x: "#{{ call.ordr_id }}"}', "")
    found = one(text, "unknown-argument", [tool("a", "order_id"), tool("b", "x")])
    assert (found.place.column, found.help) == (84, "did you mean 'order_id'?")


@pytest.mark.parametrize(
    ("written", "given"),
    [
        ("3", "integer"),
        ("'{{ call.n }}'", "integer"),
        ("'no {{ call.n }}'", None),
        ("'{{ call.n | string }}'", None),
        ("[1]", "array"),
    ],
)
def test_types_that_cannot_match_are_an_error(written: str, given: str | None) -> None:
    tools = [tool("a", "n", types={"n": "integer"}), tool("b", "x", types={"x": "string"})]
    text = PAIR % (f", arguments: {{x: {written}}}", "")
    found = [f.what for f in check_text(HEAD + text, "m.yaml", tools)[0] if f.code == "type-mismatch"]
    assert found == ([f"'x' of 'b' is given {given}"] if given else [])


def test_a_read_that_the_tool_itself_calls_a_write_is_an_error() -> None:
    tools = [ToolInfo("a", destructive=True), ToolInfo("b")]
    assert one(PAIR % ("", ""), "effect", tools).severity is Severity.ERROR


def test_takes_must_say_what_the_tool_takes() -> None:
    text = PAIR % ("", ", takes: [id, limt?, user?]")
    found = {
        (f.code, f.what)
        for f in check_text(HEAD + text, "m.yaml", [tool("a"), tool("b", "user key", "limit")])[0]
    }
    assert ("unknown-argument", "'b' takes no argument 'id'") in found
    assert ("unknown-argument", "'b' takes no argument 'limt'") in found
    assert ("required-argument", "'user' is an argument that 'b' requires") in found
    assert ("required-argument", "'b' also requires 'key'") in found


def test_repairs_verifiers_and_steps_of_compositions_are_checked_too() -> None:
    text = (
        "  w:\n    effect: write\n    repairs: [{on: auth_error, tool: t}]\n    verify: {tool: r}\n"
        "    fallbacks: [{via: [r, {tool: v, arguments: {}}], coverage: 1}]\n"
        "  t: {role: repair}\n  r: {effect: read}\n  v: {effect: write}\n"
    )
    tools = [tool("w", "a"), tool("t", "secret"), tool("r", "key"), tool("v", "z")]
    whats = {f.what for f in check_text(HEAD + text, "m.yaml", tools)[0] if f.code == "unfilled-argument"}
    assert {
        f"'{n}' requires '{a}', and nothing fills it" for n, a in (("t", "secret"), ("r", "key"), ("v", "z"))
    } == whats
