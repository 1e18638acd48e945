from __future__ import annotations

import pytest

from btm.adapters.wording import closing, note
from btm.fallback import Step
from btm.model import Action, ErrorKind, Outcome, ToolCall
from btm.planning.context import Format, render
from btm.planning.plan import RecoveryContext, RecoveryPlan

CALL = ToolCall("get_order", {"order_id": "o1"})


def context(action: Action, form: Format = Format.TAGGED) -> RecoveryContext:
    plan = RecoveryPlan(
        incident_id="i",
        call=CALL,
        outcome=Outcome(ErrorKind.TIMEOUT),
        steps=(Step(action, "list_orders", arguments={}),),
    )
    return render(plan, form=form)


def test_a_note_ends_with_the_request_and_then_with_what_to_do_now() -> None:
    said = note([context(Action.SWITCH)], "where is o1?", ["late: it came after all"])
    assert said.splitlines()[-4:] == [
        "",
        "The request is still: where is o1?",
        "",
        'Make the call that stands after "next:" above now.',
    ]


def test_without_a_request_the_note_still_ends_with_what_to_do() -> None:
    assert note([context(Action.RETRY)], "").endswith(
        '</recovery>\n\nMake the call that stands after "next:" above now.'
    )


@pytest.mark.parametrize("form", Format)
def test_a_plan_whose_next_step_is_no_call_does_not_ask_for_one(form: Format) -> None:
    stop = context(Action.ABANDON, form)
    assert closing([stop], "r").endswith('Do what stands after "next:" above now.')
    for action in set(Action) - {Action.ABANDON}:
        assert closing([context(action, form)], "r").endswith(
            'Make the call that stands after "next:" above now.'
        )
        assert "Make the call" in closing([stop, context(action, form)], "r")


def test_a_note_without_a_context_goes_on_with_the_request_and_nothing_to_say_is_no_note() -> None:
    assert note([], "where is o1?", ["budget: 3 calls left"]).endswith("Continue with: where is o1?")
    assert note([], "where is o1?") == ""
