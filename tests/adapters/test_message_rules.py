from __future__ import annotations

import pytest
from kit import calls
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from message_rules import assert_accepted, violations

ASKED = calls(("a", {}, "1"), ("b", {}, "2"))
ONE, TWO = ToolMessage("x", tool_call_id="1"), ToolMessage("y", tool_call_id="2")
USER = HumanMessage("go")


def test_an_ordinary_conversation_is_accepted() -> None:
    assert_accepted([SystemMessage("s"), USER, ASKED, ONE, TWO, HumanMessage("note")])


@pytest.mark.parametrize(
    "messages",
    [
        [USER, ASKED, ONE, HumanMessage("between"), TWO],
        [USER, ASKED, ONE],
        [USER, ONE],
        [USER, ASKED, ONE, TWO, ASKED, ONE, TWO],
        [USER, ASKED, ONE, TWO, SystemMessage("late")],
    ],
)
def test_what_providers_refuse_is_found(messages: list[AIMessage]) -> None:
    assert violations(messages, "openai")


def test_mistral_refuses_a_users_message_after_a_tools() -> None:
    assert violations([USER, ASKED, ONE, TWO, HumanMessage("note")], "mistral")
    assert not violations([USER, ASKED, ONE, TWO, AIMessage("ok"), HumanMessage("note")], "mistral")
