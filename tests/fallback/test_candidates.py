"""FallbackMap.candidates and its kin: what a map offers for a failed call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.fallback import FallbackMap, ToolRole
from btm.fallback.offers import compile_tool, offers
from btm.model import Effect, ErrorKind, ToolCall

SHOP = FallbackMap.from_text("""
version: 1
domain: shop
tools:
  get_order:
    effect: read
    takes: [order_id]
    returns: [order_id, status, items]
    timeout: 30s
    fallbacks:
      - tool: search_orders
        coverage: 0.4
        only_for: [persistent, timeout]
        arguments: {text: "order {{ call.order_id }}", limit: 5, filter: {user: "{{ known.user_id }}"}}
      - tool: list_user_orders
        coverage: partial
        gives: [status]
        lacks: [payment]
        arguments: {user_id: "{{ known.user_id }}"}
        pick: "result | selectattr('order_id', 'eq', call.order_id) | first"
      - via:
          - {tool: find_user, arguments: {email: "{{ known.email }}"}, as: user}
          - {tool: list_user_orders, arguments: {user_id: "{{ user.id }}"}}
        coverage: 0.5
        pick: "{'order': result, 'user': user.id}"
      - {tool: get_order_v2, coverage: full}
    repairs: [{on: [auth_error, quota_exhausted], tool: refresh_token}]
    cross_check: {tool: get_order_v2, compare: [order_id, "items[].price", total.amount]}
    errors: [{match: "order .* is archived", kind: not_found}]
    expect:
      required: [order_id]
      types: {status: string}
      ranges: {total: [0, null]}
      fresh: {field: updated_at, within: 24h}
  get_order_v2: {effect: read, takes: [order_id, "verbose?"], latency: 200ms, cost: 2}
  list_user_orders: {effect: read}
  search_orders: {effect: read}
  find_user: {effect: read, returns: [id, email], cost: 0.5}
  cancel_order:
    effect: write
    irreversible: true
    verify:
      tool: get_order
      arguments: {order_id: "{{ call.order_id }}"}
      done_when: "result.status == 'cancelled' and result.order_id == call.order_id"
    fallbacks: [{tool: void_order, coverage: full}]
  void_order: {effect: write, idempotent: true}
  refresh_token: {role: repair}
  ping: {role: verify}
  human: {role: escalation, description: someone who can do everything}
""")
CALL = ToolCall("get_order", {"order_id": "o1"})


def test_the_best_coverage_comes_first() -> None:
    found = SHOP.candidates(CALL, ErrorKind.TIMEOUT, {})
    assert [c.tool for c in found] == ["get_order_v2", "list_user_orders", "find_user", "search_orders"]
    assert [c.coverage for c in found] == [1.0, 0.6, 0.5, 0.4]


def test_arguments_are_filled_from_the_call_and_from_what_is_known() -> None:
    found = {c.tool: c for c in SHOP.candidates(CALL, ErrorKind.TIMEOUT, {"user_id": 7})}
    assert found["search_orders"].arguments == {"text": "order o1", "limit": 5, "filter": {"user": 7}}
    assert found["list_user_orders"].arguments == {"user_id": 7}
    assert found["list_user_orders"].complete


def test_an_argument_that_cannot_be_filled_is_named() -> None:
    found = {c.tool: c for c in SHOP.candidates(CALL, ErrorKind.TIMEOUT, {})}
    assert found["list_user_orders"].missing == ("user_id",)
    assert found["list_user_orders"].arguments == {}
    assert found["search_orders"].missing == ("filter",)
    assert not found["search_orders"].complete


def test_without_arguments_those_of_the_same_name_are_passed() -> None:
    call = ToolCall("get_order", {"order_id": "o1", "verbose": True, "other": 1})
    first = SHOP.candidates(call, None, {})[0]
    assert (first.arguments, first.missing) == ({"order_id": "o1", "verbose": True}, ())
    first = SHOP.candidates(ToolCall("get_order"), None, {"order_id": "seen", "verbose": True})[0]
    assert (first.arguments, first.missing) == ({"order_id": "seen"}, ())
    assert SHOP.candidates(ToolCall("get_order"), None, {})[0].missing == ("order_id",)


def test_without_arguments_and_without_takes_the_call_is_passed_unchanged() -> None:
    call = ToolCall("cancel_order", {"order_id": "o1", "reason": "x"}, Effect.WRITE)
    assert SHOP.candidates(call, ErrorKind.TIMEOUT, {})[0].arguments == call.arguments


def test_an_offer_may_be_for_some_errors_only() -> None:
    def tools(kind: ErrorKind | None) -> set[str]:
        return {c.tool for c in SHOP.candidates(CALL, kind, {})}

    assert "search_orders" in tools(ErrorKind.TIMEOUT)
    assert "search_orders" in tools(ErrorKind.AUTH_ERROR)
    assert "search_orders" in tools(None)
    assert "search_orders" not in tools(ErrorKind.RATE_LIMIT)


def test_a_composition_goes_on_with_the_result_of_its_first_call() -> None:
    known = {"email": "a@b.c"}
    offer = next(c for c in SHOP.candidates(CALL, None, known) if c.via)
    assert (offer.tool, offer.via, offer.arguments) == ("find_user", ("find_user", "list_user_orders"), known)
    assert offer.cost == 1.5
    then = SHOP.next_step(CALL, offer, ['{"id": "u9"}'], known)
    assert then is not None
    assert (then.tool, then.arguments, then.missing) == ("list_user_orders", {"user_id": "u9"}, ())
    unfilled = SHOP.next_step(CALL, offer, ["nobody"], known)
    assert unfilled is not None
    assert unfilled.missing == ("user_id",)
    assert SHOP.next_step(CALL, offer, ["{}", "[]"], known) is None
    assert SHOP.pick_all(CALL, offer, ['{"id": "u9"}', '["o1"]']) == {"order": ["o1"], "user": "u9"}


def test_a_plain_composition_lines_up_by_name() -> None:
    chain = FallbackMap.from_text(
        "version: 1\ndomain: d\ntools:\n"
        "  a: {effect: read, fallbacks: [{via: [b, c], coverage: full}]}\n"
        "  b: {effect: read, takes: [email]}\n  c: {effect: read, takes: [user_id, 'lang?']}\n"
    )
    call = ToolCall("a", {"email": "e", "lang": "de"})
    offer = chain.candidates(call, None, {})[0]
    assert offer.arguments == {"email": "e"}
    then = chain.next_step(call, offer, [{"user_id": 3}], {})
    assert then is not None
    assert then.arguments == {"user_id": 3, "lang": "de"}


def test_costs_and_latencies_come_from_the_tools() -> None:
    first = SHOP.candidates(CALL, None, {})[0]
    assert first.cost == 2.0


def test_repairs_are_offered_for_their_errors_only_and_without_the_calls_arguments() -> None:
    assert [(c.tool, dict(c.arguments)) for c in SHOP.repairs(CALL, ErrorKind.AUTH_ERROR, {})] == [
        ("refresh_token", {})
    ]
    assert SHOP.repairs(CALL, ErrorKind.TIMEOUT, {}) == ()
    assert SHOP.repair_tools("get_order") == {"refresh_token"}


def test_a_write_is_verified_by_the_read_that_the_map_names() -> None:
    call = ToolCall("cancel_order", {"order_id": "o1"}, Effect.WRITE)
    verifier = SHOP.verifier(call, {})
    assert verifier is not None
    assert (verifier.tool, verifier.arguments) == ("get_order", {"order_id": "o1"})
    assert SHOP.done(call, '{"status": "cancelled", "order_id": "o1"}') is True
    assert SHOP.done(call, {"status": "pending", "order_id": "o1"}) is False
    assert SHOP.done(CALL, {}) is None
    assert SHOP.verifier(CALL, {}) is None


def test_what_the_map_says_about_a_tool() -> None:
    assert SHOP.domain == "shop"
    assert SHOP.effect("cancel_order") is Effect.WRITE
    assert SHOP.effect("ping") is Effect.READ
    assert SHOP.effect("nowhere") is None
    assert SHOP.tools["human"].role is ToolRole.ESCALATION
    assert SHOP.tools["get_order"].role is None
    assert SHOP.entry("cancel_order").irreversible
    assert SHOP.idempotent("void_order")
    assert SHOP.idempotent("get_order")
    assert not SHOP.idempotent("cancel_order")
    assert SHOP.substitutes("get_order") == {"get_order_v2", "list_user_orders", "find_user", "search_orders"}
    assert SHOP.entry("get_order").timeout == 30.0
    assert SHOP.cost("find_user") == 0.5
    assert SHOP.escalations() == ("human",)


def test_expectations_and_error_rules_are_those_of_the_classifier() -> None:
    expected = SHOP.expectations("get_order")
    assert expected is not None
    assert expected.required == ("order_id",)
    assert expected.types == {"status": "string"}
    assert expected.ranges == {"total": (0, None)}
    assert expected.fresh is not None
    assert expected.fresh.within_s == 86_400
    assert [(r.match, r.kind) for r in SHOP.error_rules("get_order")] == [
        ("order .* is archived", ErrorKind.NOT_FOUND)
    ]
    assert SHOP.expectations("ping") is None


def test_a_tool_that_the_map_does_not_know_has_no_offers() -> None:
    call = ToolCall("nowhere", {"a": 1})
    empty = FallbackMap.empty()
    for fallback_map in (SHOP, empty):
        assert fallback_map.candidates(call, ErrorKind.TIMEOUT, {}) == ()
        assert fallback_map.repairs(call, ErrorKind.TIMEOUT, {}) == ()
        assert fallback_map.verifier(call, {}) is None
        assert fallback_map.cross_check(call, {}) is None
        assert fallback_map.compare(call, {}, {}) is None
        assert fallback_map.error_rules("nowhere") == ()
        assert fallback_map.substitutes("nowhere") == frozenset()
        assert fallback_map.cost("nowhere") == 1.0


def test_values_are_data_whatever_they_hold() -> None:
    evil = "{{ known.password }}{% for x in range(99) %}x{% endfor %}"
    known = {"user_id": evil, "password": "hunter2", "email": evil}
    for offer in SHOP.candidates(ToolCall("get_order", {"order_id": evil}), None, known):
        assert "hunter2" not in str(offer.arguments)
    found = {c.tool: c for c in SHOP.candidates(CALL, None, known)}
    assert found["list_user_orders"].arguments == {"user_id": evil}


def test_an_object_that_raises_leaves_its_argument_missing() -> None:
    class Bomb:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

        def __str__(self) -> str:
            raise RuntimeError("str")

    found = {
        c.tool: c
        for c in SHOP.candidates(ToolCall("get_order", {"order_id": Bomb()}), None, {"user_id": Bomb()})
    }
    assert found["search_orders"].arguments["text"] == "order <Bomb without text>"


NAMES = [f"t{i}" for i in range(8)]


@st.composite
def maps(draw: st.DrawFn) -> str:
    effects = draw(st.lists(st.sampled_from(["read", "write"]), min_size=8, max_size=8))
    text = "version: 1\ndomain: d\ntools:\n"
    for index, name in enumerate(NAMES):
        legal = [
            t
            for i, t in enumerate(NAMES)
            if i != index and not (effects[index] == "read" and effects[i] == "write")
        ]
        text += f"  {name}:\n    effect: {effects[index]}\n    fallbacks:\n"
        for target in draw(st.lists(st.sampled_from(legal), max_size=4)) if legal else []:
            coverage = draw(st.sampled_from(["full", "partial", "0.25", "0.9"]))
            kinds = draw(st.lists(st.sampled_from(["timeout", "persistent", "not_found"]), max_size=2))
            text += f"      - {{tool: {target}, coverage: {coverage}, only_for: [{', '.join(kinds)}]}}\n"
        text = text.removesuffix("    fallbacks:\n") if text.endswith("fallbacks:\n") else text
    return text


@given(maps(), st.sampled_from([*ErrorKind, None]))
def test_candidates_never_hold_the_failed_tool_an_unknown_one_or_a_write_for_a_read(
    text: str, kind: ErrorKind | None
) -> None:
    fallback_map = FallbackMap.from_text(text)
    for name in NAMES:
        offers = fallback_map.candidates(ToolCall(name), kind, {})
        assert name not in {c.tool for c in offers}
        assert {c.tool for c in offers} <= set(fallback_map.tools)
        if fallback_map.effect(name) is Effect.READ:
            assert all(fallback_map.effect(c.tool) is Effect.READ for c in offers)
        assert [c.coverage for c in offers] == sorted((c.coverage for c in offers), reverse=True)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("30s", 30),
        ("5m", 300),
        ("24h", 86_400),
        ("7d", 604_800),
        ("250ms", 0.25),
        ("12", 12),
        ("1.5h", 5_400),
    ],
)
def test_durations_are_written_with_a_unit_or_in_seconds(written: str, seconds: float) -> None:
    text = f"version: 1\ndomain: d\ntools:\n  a: {{effect: read, timeout: {written}}}\n"
    assert FallbackMap.from_text(text).entry("a").timeout == seconds


def test_a_check_is_for_any_kind_and_an_offer_for_no_kind_for_none() -> None:
    compiled = compile_tool("get_order", SHOP.model)
    check = compiled.cross_check
    assert check is not None
    assert all(check.is_for(kind) for kind in (None, *ErrorKind))
    never = replace(check, kinds=frozenset())
    call = ToolCall("get_order", {"order_id": "o1"})
    for kind in (None, *ErrorKind):
        assert offers((never,), call, kind, {}) == ()
        assert len(offers((check,), call, kind, {})) == 1
