from __future__ import annotations

from btm.fallback import FallbackMap
from btm.learning.judging import CONTRADICTED
from btm.learning.posterior import BetaPosterior
from btm.model import Action, Attempt, ErrorKind, EvidenceKey, Incident, Outcome, ToolCall
from btm.planning.plan import options_for
from btm.planning.planner import Planner, each
from btm.planning.policy import Policies

TEXT = """
version: 1
domain: orders
tools:
  get_order:
    effect: read
    takes: [order_id]
    fallbacks:
      - {tool: list_orders, coverage: full}
      - {tool: track, coverage: partial, lacks: [total]}
      - {tool: search_orders, coverage: full}
    cross_check: {tool: list_orders, compare: [total]}
  list_orders: {effect: read, takes: [], cross_check: {tool: search_orders, compare: [total]}}
  track: {effect: read, takes: []}
  search_orders: {effect: read, takes: [], cost: 3}
"""
MAP = FallbackMap.from_text(TEXT)
CALL = ToolCall("get_order", {"order_id": "S1"}, conversation="c", call_id="1")
PLANNER = Planner(Policies.from_text("[]"))


def first_tool(
    rule: str = CONTRADICTED,
    third: float = 0.9,
    tried: tuple[Attempt, ...] = (),
    fallback_map: FallbackMap = MAP,
) -> str:
    outcome = Outcome(ErrorKind.FACTUAL_ERROR, silent=True, rule=rule)
    incident = Incident("i", "c", CALL, ErrorKind.FACTUAL_ERROR, outcome, 0.0, attempts=tried)

    def believe(key: EvidenceKey) -> BetaPosterior:
        chance = third if key.target == "search_orders" else 0.9
        return BetaPosterior(20.0 * chance, 20.0 * (1.0 - chance))

    step = PLANNER.plan(incident, options_for(incident, fallback_map, {}), each(believe)).first
    assert step is not None
    return step.tool


def test_a_third_tool_settles_a_contradiction() -> None:
    assert first_tool() == "search_orders"


def test_where_nothing_confirms_the_one_that_contradicts_it_is_believed() -> None:
    alone = FallbackMap.from_text(TEXT.replace(", cross_check: {tool: search_orders, compare: [total]}", ""))
    assert first_tool(fallback_map=alone) == "list_orders"


def test_what_was_found_wrong_in_another_way_goes_by_what_is_likely_and_cheap() -> None:
    assert first_tool(rule="range") == "list_orders"


def test_a_third_that_hardly_answers_is_no_help_and_one_that_failed_neither() -> None:
    assert first_tool(third=0.2) == "list_orders"
    key = EvidenceKey("get_order", ErrorKind.FACTUAL_ERROR, Action.SWITCH, "search_orders", 1)
    failed = Attempt("i", "2", key, False, 1.0, failed_as=ErrorKind.TIMEOUT)
    assert first_tool(tried=(failed,)) == "list_orders"
