"""btm.maps.init, editing and suggest: maps are begun and added to without losing what stands there."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tool_kit import tool

from btm.authored.loading import parse
from btm.errors import FallbackMapError
from btm.fallback import FallbackMap
from btm.fallback.loading import load_valid
from btm.maps.editing import add_fallback, add_tools, add_verify, flow
from btm.maps.init import extend_map, new_map
from btm.maps.suggest import suggest
from btm.model import Action, Effect, ErrorKind, EvidenceKey

TOOLS = [
    tool(
        "get_order",
        "order_id",
        description="Get one order. With all its items.",
        returns=("order_id", "status", "total"),
    ),
    tool(
        "find_order_by_number",
        "number",
        description="Find an order by its printed number.",
        returns=("order_id", "status"),
    ),
    tool("cancel_order", "order_id", "reason"),
    tool("put_note", "text", idempotent=True, read_only=False),
    tool("refresh_token"),
    tool("transfer_to_human_agents", "summary"),
    tool("weird name: [x]", "a"),
]


def test_a_first_map_is_valid_and_marks_its_guesses() -> None:
    text = new_map(TOOLS, "shop", "shop.yaml")
    made = FallbackMap.from_text(text)
    assert set(made.tools) == {t.name for t in TOOLS}
    assert made.effect("get_order") is Effect.READ
    assert made.effect("cancel_order") is Effect.WRITE
    assert made.entry("cancel_order").irreversible
    assert made.idempotent("put_note")
    assert made.escalations() == ("transfer_to_human_agents",)
    assert str(made.tools["refresh_token"].role) == "repair"
    assert "effect: read  # guessed from its name" in text
    assert "effect: write  # its readOnlyHint is false" in text
    assert "get_order:  # Get one order\n" in text
    assert made.tools["cancel_order"].takes == ("order_id", "reason?")


EXISTING = """\
# my map
version: 1
domain: shop   # the shop

tools:
  # reads
  get_order:   # by id
    effect: read      # sure of it
    fallbacks:
      # the only one so far
      - tool: list_orders
        coverage: partial  # measured
        # lacks nothing we need
  list_orders: {effect: read, takes: [user_id]}
  cancel_order:
    effect: write
    verify: {tool: get_order}

# the end
"""


def test_an_existing_map_gets_only_the_tools_that_it_lacks() -> None:
    text, added = extend_map(EXISTING, "m.yaml", [tool("get_order"), tool("search", "q")], ["get_order"])
    assert added == ("search",)
    assert (
        text.replace("  search:\n    effect: read  # guessed from its name\n    takes: [q]\n", "") == EXISTING
    )
    assert text.index("  search:") > text.index("verify:")
    assert list(FallbackMap.from_text(text).tools) == ["get_order", "list_orders", "cancel_order", "search"]


def test_a_fallback_is_added_after_those_that_are_there() -> None:
    text = add_fallback(EXISTING, "m.yaml", "get_order", {"tool": "cancel", "coverage": "full"}, "seen\nonce")
    assert (
        "        coverage: partial  # measured\n      # seen once\n      - {tool: cancel, coverage: full}\n"
        in text
    )
    assert all(line in text for line in EXISTING.splitlines())


def test_a_fallback_is_added_where_there_was_none() -> None:
    text = add_fallback(EXISTING, "m.yaml", "cancel_order", {"tool": "void", "coverage": 0.5})
    assert "    verify: {tool: get_order}\n    fallbacks:\n      - {tool: void, coverage: 0.5}\n" in text
    text = add_fallback(text, "m.yaml", "list_orders", {"tool": "get_order", "coverage": "full"})
    assert (
        "  list_orders: {effect: read, takes: [user_id], fallbacks: [{tool: get_order, coverage: full}]}\n"
        in text
    )
    text = add_fallback(text, "m.yaml", "list_orders", {"tool": "x y", "coverage": "full"})
    assert '[{tool: get_order, coverage: full}, {tool: "x y", coverage: full}]}' in text


@pytest.mark.parametrize(
    ("text", "tool_name"),
    [
        ("version: 1\ndomain: d\ntools:\n  a: &x {effect: read}\n  b: *x\n", "b"),
        (
            "version: 1\ndomain: d\ntools:\n  a: {effect: read, fallbacks: &f []}\n  b: {effect: read, fallbacks: *f}\n",
            "b",
        ),
        ("version: 1\ndomain: d\ntools:\n  a: &x {effect: read}\n  b: *x\n", "a"),
        ("version: 1\ndomain: d\ntools:\n  a: {effect: read}\n", "z"),
    ],
)
def test_what_cannot_be_added_to_by_text_is_refused_and_left_alone(text: str, tool_name: str) -> None:
    with pytest.raises(FallbackMapError):
        add_fallback(text, "m.yaml", tool_name, {"tool": "c", "coverage": "full"})


def test_windows_line_ends_and_a_missing_last_one_are_kept() -> None:
    text = EXISTING.replace("\n", "\r\n")
    added = add_fallback(text, "m.yaml", "cancel_order", {"tool": "void", "coverage": 1})
    assert "\n" not in added.replace("\r\n", "")
    bare = "version: 1\ndomain: d\ntools:\n  a: {effect: read}"
    assert add_tools(bare, "m", {"b": "b:\n  effect: read\n"}) == bare + "\n  b:\n    effect: read\n"
    assert (
        add_tools("version: 1\ntools: {}\n", "m", {"b": "b:\n  effect: read\n"})
        == "version: 1\ntools:\n  b:\n    effect: read\n"
    )


TARGETS = st.sampled_from(
    ["get_a", "list b", "on", "null", "3", "a: b", "x#y", "ü", "~", "'q'", '"', "{{ x }}"]
)
COMMENTS = st.lists(st.sampled_from(["# note", "# - a: b", "", "#"]), max_size=3)


@st.composite
def written_maps(draw: st.DrawFn) -> str:
    lines = ["# head", "version: 1", "domain: d", *draw(COMMENTS), "tools:"]
    for name in ["get_one", "get_two", "put"]:
        lines += ["  " + c for c in draw(COMMENTS)]
        style = draw(st.integers(0, 3))
        if style == 0:
            lines.append(f"  {name}: {{effect: read}}  # flow")
        elif style == 1:
            lines += [f"  {name}:", "    effect: read  # block"]
        elif style == 2:
            lines += [
                f"  {name}:",
                "    effect: read",
                "    fallbacks:",
                "    - tool: put  # at the margin",
                "      coverage: full",
            ]
        else:
            lines += [
                f"  {name}:",
                "    description: |",
                "      many",
                "      lines",
                "    fallbacks: []",
                "    effect: read",
            ]
    lines += draw(COMMENTS)
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))


@given(written_maps(), st.sampled_from(["get_one", "get_two", "put"]), TARGETS, st.text(max_size=20))
def test_adding_keeps_meaning_and_comments(text: str, name: str, target: str, comment: str) -> None:
    fallback = {
        "tool": target,
        "coverage": "partial",
        "arguments": {"q": target, "n": [1, None, {"deep": target}]},
    }
    made = add_fallback(text, "m.yaml", name, fallback, comment)
    before, after = parse(text, "m").value(), parse(made, "m").value()
    assert after["tools"][name].pop("fallbacks")[-1] == fallback
    before["tools"][name].pop("fallbacks", None)
    assert before == after
    assert _is_subsequence(
        [line for line in text.splitlines() if "#" in line and "flow" not in line], made.splitlines()
    )
    grown = add_tools(made, "m.yaml", {"new": "new:\n  effect: read\n"})
    assert parse(grown, "m").value()["tools"].pop("new") == {"effect": "read"}
    assert _is_subsequence(made.splitlines(), grown.splitlines())


@given(written_maps(), st.sampled_from(["get_one", "get_two", "put"]), TARGETS, st.text(max_size=20))
def test_a_check_is_added_once_and_nothing_else_changes(
    text: str, name: str, target: str, comment: str
) -> None:
    verify = {"tool": target, "arguments": {"q": "{{ call.q }}"}}
    made = add_verify(text, "m.yaml", name, verify, comment)
    before, after = parse(text, "m").value(), parse(made, "m").value()
    assert after["tools"][name].pop("verify") == verify
    assert before == after
    assert _is_subsequence(
        [line for line in text.splitlines() if "#" in line and "flow" not in line], made.splitlines()
    )
    with pytest.raises(FallbackMapError, match="already"):
        add_verify(made, "m.yaml", name, verify)


def _is_subsequence(few: list[str], many: list[str]) -> bool:
    rest = iter(many)
    return all(any(line == other for other in rest) for line in few)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=10) | TARGETS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | TARGETS, inner, max_size=3)
    ),
)


@given(JSON)
def test_a_value_written_on_one_line_is_read_back(value: object) -> None:
    text = "v: " + flow(value)
    assert parse(text, "m").value() == {"v": value}
    # PyYAML reads YAML 1.1, which takes a bare `on` for true and none that ends with `?` in a list.
    assert "on" in text or "?" in text or yaml.safe_load(text) == {"v": value}


def model_of(text: str) -> Any:
    return load_valid(text, "m.yaml")[0]


def test_suggestions_have_reasons_and_templates() -> None:
    found = suggest(model_of(new_map(TOOLS, "shop")), TOOLS)
    pairs = {(s.tool, s.target): s for s in found}
    one = pairs["get_order", "find_order_by_number"]
    assert one.fallback["arguments"] == {"number": "{{ known.number }}"}
    assert one.fallback["lacks"] == ["total"]
    assert any("returns 2 of 3 fields" in reason for reason in one.reasons)


def test_a_suggestion_never_offers_a_write_for_a_read_nor_one_that_is_there() -> None:
    model = model_of(EXISTING)
    found = suggest(
        model,
        [tool("get_order", "order_id"), tool("list_orders", "user_id"), tool("cancel_order", "order_id")],
    )
    assert ("get_order", "list_orders") not in {(s.tool, s.target) for s in found}
    assert all(model.tools[s.tool].effective is model.tools[s.target].effective for s in found)


def test_what_agents_really_did_comes_first_and_is_told() -> None:
    text = "version: 1\ndomain: d\ntools:\n  a_thing: {effect: read}\n  other: {effect: read}\n  b_thing: {effect: read}\n"
    rows = [
        (EvidenceKey("a_thing", ErrorKind.NOT_FOUND, Action.SWITCH, "other", 1), 25.0, 1.0),
        (EvidenceKey("a_thing", ErrorKind.NOT_FOUND, Action.SWITCH, "other", 2), 4.0, 1.0),
        (EvidenceKey("a_thing", ErrorKind.TIMEOUT, Action.RETRY, "", 1), 9.0, 0.0),
        (EvidenceKey("a_thing", ErrorKind.TIMEOUT, Action.SWITCH, "nowhere", 1), 9.0, 0.0),
    ]
    first = suggest(model_of(text), (), rows)[0]
    assert (first.tool, first.target) == ("a_thing", "other")
    assert (
        first.reasons[0]
        == "after a_thing failed with not_found, agents went to other 31 times; it worked 29 times"
    )
    assert first.score == pytest.approx(30 / 33)
