"""What is left to do when a substitute fails in turn."""

from __future__ import annotations

from typing import Any

import pytest
from core_kit import Tools, call, memory_of

from btm.fallback import FallbackMap
from btm.memory import ToolMemory
from btm.model import Action

DENIED = PermissionError("403 Forbidden")
TIMEOUT = TimeoutError("timed out")

MAP = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  cancel:
    effect: write
    verify: {tool: get_order, arguments: {order_id: "{{ call.order_id }}"}, done_when: "result.status == 'cancelled'"}
    fallbacks:
      - {tool: void, coverage: full, arguments: {order_id: "{{ call.order_id }}"}}
      - {tool: revoke, coverage: 0.6, arguments: {order_id: "{{ call.order_id }}"}}
  void:
    effect: write
    fallbacks:
      - {tool: cancel, coverage: full, arguments: {order_id: "{{ call.order_id }}"}}
  revoke: {effect: write}
  get_order:
    effect: read
    fallbacks:
      - {tool: list_orders, coverage: full, arguments: {order_id: "{{ call.order_id }}"}}
  list_orders:
    effect: read
    fallbacks:
      - {tool: get_order, coverage: full, arguments: {order_id: "{{ call.order_id }}"}}
  human: {role: escalation}
""")


def steps_after(memory: ToolMemory, tools: Tools, *names: str) -> list[tuple[Action, str]]:
    """Make these calls, and return what the plan after the last one holds."""
    for name in names:
        handled = memory.call(call(name, effect=MAP.effect(name), order_id="O1"), tools)
    assert handled.context is not None
    return [(step.action, step.tool) for step in handled.context.plan.steps]


@pytest.fixture
def memory() -> ToolMemory:
    return memory_of(fallback_map=MAP)


def test_a_tool_that_failed_is_no_substitute_for_its_own_substitute(memory: ToolMemory) -> None:
    tools = Tools(cancel=[DENIED], void=[DENIED], revoke=[DENIED])
    assert steps_after(memory, tools, "cancel", "void") == [(Action.SWITCH, "revoke")]


def test_a_human_is_next_when_every_substitute_has_failed_too(memory: ToolMemory) -> None:
    tools = Tools(cancel=[DENIED], void=[DENIED], revoke=[DENIED])
    assert steps_after(memory, tools, "cancel", "void", "revoke") == [(Action.ESCALATE, "human")]
    assert "switch to" not in said(memory, tools, "revoke")


def test_a_tool_that_may_work_again_is_tried_again_when_its_substitute_fails(memory: ToolMemory) -> None:
    tools = Tools(get_order=[TIMEOUT], list_orders=[DENIED])
    assert steps_after(memory, tools, "get_order", "list_orders") == [(Action.RETRY, "get_order")]
    assert 'next: retry get_order {"order_id":"O1"}' in said(memory, tools, "list_orders")


def test_what_may_have_happened_is_checked_before_anything_else_stands_in_for_it(memory: ToolMemory) -> None:
    tools = Tools(cancel=[TIMEOUT], void=[DENIED])
    assert steps_after(memory, tools, "cancel", "void")[0] == (Action.VERIFY, "get_order")
    assert 'verify with get_order {"order_id":"O1"} whether cancel went through' in said(
        memory, tools, "void"
    )


PICKED = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  get_order: {effect: read, fallbacks: [{tool: list_orders, coverage: full, pick: "result | first"}]}
  list_orders: {effect: read}
""")


@pytest.mark.parametrize("nothing", [None, [], "", {}])
def test_a_substitute_that_gives_nothing_is_none_and_the_agent_is_told(nothing: object) -> None:
    with memory_of(fallback_map=PICKED, mode="act") as memory:
        tools = Tools(get_order=[DENIED], list_orders=[nothing])
        handled = memory.call(call("get_order", effect=PICKED.effect("get_order"), order_id="O1"), tools)
        assert handled.context is not None
        assert "switch to list_orders" not in handled.context.text
        (switched,) = [belief for key, belief in memory.beliefs() if key.action is Action.SWITCH]
        assert (switched.worked, switched.n) == (0.0, 1.0)


@pytest.mark.parametrize("nothing", [None, "", " \n"])
@pytest.mark.parametrize("pick", ["", ", pick: \"result | selectattr('vent', 'eq', call.vent) | first\""])
def test_a_substitute_gives_nothing_whatever_it_is_called(nothing: object, pick: str) -> None:
    readings = FallbackMap.from_text(f"""
version: 1
domain: greenhouse
tools:
  vent_position:
    effect: read
    fallbacks:
      - {{tool: bay_panel, coverage: full, arguments: {{}}{pick}}}
      - {{tool: logbook, coverage: 0.5, arguments: {{}}}}
  bay_panel: {{effect: read}}
  logbook: {{effect: read}}
""")
    with memory_of(fallback_map=readings, mode="act") as memory:
        tools = Tools(vent_position=[DENIED], bay_panel=[nothing], logbook=[{"vent": "v1", "percent": 30}])
        asked = call("vent_position", effect=readings.effect("vent_position"), vent="v1")
        handled = memory.call(asked, tools)
        assert (handled.served_by, handled.result) == ("logbook", {"vent": "v1", "percent": 30})
        (failed,) = [belief for key, belief in memory.beliefs() if key.target == "bay_panel"]
        assert failed.worked == 0.0


def said(memory: ToolMemory, tools: Tools, name: str) -> str:
    context: Any = memory.call(call(name, effect=MAP.effect(name), order_id="O1"), tools).context
    text: str = context.text
    return text
