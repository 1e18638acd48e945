"""Which call is an attempt on which incident, and who gets the credit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from btm.learning.relations import Emptiness, StandIn, VerifyingRead
from btm.learning.tracker import PATIENCE, ConversationTracker, Learned, Ticket
from btm.model import SUCCESS, Action, Attempt, Effect, ErrorKind, Incident, IncidentState, Outcome, ToolCall


class Relations:
    """A map as a few dictionaries. A substitute, verifier or repair agrees with any arguments."""

    def __init__(self) -> None:
        self.substitutes: dict[str, tuple[str, ...]] = {
            "get_order": ("list_orders", "search"),
            "list_orders": ("search",),
            "cancel": ("void",),
        }
        self.rows = {"get_order": ("find_user", "orders_of")}
        self.verifiers = {"cancel": "get_order", "void": "get_voucher"}
        self.repairers = {"get_order": "log_in", "cancel": "log_in"}
        self.writes_first: set[str] = set()
        self.empty: dict[str, Emptiness] = {}

    def knows(self, tool: str) -> bool:
        return tool in {*self.substitutes, *self.verifiers, "search", "log_in", "human", "weather"}

    def stands_in(self, failed: ToolCall, call: ToolCall) -> StandIn | None:
        if call.tool in self.substitutes.get(failed.tool, ()):
            return StandIn(call.tool)
        row = self.rows.get(failed.tool, ())
        if call.tool in row:
            last = call.tool == row[-1]
            return StandIn(" > ".join(row), complete=last, underway=last and row[0] in self.writes_first)
        return None

    def repairs(self, failed: ToolCall, call: ToolCall) -> bool:
        return self.repairers.get(failed.tool) == call.tool

    def shown_by(self, write: ToolCall) -> VerifyingRead | None:
        return None

    def verifies(self, failed: ToolCall, call: ToolCall) -> bool:
        return self.verifiers.get(failed.tool) == call.tool

    def done(self, failed: ToolCall, result: Any) -> bool | None:
        return None if result is None else bool(result)

    def shown(self, failed: ToolCall, target: str, result: Any) -> Any:
        return result

    def emptiness(self, tool: str) -> Emptiness | None:
        return self.empty.get(tool)

    def cross_checked(self, tool: str) -> bool:
        return False

    def same_wish(self, failed: ToolCall, call: ToolCall) -> bool:
        return failed.arguments == call.arguments

    def general(self, call: ToolCall) -> bool:
        return call.tool == "bash"

    def related(self, failed: ToolCall, call: ToolCall, result: Any) -> bool:
        return failed.arguments == call.arguments

    def answers(self, failed: ToolCall, target: str, result: Any) -> bool | None:
        return False if result == "another order" else None

    def escalates(self, tool: str) -> bool:
        return tool == "human"


WRITES = {"cancel", "void", "log_in", "charge", "create"}
TIMEOUT = ErrorKind.TIMEOUT


class Talk:
    """A conversation, told call by call: ``talk("get_order 1", "timeout")``."""

    def __init__(self) -> None:
        self.relations = Relations()
        self.tracker = ConversationTracker("talk", self.relations)
        self.time = 0.0
        self.count = 0
        self.attempts: list[Attempt] = []
        self.closed: list[Incident] = []

    def begin(self, words: str) -> Ticket:
        tool, _, argument = words.partition(" ")
        self.count += 1
        effect = Effect.WRITE if tool in WRITES else Effect.READ
        call = ToolCall(tool, {"id": argument}, effect, "talk", f"c{self.count}")
        return self.tracker.begin(call, json.dumps([tool, argument]))

    def end(
        self,
        ticket: Ticket,
        kind: str = "",
        result: Any = None,
        ambiguous: bool | None = None,
        silent: bool = False,
    ) -> Learned:
        self.time += 1
        outcome = SUCCESS
        if kind:
            unsure = kind == "timeout" if ambiguous is None else ambiguous
            unsure = unsure and ticket.call.effect is Effect.WRITE
            outcome = Outcome(ErrorKind(kind), ambiguous=unsure, silent=silent)
        seen = self.tracker.finish(ticket, outcome, at=self.time, latency_s=1.0, result=result)
        self.attempts += seen.attempts
        self.closed += seen.closed
        return seen

    def __call__(
        self,
        words: str,
        kind: str = "",
        result: Any = None,
        ambiguous: bool | None = None,
        silent: bool = False,
    ) -> Learned:
        return self.end(self.begin(words), kind, result, ambiguous, silent)

    @property
    def said(self) -> list[tuple[str, str, str, int, bool]]:
        """The attempts, short: tool that had failed, action, target, ordinal, success."""
        return [
            (a.key.tool, str(a.key.action), a.key.target, a.key.ordinal, a.success) for a in self.attempts
        ]

    @property
    def open(self) -> list[str]:
        return [incident.tool for incident in self.tracker.open_incidents]


@pytest.fixture
def talk() -> Talk:
    return Talk()


def test_a_substitute_that_holds_nothing_about_it_has_failed_and_the_search_goes_on(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    seen = talk("list_orders u", result="another order")
    assert seen.outcome.ok  # the substitute itself did well
    assert seen.incident is not None
    assert seen.incident.tool == "get_order"
    assert talk.said == [("get_order", "switch", "list_orders", 1, False)]
    assert talk.open == ["get_order"]
    talk("search u", result="order 1")
    assert talk.said[-1] == ("get_order", "switch", "search", 1, True)
    assert talk.open == []


# -- one incident --------------------------------------------------------------------------------------------------


def test_a_success_without_an_incident_teaches_nothing(talk: Talk) -> None:
    assert talk("get_order 1") == Learned(SUCCESS)


def test_the_same_call_again_is_a_retry(talk: Talk) -> None:
    opened = talk("get_order 1", "timeout")
    assert opened.opened
    assert opened.incident is not None
    talk("get_order 1", "timeout")
    talk("get_order 1")
    assert talk.said == [
        ("get_order", "retry", "", 1, False),
        ("get_order", "retry", "", 2, True),
    ]
    assert [incident.state for incident in talk.closed] == [IncidentState.RESOLVED]
    assert talk.closed[0].closed_at == 3.0
    assert len(talk.closed[0].attempts) == 2
    assert talk.open == []


def test_the_third_and_every_later_retry_share_an_ordinal(talk: Talk) -> None:
    for _ in range(6):
        talk("get_order 1", "timeout")
    assert [ordinal for *_, ordinal, _ in talk.said] == [1, 2, 3, 3, 3]


def test_other_arguments_are_a_revise_where_arguments_can_be_at_fault(talk: Talk) -> None:
    talk("get_order 1", "not_found")
    talk("get_order 2", "invalid_arguments")
    talk("get_order 3")
    assert talk.said == [("get_order", "revise", "", 1, False), ("get_order", "revise", "", 2, True)]
    assert [a.key.kind for a in talk.attempts] == ["not_found", "invalid_arguments"]


def test_other_arguments_after_a_timeout_are_another_matter(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    talk("get_order 2")
    assert talk.said == []
    assert talk.open == ["get_order"]


def test_a_revised_call_that_failed_can_be_retried_too(talk: Talk) -> None:
    talk("get_order 1", "not_found")
    talk("get_order 2", "timeout")
    talk("get_order 2")
    assert [action for _, action, *_ in talk.said] == ["revise", "retry"]


def test_a_substitute_is_a_switch(talk: Talk) -> None:
    talk("get_order 1", "server_error")
    talk("list_orders u")
    assert talk.said == [("get_order", "switch", "list_orders", 1, True)]
    assert talk.open == []


def test_a_revise_that_also_changes_the_tool_is_a_switch(talk: Talk) -> None:
    talk("get_order 1", "not_found")
    talk("search other words")
    assert talk.said == [("get_order", "switch", "search", 1, True)]


def test_calls_in_between_are_the_agents_own_detours(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    for n in range(5):
        talk(f"weather {n}")
    talk("get_order 1")
    assert talk.said == [("get_order", "retry", "", 1, True)]


def test_two_calls_in_a_row_that_stand_in_count_once_at_the_end(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    assert talk("find_user a").attempts == ()
    talk("orders_of a")
    assert talk.said == [("get_order", "switch", "find_user > orders_of", 1, True)]


def test_the_first_of_two_calls_in_a_row_counts_when_it_fails(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    talk("find_user a", "not_found")
    assert talk.said == [("get_order", "switch", "find_user > orders_of", 1, False)]
    assert talk.open == ["get_order", "find_user"]


# -- repairs -------------------------------------------------------------------------------------------------------


def test_a_call_again_after_a_repair_is_the_repairs_success(talk: Talk) -> None:
    talk("get_order 1", "auth_error")
    assert talk("log_in me").attempts == ()
    talk("get_order 1")
    assert talk.said == [("get_order", "repair", "log_in", 1, True)]


def test_a_repair_that_fails_is_a_failed_attempt(talk: Talk) -> None:
    talk("get_order 1", "auth_error")
    talk("log_in me", "server_error")
    assert talk.said == [("get_order", "repair", "log_in", 1, False)]
    assert talk.open == ["get_order", "log_in"]


def test_a_repair_is_good_for_one_call(talk: Talk) -> None:
    talk("get_order 1", "auth_error")
    talk("log_in me")
    talk("get_order 1", "auth_error")
    talk("get_order 1", "auth_error")
    assert [action for _, action, *_ in talk.said] == ["repair", "retry"]


def test_one_repair_serves_every_incident_it_can_repair(talk: Talk) -> None:
    talk("get_order 1", "auth_error")
    talk("cancel 1", "auth_error")
    talk("log_in me")
    talk("get_order 1")
    talk("cancel 1")
    assert talk.said == [("get_order", "repair", "log_in", 1, True), ("cancel", "repair", "log_in", 1, True)]


# -- writes in doubt -----------------------------------------------------------------------------------------------


def test_a_look_that_shows_the_write_happened_resolves_the_incident(talk: Talk) -> None:
    talk("cancel 1", "timeout")
    talk("get_order 1", result=True)
    assert talk.said == [("cancel", "verify", "get_order", 1, True)]
    assert talk.closed[0].state is IncidentState.RESOLVED
    assert talk.closed[0].happened is True


def test_a_look_that_shows_it_did_not_happen_leaves_the_incident_open_and_sure(talk: Talk) -> None:
    assert talk("cancel 1", "timeout").incident.uncertain_write  # type: ignore[union-attr]
    talk("get_order 1", result=False)
    (incident,) = talk.tracker.open_incidents
    assert incident.happened is False
    assert not incident.uncertain_write


def test_a_look_that_cannot_tell_leaves_it_unsure(talk: Talk) -> None:
    talk("cancel 1", "timeout")
    talk("get_order 1", result=None)
    (incident,) = talk.tracker.open_incidents
    assert incident.uncertain_write


def test_a_read_is_no_verification_of_a_write_that_certainly_failed(talk: Talk) -> None:
    talk("cancel 1", "auth_error")
    talk("get_order 1")
    assert talk.said == []


def test_a_write_stays_in_doubt_when_it_fails_again_in_another_way(talk: Talk) -> None:
    talk("cancel 1", "timeout")
    talk("cancel 1", "auth_error")
    (incident,) = talk.tracker.open_incidents
    assert incident.kind is ErrorKind.AUTH_ERROR
    assert incident.uncertain_write


def test_a_write_that_was_looked_after_and_then_surely_failed_is_not_in_doubt(talk: Talk) -> None:
    talk("cancel 1", "timeout")
    talk("get_order 1", result=False)
    talk("cancel 1", "auth_error")
    assert not talk.tracker.open_incidents[0].uncertain_write
    talk("cancel 1", "timeout")
    assert talk.tracker.open_incidents[0].uncertain_write


def test_the_same_write_failing_in_parallel_keeps_the_doubt_of_either(talk: Talk) -> None:
    first, second = talk.begin("cancel 1"), talk.begin("cancel 1")
    talk.end(first, "auth_error")
    talk.end(second, "timeout")
    assert len(talk.open) == 1
    assert talk.tracker.open_incidents[0].uncertain_write


def test_a_substitute_that_may_have_done_it_puts_the_first_write_in_doubt(talk: Talk) -> None:
    talk("cancel 1", "auth_error")
    talk("void 1", "timeout")
    cancel, void = talk.tracker.open_incidents
    assert cancel.uncertain_write
    assert void.uncertain_write
    talk("get_order 1", result=True)
    assert talk.open == []


def test_a_substitute_that_is_found_to_have_done_it_resolves_what_it_stood_in_for(talk: Talk) -> None:
    talk("cancel 1", "auth_error")
    talk("void 1", "timeout")
    talk("get_voucher 1", result=True)
    assert talk.open == []
    assert {i.tool: i.state for i in talk.closed} == dict.fromkeys(("cancel", "void"), IncidentState.RESOLVED)


def test_a_row_that_stops_half_done_puts_the_write_in_doubt(talk: Talk) -> None:
    relations = talk.tracker._relations
    assert isinstance(relations, Relations)
    relations.rows["cancel"] = ("create", "charge")
    relations.writes_first.add("create")
    talk("cancel 1", "auth_error")
    talk("create 1")
    talk("charge 1", "not_found")
    assert talk.tracker.incident("talk/c1").uncertain_write  # type: ignore[union-attr]


def test_a_successful_write_is_noted_as_a_change_until_the_next_failure(talk: Talk) -> None:
    talk("get_order 1", "precondition_failed")
    talk("charge 1")
    assert talk.tracker.open_incidents[0].changed
    talk("get_order 1", "precondition_failed")
    assert not talk.tracker.open_incidents[0].changed


# -- several at once -----------------------------------------------------------------------------------------------


def test_a_call_made_in_parallel_with_the_failing_one_is_no_answer_to_it(talk: Talk) -> None:
    first, second, third = talk.begin("get_order 1"), talk.begin("list_orders u"), talk.begin("get_order 1")
    talk.end(first, "timeout")
    talk.end(second)
    talk.end(third)
    assert talk.said == []
    assert talk.open == ["get_order"]


@pytest.mark.parametrize("slower", ["retry", "switch"])
@pytest.mark.parametrize("kind", ["", "timeout"])
def test_of_two_attempts_side_by_side_the_slower_one_counts_too(talk: Talk, slower: str, kind: str) -> None:
    talk("get_order 1", "timeout")
    begun = {"retry": talk.begin("get_order 1"), "switch": talk.begin("list_orders 1")}
    faster = next(name for name in begun if name != slower)
    talk.end(begun[faster])
    late = talk.end(begun[slower], kind)
    assert {(a.key.action, a.success) for a in talk.attempts} == {(faster, True), (slower, not kind)}
    assert late.incident is None
    assert talk.tracker.open_incidents == ()


@pytest.mark.parametrize("reverse", [False, True])
def test_which_of_two_guesses_ends_first_changes_nothing(reverse: bool) -> None:
    talk = Talk()
    talk("ask_a 1", "timeout")
    begun = [talk.begin("ask_b 1"), talk.begin("ask_a 1")]
    for ticket in reversed(begun) if reverse else begun:
        talk.end(ticket)
    assert sorted(talk.said) == [("ask_a", "retry", "", 1, True), ("ask_a", "switch", "ask_b", 1, True)]


@pytest.mark.parametrize("reverse", [False, True])
def test_an_incident_is_over_when_a_call_begins_and_not_when_one_beside_it_ends(reverse: bool) -> None:
    talk = Talk()
    talk("get_order 1", "timeout")
    for _ in range(PATIENCE - 1):
        talk("weather", "")
    begun = [talk.begin("get_order 1"), talk.begin("get_order 1"), talk.begin("get_order 1")]
    for ticket in reversed(begun) if reverse else begun:
        talk.end(ticket)
    assert len(talk.said) == 1, "the other two began after its time"
    assert [(i.state, i.tool) for i in talk.closed] == [(IncidentState.ABANDONED, "get_order")]


def test_a_repair_is_no_help_to_a_call_that_began_before_it_was_done(talk: Talk) -> None:
    talk("get_order 1", "auth_error")
    repair, retry = talk.begin("log_in"), talk.begin("get_order 1")
    talk.end(repair)
    talk.end(retry, "auth_error")
    assert [a.key.action for a in talk.attempts] == [Action.RETRY]


def test_the_same_call_failing_in_parallel_is_one_incident(talk: Talk) -> None:
    first, second = talk.begin("get_order 1"), talk.begin("get_order 1")
    talk.end(first, "timeout")
    seen = talk.end(second, "server_error")
    assert seen.opened is True or seen.incident is not None
    assert len(talk.open) == 1
    talk("get_order 1")
    assert talk.said == [("get_order", "retry", "", 1, True)]
    assert talk.attempts[0].key.kind is ErrorKind.SERVER_ERROR


def test_interleaved_incidents_each_get_their_own_answers(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    talk("weather x", "timeout")
    talk("get_order 2", "timeout")
    talk("weather x")
    talk("get_order 2")
    talk("get_order 1")
    assert talk.said == [
        ("weather", "retry", "", 1, True),
        ("get_order", "retry", "", 1, True),
        ("get_order", "retry", "", 1, True),
    ]
    assert [i.call.arguments["id"] for i in talk.closed] == ["x", "2", "1"]


def test_one_call_answers_the_newest_of_equal_incidents(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    talk("get_order 2", "timeout")
    talk("search words")
    assert [a.incident_id for a in talk.attempts] == ["talk/c2"]
    assert talk.open == ["get_order"]


def test_a_retry_comes_before_a_switch_for_another_incident(talk: Talk) -> None:
    talk("list_orders u", "timeout")
    talk("get_order 1", "timeout")
    talk("list_orders u")
    assert talk.said == [("list_orders", "retry", "", 1, True)]
    assert talk.open == ["get_order"]


# -- an incident inside an incident --------------------------------------------------------------------------------


def test_a_substitute_that_fails_is_a_failed_switch_and_an_incident_of_its_own(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    seen = talk("list_orders u", "server_error")
    assert seen.opened
    assert seen.incident is not None
    assert seen.incident.parent_id == "talk/c1"
    assert talk.said == [("get_order", "switch", "list_orders", 1, False)]


def test_what_answers_the_substitute_answers_the_first_failure_too(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    talk("list_orders u", "server_error")
    talk("search words")
    assert talk.said == [
        ("get_order", "switch", "list_orders", 1, False),
        ("list_orders", "switch", "search", 1, True),
        ("get_order", "switch", "search", 1, True),
    ]
    assert talk.open == []


def test_a_retried_substitute_is_the_second_try_of_the_switch(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    talk("list_orders u", "timeout")
    talk("list_orders u")
    assert talk.said[1:] == [
        ("list_orders", "retry", "", 1, True),
        ("get_order", "switch", "list_orders", 2, True),
    ]


def test_when_the_first_tool_works_again_the_substitutes_failure_is_left_alone(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    talk("list_orders u", "server_error")
    talk("get_order 1")
    assert talk.said[1:] == [("get_order", "retry", "", 1, True)]
    assert {i.tool: i.state for i in talk.closed} == {
        "get_order": IncidentState.RESOLVED,
        "list_orders": IncidentState.ABANDONED,
    }


# -- without a map -------------------------------------------------------------------------------------------------


def test_without_a_map_the_very_next_call_is_a_switch_if_it_asks_for_the_same(talk: Talk) -> None:
    talk("unmapped 1", "timeout")
    talk("weather 1")
    assert talk.said == [("unmapped", "switch", "weather", 1, True)]


def test_without_a_map_a_later_call_is_not(talk: Talk) -> None:
    talk("unmapped 1", "timeout")
    talk("charge 1")  # another effect
    talk("weather 1")
    assert talk.said == []


def test_an_agent_that_simply_goes_on_has_not_recovered(talk: Talk) -> None:
    talk("unmapped 1", "timeout")
    talk("weather x")
    assert talk.said == []
    assert talk.open == ["unmapped"]


# -- empty answers -------------------------------------------------------------------------------------------------


def test_an_empty_answer_is_the_answer_where_nothing_speaks_against_it(talk: Talk) -> None:
    seen = talk("search 1", "empty_result", silent=True)
    assert seen.outcome.ok
    assert talk.open == []


@pytest.mark.parametrize(("stated", "ok"), [("ok", True), ("suspicious", False), ("error", False)])
def test_the_map_says_what_an_empty_answer_is(talk: Talk, stated: str, ok: bool) -> None:
    talk.relations.empty["search"] = Emptiness(stated)
    assert talk("search 1", "empty_result", silent=True).outcome.ok is ok


def test_a_tool_that_has_nothing_to_say_to_anything_is_suspicious_until_it_says_something(talk: Talk) -> None:
    seen = [talk(f"search {n}", "empty_result", silent=True).outcome for n in range(5)]
    assert [outcome.ok for outcome in seen] == [True, True, True, False, False]
    assert "4 different calls in a row" in seen[3].reason
    talk("search 9", result="something")
    assert talk("search 1", "empty_result", silent=True).outcome.ok
    assert all(
        talk("search 1", "empty_result", silent=True).outcome.ok for _ in range(9)
    )  # one question, asked again


def test_an_empty_answer_just_after_a_failure_of_the_tool_is_suspicious(talk: Talk) -> None:
    talk("search 1", "rate_limit")
    seen = talk("search 2", "empty_result", silent=True)
    assert "search failed just before (rate_limit)" in seen.outcome.reason


def test_two_tools_that_find_nothing_agree(talk: Talk) -> None:
    talk.relations.empty["get_order"] = Emptiness.SUSPICIOUS
    talk("get_order 1", "empty_result", silent=True)
    talk("list_orders 1", "empty_result", silent=True)
    assert talk.said == [("get_order", "switch", "list_orders", 1, True)]
    assert talk.open == []


# -- the same wish -------------------------------------------------------------------------------------------------


def test_another_wish_is_no_answer_to_a_write_that_may_have_happened(talk: Talk) -> None:
    talk("charge 1", "unknown", ambiguous=True)
    talk("charge 2")
    assert talk.said == []
    assert talk.open == ["charge"]


def test_another_command_is_no_answer_to_one_that_failed(talk: Talk) -> None:
    talk("bash make", "unknown")
    talk("bash ls")
    assert talk.said == []


def test_a_guessed_switch_says_nothing_about_whether_a_write_happened(talk: Talk) -> None:
    talk("charge 1", "auth_error")
    talk("create 1", "timeout")
    assert talk.said == [("charge", "switch", "create", 1, False)]
    assert not talk.tracker.open_incidents[0].uncertain_write


# -- endings -------------------------------------------------------------------------------------------------------


def test_an_escalation_closes_everything_and_counts_once(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    talk("cancel 2", "timeout")
    talk("human help")
    assert talk.said == [("cancel", "escalate", "human", 1, True)]
    assert [i.state for i in talk.closed] == [IncidentState.ESCALATED] * 2
    assert talk.open == []


def test_an_escalation_that_fails_escalates_nothing(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    talk("human help", "unavailable")
    assert talk.said == []
    assert talk.open == ["get_order", "human"]


def test_an_incident_is_abandoned_when_its_patience_is_over(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    for n in range(PATIENCE):
        talk(f"weather {n}")
    assert talk.open == ["get_order"]
    talk("weather again")
    assert talk.open == []
    assert [i.state for i in talk.closed] == [IncidentState.ABANDONED]
    talk("get_order 1")
    assert talk.said == [], "nothing is learned about what was not tried in time"


def test_every_attempt_renews_the_patience(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    for n in range(PATIENCE - 1):
        talk(f"weather {n}")
    talk("get_order 1", "timeout")
    for n in range(PATIENCE - 1):
        talk(f"weather {n}")
    talk("get_order 1")
    assert [success for *_, success in talk.said] == [False, True]


def test_an_attempt_that_ends_late_does_not_shorten_the_patience(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    slow = talk.begin("get_order 1")
    for n in range(PATIENCE - 3):
        talk(f"weather {n}")
    talk("get_order 1", "timeout")
    talk.end(slow, "timeout")
    for n in range(PATIENCE - 1):
        talk(f"weather {n}")
    assert talk.open == ["get_order"]


def test_many_calls_that_fail_side_by_side_do_not_use_up_each_others_patience(talk: Talk) -> None:
    number = 3 * PATIENCE
    for ticket in [talk.begin(f"get_order {n}") for n in range(number)]:
        talk.end(ticket, "timeout")
    for ticket in [talk.begin(f"get_order {n}") for n in range(number)]:
        talk.end(ticket, "timeout")
    for n in range(number):
        talk(f"get_order {n}")
    assert [success for *_, success in talk.said] == [False] * number + [True] * number


def test_an_agent_whose_every_call_fails_has_few_incidents_open(talk: Talk) -> None:
    for n in range(500):
        talk(f"get_order {n}", "timeout")
    assert len(talk.open) == PATIENCE + 1


def test_the_end_of_a_conversation_abandons_what_is_open(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    talk("list_orders u", "timeout")
    assert [i.state for i in talk.tracker.end(9.0)] == [IncidentState.ABANDONED] * 2
    assert talk.open == []


def test_a_call_that_never_ended_teaches_nothing(talk: Talk) -> None:
    talk("get_order 1", "timeout")
    talk.begin("get_order 1")
    assert talk.said == []


def test_an_agent_in_a_loop_does_not_fill_the_memory(talk: Talk) -> None:
    for n in range(1_000):
        talk("get_order 1", "timeout")
        talk(f"get_order {n}", "not_found")
    for incident in talk.tracker.open_incidents:
        assert len(incident.attempts) <= 64


# -- questions about calls that were not made yet ------------------------------------------------------------------


def test_what_a_call_would_be_is_known_beforehand(talk: Talk) -> None:
    def would(words: str) -> Action | None:
        tool, _, argument = words.partition(" ")
        call = ToolCall(
            tool, {"id": argument}, Effect.WRITE if tool in WRITES else Effect.READ, "talk", "next"
        )
        found = talk.tracker.would_answer(call, json.dumps([tool, argument]))
        return found[1] if found else None

    assert would("cancel 1") is None
    talk("cancel 1", "unknown", ambiguous=True)
    assert would("cancel 1") is Action.RETRY
    assert would("void 1") is Action.SWITCH
    assert would("get_order 1") is Action.VERIFY
    assert would("cancel 2") is None, "another order may be cancelled"
    talk("log_in me")
    assert would("cancel 1") is Action.REPAIR
    assert talk.said == [], "asking is not doing"


def test_the_next_call_of_an_unknown_tool_is_not_taken_for_a_switch_beforehand(talk: Talk) -> None:
    talk("charge 1", "timeout")
    call = ToolCall("create", {"id": "2"}, Effect.WRITE, "talk", "next")
    assert talk.tracker.would_answer(call, "create 2") is None


def test_a_read_found_wrong_later_opens_an_incident(talk: Talk) -> None:
    call = talk.begin("get_order 1")
    talk.end(call)
    wrong = Outcome(ErrorKind.FACTUAL_ERROR, silent=True)
    incident = talk.tracker.suspect(call.call, call.fingerprint, wrong, 5.0)
    assert incident.kind is ErrorKind.FACTUAL_ERROR
    talk("list_orders u")
    assert talk.said == [("get_order", "switch", "list_orders", 1, True)]


# -- any sequence --------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ("get_order 1", "get_order 2", "list_orders u", "search s", "find_user a", "orders_of a", "cancel 1",
             "void 1", "get_voucher 1", "log_in me", "unmapped 1", "weather x", "human help")
        ),
        st.sampled_from(("", "", "timeout", "auth_error", "not_found", "unknown", "stale_data")),
        st.sampled_from((None, True, False)),
        st.integers(0, 3),
    ),
    max_size=40,
)  # fmt: skip


def _play(steps: list[tuple[str, str, bool | None, int]]) -> Talk:
    """Play calls; a number says how many calls in flight are left unfinished when this one begins."""
    talk = Talk()
    flying: list[tuple[Ticket, str, bool | None]] = []
    for words, kind, result, parallel in steps:
        while len(flying) > parallel:
            talk.end(flying[0][0], flying[0][1], flying[0][2])
            del flying[0]
        flying.append((talk.begin(words), kind, result))
    for ticket, kind, result in flying:
        talk.end(ticket, kind, result)
    talk.closed += talk.tracker.end(talk.time)
    return talk


@given(STEPS)
def test_the_same_calls_give_the_same_attempts(steps: list[tuple[str, str, bool | None, int]]) -> None:
    assert _play(steps).attempts == _play(steps).attempts


@given(STEPS)
def test_attribution_keeps_its_books(steps: list[tuple[str, str, bool | None, int]]) -> None:
    talk = _play(steps)
    assert talk.open == []
    assert len({i.incident_id for i in talk.closed}) == len(talk.closed), "an incident closes once"
    assert len({(a.incident_id, a.call_id) for a in talk.attempts}) == len(talk.attempts)
    assert all(i.state is not IncidentState.OPEN and i.closed_at is not None for i in talk.closed)
    known = {i.incident_id for i in talk.closed}
    assert all(a.incident_id in known for a in talk.attempts)
    assert all(not i.parent_id or i.parent_id in known for i in talk.closed)
    assert all(a.success is (a.failed_as is None) for a in talk.attempts)
    for incident in talk.closed:
        tries: dict[tuple[str, str], int] = {}
        for attempt in incident.attempts:
            named = (attempt.key.action, attempt.key.target)
            tries[named] = tries.get(named, 0) + 1
            assert attempt.key.ordinal <= min(tries[named], 3), "those that run side by side are equal tries"


@given(STEPS)
@example(
    [("void 1", "timeout", None, 0), ("get_voucher 1", "timeout", None, 0), ("get_order 1", "", False, 0)]
)
def test_a_write_in_doubt_is_settled_by_a_look_or_a_success_only(
    steps: list[tuple[str, str, bool | None, int]],
) -> None:
    talk = Talk()
    doubted: set[str] = set()
    for words, kind, result, _ in steps:
        above = {i.incident_id: i.parent_id for i in talk.tracker.open_incidents}
        seen = talk(words, kind, result)
        still = {i.incident_id for i in talk.tracker.open_incidents if i.uncertain_write}
        open_now = {i.incident_id for i in talk.tracker.open_incidents}
        settled = {a.incident_id for a in seen.attempts if a.key.action is Action.VERIFY and a.success}
        # The look itself may have failed, and what stood in for that read have shown what the write did.
        settled |= {
            above[a.incident_id] for a in seen.attempts if a.key.action is Action.SWITCH and a.success
        }
        assert doubted & open_now <= still | settled
        doubted = still
