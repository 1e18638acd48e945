from __future__ import annotations

from typing import Any

import pytest

from btm.fallback import FallbackMap
from btm.lab.backtest import Adviser, Backtest, Choice, backtest
from btm.lab.calibration import cut, lessons
from btm.learning.posterior import Evidence
from btm.logs.conversation import Conversation, RecordedCall, Skipped
from btm.logs.listening import Listener
from btm.model import Action, ErrorKind, EvidenceKey, ToolCall
from btm.planning.policy import Policies

MAP = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  get_order:
    effect: read
    fallbacks:
      - {tool: search_orders, coverage: full, arguments: {user_id: "{{ known.user_id }}"}}
  search_orders: {effect: read}
  find_user: {effect: read}
  human: {role: escalation}
""")
TIMEOUT = "Error: the request timed out after 30 s"
POLICIES = Policies.load("default")


def recorded(number: int, tool: str, result: Any, **arguments: Any) -> RecordedCall:
    return RecordedCall(ToolCall(tool, arguments, call_id=f"call_{number}"), result)


def story(name: int, *calls: tuple[str, str]) -> Conversation:
    """A conversation that looks its user up, and then makes these calls for one order."""
    first = recorded(0, "find_user", '{"user_id": "u1"}', email="a@b.example")
    rest = [recorded(n, tool, result, order_id="O1") for n, (tool, result) in enumerate(calls, start=1)]
    return Conversation(f"c{name}", f"log:{name}", ((first,), *((call,) for call in rest)), digest=str(name))


def advised(evidence: Evidence, *calls: tuple[str, str]) -> list[Choice]:
    adviser = Adviser.learned(MAP, POLICIES, evidence)
    told = Listener(MAP, now=0.0).listen(story(1, *calls))
    return adviser.choices("c1", told)


def retries(worked: float, failed: float) -> Evidence:
    return Evidence([(EvidenceKey("get_order", ErrorKind.TIMEOUT, Action.RETRY, "", 1), worked, failed)])


def test_the_advice_is_what_the_evidence_says_and_the_next_attempt_is_what_was_done() -> None:
    calls = (("get_order", TIMEOUT), ("get_order", '{"status": "fine"}'))
    (after_good,) = advised(retries(30.0, 1.0), *calls)
    assert (after_good.advised, after_good.done, after_good.followed, after_good.worked) == (
        Action.RETRY,
        Action.RETRY,
        True,
        True,
    )
    (after_bad,) = advised(retries(0.0, 30.0), *calls)
    assert (after_bad.advised, after_bad.target) == (Action.SWITCH, "search_orders")
    assert not after_bad.followed
    assert after_bad.worked


def test_every_failure_of_an_incident_is_a_choice_of_its_own() -> None:
    calls = [("get_order", TIMEOUT)] * 3
    first, second, third = advised(retries(30.0, 1.0), *calls)
    assert (first.done, second.done, third.done) == (Action.RETRY, Action.RETRY, None)
    assert third.advised is Action.SWITCH  # a third repeat is against a policy


def test_what_was_done_against_a_policy_is_marked() -> None:
    missing = "Error: order O1 not found"
    (first, last) = advised(Evidence(), ("get_order", missing), ("get_order", missing))
    assert first.forbidden
    assert not first.worked
    assert last.done is None


def test_choices_are_summed_up() -> None:
    done = Backtest()
    base = Choice("t", ErrorKind.TIMEOUT, Action.RETRY, "", 0.7)
    done.add(base._replace(done=Action.RETRY, worked=True))
    done.add(base._replace(done=Action.SWITCH, done_target="other", worked=False, forbidden=True))
    done.add(base)
    assert (done.failures, done.dropped) == (3, 1)
    assert (done.followed.times, done.followed.worked, done.foretold) == (1, 1, 0.7)
    assert (done.otherwise.times, done.forbidden.times) == (1, 1)
    assert done.instead[Action.RETRY, Action.SWITCH].times == 1


def test_the_first_part_of_a_log_is_only_learned_from() -> None:
    log: list[Conversation | Skipped] = [Skipped("log", 99, "not JSON")]
    log += [story(n, ("get_order", TIMEOUT), ("get_order", "fine")) for n in range(20)]
    parts = cut(lessons(log, MAP), 2)
    done = backtest(log, parts, MAP, POLICIES)
    assert done.failures == 10
    assert done.followed.times == done.followed.worked == 10
    assert done.foretold / 10 == pytest.approx(0.93, abs=0.03)  # ten of ten in the first half
