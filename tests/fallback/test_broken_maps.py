"""Broken maps: each is refused at the right line and column, with the right expectation and suggestion."""

from __future__ import annotations

import pytest

from btm.errors import FallbackMapError
from btm.fallback import FallbackMap

HEAD = "version: 1\ndomain: d\ntools:\n"  # three lines: what follows begins on line 4

BROKEN = [
    # (what is wrong, text after HEAD, line, column, words of the message, suggestion)
    ("an unknown key of a tool", "  a: {effct: read}\n", 4, 7, "unknown key 'effct'", "effect"),
    ("a value that is no effect", "  a: {effect: raed}\n", 4, 15, "'raed'", "read"),
    ("no effect and no role", "  a: {idempotent: true}\n", 4, 3, "neither an effect nor a role", ""),
    ("a tool that comes twice", "  a: {effect: read}\n  a: {effect: read}\n", 5, 3, "second time", ""),
    (
        "an undeclared substitute",
        "  get_order: {effect: read}\n"
        "  find_order: {effect: read, fallbacks: [{tool: get_ordr, coverage: full}]}\n",
        5, 49, "'get_ordr' is not declared", "get_order",
    ),
    (
        "a tool that stands in for itself",
        "  a:\n    effect: read\n    fallbacks:\n      - tool: a\n        coverage: full\n",
        7, 15, "stands in for itself", "",
    ),
    (
        "a write offered for a read",
        "  a: {effect: read, fallbacks: [{tool: w, coverage: full}]}\n  w: {effect: write}\n",
        4, 40, "'w' is a write, offered for the read 'a'", "",
    ),
    (
        "a write inside a composition for a read",
        "  a: {effect: read, fallbacks: [{via: [b, {tool: w, arguments: {}}], coverage: full}]}\n"
        "  b: {effect: read}\n  w: {effect: write}\n",
        4, 50, "'w' is a write", "",
    ),
    (
        "a coverage above one",
        "  a: {effect: read, fallbacks: [{tool: b, coverage: 1.5}]}\n  b: {effect: read}\n",
        4, 53, "the number 1.5", "",
    ),
    (
        "a misspelt coverage",
        "  a: {effect: read, fallbacks: [{tool: b, coverage: parital}]}\n  b: {effect: read}\n",
        4, 53, "full, partial, or a number", "partial",
    ),
    (
        "no coverage",
        "  a:\n    effect: read\n    fallbacks:\n      - tool: b\n  b: {effect: read}\n",
        7, 9, "has no 'coverage'", "",
    ),
    (
        "both tool and via",
        "  a: {effect: read, fallbacks: [{tool: b, via: [b, b], coverage: full}]}\n  b: {effect: read}\n",
        4, 33, "both 'tool' and 'via'", "",
    ),
    (
        "a composition of one",
        "  a: {effect: read, fallbacks: [{via: [b], coverage: full}]}\n  b: {effect: read}\n",
        4, 39, "two calls or more", "",
    ),
    (
        "a composition that does not say how arguments go on",
        "  a: {effect: read, fallbacks: [{via: [b, c], coverage: full}]}\n"
        "  b: {effect: read}\n"
        "  c: {effect: read}\n",
        4, 43, "what arguments 'c' gets", "",
    ),
    (
        "an error kind that does not exist",
        "  a: {effect: read, fallbacks: [{tool: b, coverage: full, only_for: [timeout, rate_limits]}]}\n"
        "  b: {effect: read}\n",
        4, 79, "not an error kind", "rate_limit",
    ),
    (
        "a name that means nothing in a template",
        "  a: {effect: read, fallbacks: [{tool: b, coverage: full, arguments: {x: \"{{ knwon.x }}\"}}]}\n"
        "  b: {effect: read}\n",
        4, 78, "'knwon' means nothing here", "known",
    ),
    (
        "a field that nobody has",
        "  a: {effect: read, takes: [user_id], fallbacks: [{tool: b, coverage: full, "
        "arguments: {x: '{{ known.user_idd }}'}}]}\n"
        "  b: {effect: read}\n",
        4, 102, "nobody has the field 'user_idd'", "user_id",
    ),
    (
        "an argument that the failed call does not have",
        "  a:\n"
        "    effect: read\n"
        "    takes: [order_id]\n"
        "    fallbacks:\n"
        "      - tool: b\n"
        "        coverage: full\n"
        "        arguments:\n          id: \"{{ call.order }}\"\n  b: {effect: read}\n",
        11, 24, "no argument 'order'", "order_id",
    ),
    (
        "an argument that the substitute does not take",
        "  a: {effect: read, fallbacks: [{tool: b, coverage: full, arguments: {order: 1}}]}\n"
        "  b: {effect: read, takes: [order_id]}\n",
        4, 71, "'b' takes no argument 'order'", "order_id",
    ),
    (
        "a template that does not end",
        "  a: {effect: read, fallbacks: [{tool: b, coverage: full, arguments: {x: '{{ call.x'}}]}\n"
        "  b: {effect: read}\n",
        4, 74, "not a template", "",
    ),
    (
        "an expression that is none",
        "  w: {effect: write, verify: {tool: r, done_when: 'result.status = 1'}}\n  r: {effect: read}\n",
        4, 51, "not an expression", "",
    ),
    (
        "a misspelt filter",
        "  a: {effect: read, fallbacks: [{tool: b, coverage: full, pick: 'result | frist'}]}\n"
        "  b: {effect: read}\n",
        4, 65, "did you mean 'first'", "",
    ),
    (
        "a write that is to verify",
        "  w: {effect: write, verify: {tool: v}}\n  v: {effect: write}\n",
        4, 37, "must not change anything", "",
    ),
    (
        "a cross-check without fields",
        "  a: {effect: read, cross_check: {tool: b, compare: []}}\n  b: {effect: read}\n",
        4, 53, "at least 1 item", "",
    ),
    (
        "a cross-check with the tool itself",
        "  a: {effect: read, cross_check: {tool: a, compare: [x]}}\n",
        4, 41, "itself", "",
    ),
    (
        "an escalation as a substitute",
        "  a: {effect: write, fallbacks: [{tool: h, coverage: full}]}\n  h: {role: escalation}\n",
        4, 41, "no substitute", "",
    ),
    (
        "a repair that does not exist",
        "  a: {effect: read, repairs: [{on: auth_error, tool: refresh_tokn}]}\n"
        "  refresh_token: {role: repair}\n",
        4, 54, "not declared", "refresh_token",
    ),
    (
        "a duration in no unit",
        "  a: {effect: read, expect: {fresh: {field: t, within: 24 hours}}}\n",
        4, 56, "'24 hours' is not a duration", "",
    ),
    ("a range that runs backwards", "  a: {effect: read, expect: {ranges: {p: [5, 1]}}}\n",
     4, 42, "minimum, maximum", ""),
    ("a type that JSON does not have", "  a: {effect: read, expect: {types: {p: strng}}}\n",
     4, 41, "not a JSON type", "string"),
    ("a broken regular expression", "  a: {effect: read, errors: [{match: '(', kind: timeout}]}\n",
     4, 38, "regular", ""),
    ("text for true", "  a: {effect: read, idempotent: yes}\n", 4, 33, "true or false", ""),
    ("a role that does not exist", "  a: {role: escalate}\n", 4, 13, "escalation", "escalation"),
    (
        "a field both given and lacking",
        "  a: {effect: read, fallbacks: [{tool: b, coverage: full, gives: [x], lacks: [y, x]}]}\n"
        "  b: {effect: read}\n",
        4, 82, "both given and lacking", "",
    ),
    ("a list of tools", "  - a\n", 4, 3, "a mapping", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "column", "said", "suggestion"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN]
)
def test_a_broken_map_is_refused_at_its_place(
    text: str, line: int, column: int, said: str, suggestion: str
) -> None:
    with pytest.raises(FallbackMapError) as caught:
        FallbackMap.from_text(HEAD + text, "m.yaml")
    error = caught.value
    assert f"m.yaml:{line}:{column}: " in str(error)
    assert said in str(error)
    assert error.suggestion == suggestion


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version: 2\ndomain: d\ntools: {}\n", "m.yaml:1:10: version is the number 2; expected 1"),
        ("version: 1\ntools: {}\n", "m.yaml:1:1: the file has no 'domain'; expected the key 'domain'"),
        ("version: 1\ndomain: d\ntool: {}\n", "did you mean 'tools'?"),
        ("- a\n", "m.yaml:1:1: the file is a list; expected a mapping (key: value)"),
    ],
)
def test_a_wrong_head_is_refused(text: str, expected: str) -> None:
    with pytest.raises(FallbackMapError) as caught:
        FallbackMap.from_text(text, "m.yaml")
    assert expected in str(caught.value)


def test_every_problem_of_a_map_is_told() -> None:
    text = (
        HEAD
        + "  a: {effect: read, fallbacks: [{tool: x, coverage: full}, {tool: a, coverage: full}]}\n  b: {}\n"
    )
    with pytest.raises(FallbackMapError) as caught:
        FallbackMap.from_text(text, "m.yaml")
    assert "m.yaml:4:40" in str(caught.value)
    assert [note.split(": ")[0] for note in caught.value.__notes__] == ["m.yaml:4:67", "m.yaml:5:3"]
