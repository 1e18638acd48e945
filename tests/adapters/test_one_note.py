"""Several failures in one turn: one note, in the order of what is to be done, in one budget, with one ending."""

from __future__ import annotations

import pytest
from adapters.kit import DONE, ScriptedModel, calls, memory_of
from langchain.agents import create_agent
from langchain_core.tools import tool

from btm.adapters.langchain import BTMMiddleware, Placement
from btm.adapters.wording import closing, fitted, note
from btm.fallback import Step
from btm.model import Action, ErrorKind, Outcome, ToolCall
from btm.planning.context import Format, estimate_tokens, render, standing_rules
from btm.planning.plan import Level, RecoveryContext, RecoveryPlan, Verdict


def context(
    action: Action, tool: str = "get_order", form: Format = Format.TAGGED, words: int = 0
) -> RecoveryContext:
    say = f"Mind {tool}: " + "word " * words
    plan = RecoveryPlan(
        incident_id=tool,
        call=ToolCall(tool, {"order_id": "o1"}),
        outcome=Outcome(ErrorKind.TIMEOUT, detail="it timed out " * words),
        steps=(Step(action, f"other_{tool}", arguments={"q": "o1"}),),
        verdicts=(Verdict("p", say, frozenset({Action.RETRY}), None, Level.ENFORCE),) if words else (),
    )
    return render(plan, form=form)


STOP, CALL = context(Action.ABANDON, "pay"), context(Action.SWITCH, "get_order")
CHECK, HUMAN = context(Action.VERIFY, "book"), context(Action.ESCALATE, "refund")


def test_checks_come_first_then_calls_then_a_human_then_what_is_to_be_stopped() -> None:
    said = note([STOP, HUMAN, CALL, CHECK], "do all", budget=2_000)
    firsts = [line for line in said.splitlines() if line.startswith("next: ")]
    assert [line.split()[1] for line in firsts] == ["verify", "switch", "escalate", "stop"]


@pytest.mark.parametrize(
    ("contexts", "ending"),
    [
        ([CALL], 'Make the call that stands after "next:" above now.'),
        ([CALL, CHECK], 'Make the calls that stand after "next:" above now, in this order.'),
        (
            [CALL, STOP],
            'Make the call that stands after "next:" above now. Then do what the other "next:" says.',
        ),
        ([STOP, STOP], 'Do what stands after "next:" above now.'),
    ],
)
def test_one_ending_fits_them_all(contexts: list[RecoveryContext], ending: str) -> None:
    said = note(contexts, "where is o1?", budget=2_000)
    assert said.endswith(ending)
    assert said.count("above now") == 1


def test_the_request_is_repeated_cut_and_not_where_all_that_is_left_is_to_stop() -> None:
    long = "please " * 400
    assert len(closing([CALL], long)) < 350
    assert "please" not in closing([STOP], long)
    assert "please" not in note([STOP], long)


@pytest.mark.parametrize("form", Format)
@pytest.mark.parametrize("count", [1, 2, 4, 9])
def test_a_note_and_its_echo_stay_in_the_budget(form: Format, count: int) -> None:
    contexts = [context(Action.SWITCH, f"get_{n}", form, words=60) for n in range(count)]
    said = note(contexts, "please find my order " * 30, ["budget: 3 of 8 tool calls left."], budget=190)
    assert estimate_tokens(said) <= 200
    assert "above now" in said


def test_the_first_context_keeps_its_reasons_before_the_last_one_does() -> None:
    contexts = [context(Action.SWITCH, f"get_{n}", words=20) for n in range(3)]
    first, second, third = fitted(contexts, contexts[0].tokens + 2 * 45)
    assert first.text == contexts[0].text
    assert second.tokens < contexts[1].tokens
    assert third.text.count("\n") == 2  # what to do, and nothing else


@pytest.mark.parametrize("placement", Placement)
def test_what_the_model_gets_about_three_failures_of_a_turn_is_within_the_budget_rules_and_all(
    placement: Placement,
) -> None:
    tools = []
    for name in ("alpha", "beta", "gamma"):

        def fail(q: str) -> str:
            """Fail."""
            raise TimeoutError("timed out " + "and again " * 50)

        tools.append(tool(name)(fail))
    asked = calls(*((t.name, {"q": "x" * 40}, f"c{n}") for n, t in enumerate(tools)))
    model = ScriptedModel(script=[asked, DONE])
    ours = BTMMiddleware(memory_of(), placement=placement)
    agent = create_agent(model, tools, middleware=[ours])
    agent.invoke({"messages": [{"role": "user", "content": "find x in all three of them " * 20}]})
    before = sum(estimate_tokens(m.text) for m in model.requests[0][1:])
    after = sum(estimate_tokens(m.text) for m in model.requests[1][1:])
    system = estimate_tokens(model.requests[1][0].text)
    plain = sum(
        estimate_tokens(m.text.partition("\n\n<recovery")[0]) for m in model.requests[1] if m.type == "tool"
    )
    assert (after - before - plain) + system <= 300
    assert estimate_tokens(standing_rules("abc234")) <= 120
    assert "next: " in str(model.requests[1])


def failed_with(tool_name: str, length: int, action: Action = Action.RETRY) -> RecoveryContext:
    given = {"berth": "B4", "remark": "x" * length}
    other = tool_name if action is Action.RETRY else f"other_{tool_name}"
    plan = RecoveryPlan(
        tool_name,
        ToolCall(tool_name, given),
        Outcome(ErrorKind.TIMEOUT),
        (Step(action, other, arguments=given),),
    )
    return render(plan, mark="abc123")


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("length", [120, 300, 900])
def test_each_failed_call_is_named_with_its_next_step_however_long_its_arguments_are(
    count: int, length: int
) -> None:
    names = ["dock", "tow", "weigh", "clear", "fuel"][:count]
    said = note([failed_with(name, length) for name in names], "please do all of it " * 20, budget=180)
    assert estimate_tokens(said) <= 180
    for name in names:
        assert f"next: retry {name} " in said or f"{name}: retry it" in said


def test_long_arguments_of_another_tool_are_told_as_those_of_the_failed_call() -> None:
    said = note(
        [failed_with("dock", 300, Action.SWITCH), failed_with("tow", 300)], "dock and tow", budget=150
    )
    assert "switch to other_dock with the arguments of the failed call" in said
    alone = note([failed_with("dock", 300)], "dock", budget=180)
    assert "x" * 300 in alone  # by itself it has the room


def test_what_has_no_room_is_counted() -> None:
    contexts = [failed_with(f"tool_{n}", 300) for n in range(40)]
    said = note(contexts, "please do all of it " * 20, budget=180)
    assert estimate_tokens(said) <= 185
    assert "more, see their results" in said
