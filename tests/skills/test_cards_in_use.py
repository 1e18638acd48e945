"""A card is an option like others: it competes by its numbers, keeps to the rules, and goes when it is wrong."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from btm import ToolMemory
from btm.fallback import FallbackMap
from btm.model import Action, Effect, ErrorKind, EvidenceKey, ToolCall
from btm.planning.context import estimate_tokens
from btm.skills import SkillBook, SkillCard

NOW = 1_800_000_000.0


def card(tool: str = "get_order", kind: str = "unavailable", **changes: Any) -> SkillCard:
    switch = {"action": "switch", "tool": "list_orders", "arguments": {"order_id": "{{ call.order_id }}"}}
    plain = {
        "id": "a-card",
        "trigger": {"tool": tool, "kind": kind},
        "steps": [switch],
        "text": f"after {kind} of {tool}: switch to list_orders; do not retry first",
        "avoid": ["retry"],
        "evidence": {"worked": 18, "tried": 20},
        "created_at": NOW,
        **changes,
    }
    return SkillCard.model_validate_json(__import__("json").dumps(plain))


def memory(*cards: SkillCard, mode: str = "advise", fallback_map: FallbackMap | None = None) -> ToolMemory:
    return ToolMemory.open(
        None, fallback_map=fallback_map, mode=mode, skills=SkillBook(cards), clock=lambda: NOW,
        sleep=lambda s: None, rng=random.Random(0), breaker=None, hooks=(),
    )  # fmt: skip


class DownError(Exception):
    """What a tool raises while it is down."""


def down(tool: str, arguments: Mapping[str, Any]) -> Any:
    raise DownError("503 Service Unavailable")


def fine(tool: str, arguments: Mapping[str, Any]) -> Any:
    return {**arguments, "status": "sent"}


def ask(memory: ToolMemory, invoke: Any, number: int = 0, tool: str = "get_order") -> str:
    call = ToolCall(tool, {"order_id": f"W{number}"}, Effect.READ, f"c{number}", f"{number}", NOW)
    context = memory.call(call, invoke).context
    return context.text if context is not None else ""


def test_a_fitting_card_is_a_step_and_one_line() -> None:
    with memory(card()) as held:
        text = ask(held, down)
    assert text.count("skill:") == 1
    assert 'next: switch to list_orders {"order_id":"W0"}' in text
    assert "(worked 18 of 20 times in logs)" in text


def test_a_card_for_another_failure_is_silent() -> None:
    with memory(card(kind="auth_error")) as held:
        assert "skill:" not in ask(held, down)


def test_a_condition_that_does_not_hold_keeps_a_card_silent() -> None:
    with memory(card(when="call.order_id == 'W7'")) as held:
        assert "skill:" not in ask(held, down, 0)
        assert "skill:" in ask(held, down, 7)
    with memory(card(not_when="call.order_id == 'W7'")) as held:
        assert "skill:" not in ask(held, down, 7)


def test_when_the_tool_heals_the_card_goes() -> None:
    """Learned helplessness: what was learned from an outage must not keep an agent off a tool that works again."""
    with memory(card()) as held:
        for number in range(20):
            assert "do not retry" in ask(held, down, number)
        for number in range(20, 23):
            assert ask(held, fine, number) == ""
        after = ask(held, down, 30)
        assert "skill:" not in after
        assert "do not retry" not in after
        assert "list_orders" not in after
        # Where it is down again, and stays so, the card is back.
        ask(held, down, 31)
        assert "skill:" in ask(held, down, 32)


def test_a_card_whose_step_keeps_failing_falls_behind() -> None:
    with memory(card(avoid=["retry"], evidence={"worked": 4, "tried": 4})) as held:
        first = ask(held, down, 0)
        assert "next: switch to list_orders" in first
        for number in range(1, 9):
            ask(held, down, number)
            made = ToolCall(
                "list_orders", {"order_id": f"W{number}"}, Effect.READ, f"c{number}", f"{number}s", NOW
            )
            held.call(made, down)
        assert not ask(held, down, 20).startswith(first.partition("switch")[0] + "switch")
        belief = held.belief(EvidenceKey("get_order", ErrorKind.UNAVAILABLE, Action.SWITCH, "list_orders", 1))
        assert belief.n == pytest.approx(8)


def test_act_mode_advises_what_only_a_card_knows_and_does_not_do_it() -> None:
    made: list[str] = []

    def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
        made.append(tool)
        raise DownError("503 Service Unavailable")

    with memory(card(), mode="act") as held:
        text = ask(held, invoke)
    assert set(made) == {"get_order"}
    assert "list_orders" in text


@pytest.mark.parametrize("tool", ["get_refund", "list_refunds"])
def test_a_card_does_not_say_what_a_tool_does(tool: str) -> None:
    steps = [{"action": "switch", "tool": "list_refunds", "arguments": {}}]
    with memory(card("get_refund", steps=steps)) as held:
        held.describe(tool, "Issues a refund to the customer.")
        assert held.effect_of(tool) is Effect.WRITE
        held.describe(tool, None, read_only=True)
        assert held.effect_of(tool) is Effect.READ


def test_a_read_is_never_replaced_by_a_write_whatever_a_card_says() -> None:
    steps = [{"action": "switch", "tool": "delete_order", "arguments": {"order_id": "{{ call.order_id }}"}}]
    with memory(card(steps=steps)) as held:
        assert "delete_order" not in ask(held, down).replace("skill:", "")


@pytest.mark.parametrize("action", ["switch", "repair"])
def test_a_hand_over_or_what_cannot_be_undone_is_no_step_whatever_a_card_says(action: str) -> None:
    authored = FallbackMap.from_text(
        "version: 1\ndomain: orders\ntools:\n  get_order: {effect: write}\n  human: {role: escalation}\n"
        "  wipe: {effect: write, irreversible: true}\n"
    )
    for tool in ("human", "wipe"):
        steps = [{"action": action, "tool": tool, "arguments": {}}]
        with memory(card(steps=steps, text="after it: x", avoid=[]), fallback_map=authored) as held:
            text = ask(held, down)
        assert f"{action} to {tool}" not in text
        assert f"{action} with {tool}" not in text


def test_a_policy_that_forbids_the_step_keeps_the_card_off() -> None:
    rule = "- {id: no-switch, when: 'true', forbid: [switch], level: enforce, say: Do not switch.}"
    from btm.planning.policy import Policies

    held = ToolMemory.open(
        None, policies=Policies.from_text(rule), skills=SkillBook([card()]), clock=lambda: NOW, breaker=None
    )
    with held:
        assert "skill:" not in ask(held, down)


def test_evidence_of_a_card_ages_like_any_other() -> None:
    old = card(created_at=NOW - 300 * 86_400.0, evidence={"worked": 1, "tried": 20})
    offer, against = SkillBook([old]).offers(
        _incident(), NOW
    )  # what it failed at long ago counts for nothing
    assert offer.tried < 0.01
    assert against.tried < 0.01
    fresh = card(evidence={"worked": 1, "tried": 20})
    assert SkillBook([fresh]).offers(_incident(), NOW) == ()


def test_of_two_cards_that_fit_the_one_of_this_wording_is_first() -> None:
    from btm.skills.tries import signature

    other = card(
        id="other",
        text="after it: the other",
        trigger={
            "tool": "get_order",
            "kind": "unavailable",
            "signature": signature("503 Service Unavailable"),
        },
    )
    (first, *_) = SkillBook([card(), other]).offers(_incident(), NOW)
    assert first.text.startswith("after it: the other")


def test_the_line_never_takes_the_context_over_its_budget() -> None:
    book = SkillBook([card(text="after it: " + "word " * 40)])
    with ToolMemory.open(None, skills=book, budget_tokens=60, clock=lambda: NOW, breaker=None) as held:
        text = ask(held, down)
    assert estimate_tokens(text) <= 60
    assert "skill:" not in text


def test_a_wrong_option_is_told() -> None:
    with pytest.raises(TypeError, match="skills"):
        ToolMemory.open(None, skills=["a card"])  # type: ignore[arg-type]


def _incident() -> Any:
    from btm.model import Incident, Outcome

    call = ToolCall("get_order", {"order_id": "W1"}, Effect.READ, "c", "1", NOW)
    outcome = Outcome(ErrorKind.UNAVAILABLE, detail="503 Service Unavailable")
    return Incident("c/1", "c", call, ErrorKind.UNAVAILABLE, outcome, NOW)
