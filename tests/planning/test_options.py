"""What a map says about an incident, for the tracker and for the planner."""

from __future__ import annotations

from core_kit import MAP, call

from btm.fallback import FallbackMap
from btm.fallback.relations import MapRelations
from btm.learning.relations import StandIn
from btm.model import Action, Effect, ErrorKind, Incident, Outcome, ToolCall
from btm.planning.plan import options_for


def incident_of(tool: str, kind: str = "timeout", **arguments: object) -> Incident:
    failed = call(tool, **arguments)
    return Incident("i", "talk", failed, ErrorKind(kind), Outcome(ErrorKind(kind)), 0.0)


RELATIONS = MapRelations(MAP)
FAILED = call("get_order", order_id="o1")


def test_a_mapped_tool_stands_in() -> None:
    assert RELATIONS.stands_in(FAILED, call("list_orders", user_id="u1")) == StandIn("list_orders")
    assert RELATIONS.stands_in(FAILED, call("find_user", email="e")) == StandIn(
        "find_user > list_orders", complete=False
    )
    assert RELATIONS.stands_in(FAILED, call("get_order", order_id="o2")) is None
    assert RELATIONS.stands_in(FAILED, call("cancel", order_id="o1")) is None
    assert RELATIONS.stands_in(ToolCall("stranger"), call("list_orders")) is None


def test_a_substitute_for_something_else_does_not_stand_in() -> None:
    cancel = call("cancel", order_id="o1")
    assert RELATIONS.stands_in(cancel, call("void", order_id="o1")) == StandIn("void")
    assert RELATIONS.stands_in(cancel, call("void", order_id="o2")) is None


def test_only_the_read_of_this_very_write_verifies_it() -> None:
    cancel = call("cancel", order_id="o1")
    assert RELATIONS.verifies(cancel, call("get_order", order_id="o1"))
    assert not RELATIONS.verifies(cancel, call("get_order", order_id="o2"))
    assert RELATIONS.done(cancel, {"status": "cancelled"}) is True
    assert RELATIONS.done(cancel, {"status": "open"}) is False
    assert RELATIONS.done(cancel, {}) is None


def test_repairs_and_escalations_are_known_by_name() -> None:
    assert RELATIONS.repairs(FAILED, call("log_in"))
    assert not RELATIONS.repairs(FAILED, call("find_user"))
    assert RELATIONS.escalates("human")
    assert not RELATIONS.escalates("get_order")
    assert RELATIONS.knows("get_order")
    assert not RELATIONS.knows("stranger")


def test_a_row_that_changed_something_is_underway_at_its_later_calls() -> None:
    relations = MapRelations(
        FallbackMap.from_text("""
version: 1
domain: d
tools:
  buy: {effect: write, fallbacks: [{via: [fill_basket, pay], coverage: full}]}
  fill_basket: {effect: write}
  pay: {effect: write, takes: []}
""")
    )
    buy = ToolCall("buy", effect=Effect.WRITE)
    assert relations.stands_in(buy, ToolCall("fill_basket")) == StandIn("fill_basket > pay", complete=False)
    assert relations.stands_in(buy, ToolCall("pay")) == StandIn("fill_basket > pay", underway=True)


def test_options_are_filled_from_what_is_known() -> None:
    options = options_for(incident_of("get_order", order_id="o1"), MAP, {"user_id": "u1"})
    listed, row = options.switches
    assert (listed.tool, dict(listed.arguments or {}), listed.missing) == (
        "list_orders",
        {"user_id": "u1"},
        (),
    )
    assert listed.lacks == ("history",)
    assert row.missing == ("email",)
    assert row.target == "find_user > list_orders"
    assert options.verify is None
    assert options.escalation_tool == "human"


def test_only_tools_that_are_there_are_offered() -> None:
    options = options_for(incident_of("get_order"), MAP, {}, available=["get_order", "find_user"])
    assert options.switches == ()
    assert options.escalation_tool == ""
    options = options_for(incident_of("get_order"), MAP, {}, available=["list_orders"])
    assert [step.target for step in options.switches] == ["list_orders"]


def test_repairs_are_offered_for_the_errors_they_repair_and_cost_one_call_more() -> None:
    assert options_for(incident_of("get_order"), MAP, {}).repairs == ()
    (repair,) = options_for(incident_of("get_order", "auth_error"), MAP, {}).repairs
    assert (repair.action, repair.tool, repair.cost) == (Action.REPAIR, "log_in", 2.0)


def test_a_write_comes_with_its_verifier_and_what_cannot_be_undone_is_marked() -> None:
    options = options_for(incident_of("cancel", order_id="o1"), MAP, {})
    assert options.verify is not None
    assert dict(options.verify.arguments or {}) == {"order_id": "o1"}
    assert options.irreversible
    assert not options.idempotent
    assert [step.irreversible for step in options.switches] == [False]


def test_an_irreversible_substitute_is_marked() -> None:
    fallback_map = FallbackMap.from_text("""
version: 1
domain: d
tools:
  close: {effect: write, fallbacks: [{tool: destroy, coverage: full}]}
  destroy: {effect: write, irreversible: true}
""")
    failed = ToolCall("close", {}, Effect.WRITE)
    incident = Incident("i", "c", failed, ErrorKind.AUTH_ERROR, Outcome(ErrorKind.AUTH_ERROR), 0.0)
    (step,) = options_for(incident, fallback_map, {}).switches
    assert step.irreversible


def test_a_hand_over_that_failed_is_not_handed_over_to_itself() -> None:
    assert options_for(incident_of("human", summary="it failed"), MAP, {}).escalation_tool == ""
