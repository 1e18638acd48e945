"""Policies: what applies when, what it says, and that a broken one breaks nothing."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from core_kit import call
from hypothesis import given
from hypothesis import strategies as st

from btm.errors import PolicyError
from btm.model import (
    SUCCESS,
    Action,
    Attempt,
    ErrorKind,
    EvidenceKey,
    Family,
    Incident,
    Outcome,
    ToolCall,
)
from btm.planning.plan import Level, RecoveryPlan
from btm.planning.policy import Policies, situation_of

DEFAULT = Policies.load("default")


def situation(
    kind: str = "timeout", tool: str = "get_order", retries: int = 0, **changes: Any
) -> Mapping[str, Any]:
    """A failed call and ``retries`` failed repeats of it."""
    failed = call(tool, order_id="o1")
    outcome = Outcome(
        ErrorKind(kind),
        ambiguous=changes.pop("ambiguous", False),
        silent=ErrorKind(kind).family is Family.SILENT,
    )
    happened, changed = changes.pop("happened", None), changes.pop("changed", False)
    attempts = tuple(
        Attempt("i", f"c{n}", EvidenceKey(tool, ErrorKind(kind), Action.RETRY, "", n), success=False, at=0.0)
        for n in range(1, retries + 1)
    )
    incident = Incident(
        "i",
        "talk",
        failed,
        ErrorKind(kind),
        outcome,
        0.0,
        attempts=attempts,
        happened=happened,
        changed=changed,
    )
    return situation_of(failed, outcome, incident, **changes)


def ruled(found: Mapping[str, Any], policies: Policies = DEFAULT) -> set[str]:
    return {verdict.policy for verdict in policies.judge(found)}


def forbidden(found: Mapping[str, Any]) -> set[str]:
    return {action for verdict in DEFAULT.judge(found) for action in verdict.forbid}


# -- the shipped policies ------------------------------------------------------------------------------------------


def test_an_ambiguous_write_is_verified_before_it_is_repeated() -> None:
    found = situation(tool="cancel", ambiguous=True, verify_tool="get_order")
    (first, *_) = DEFAULT.judge(found)
    assert first.require is Action.VERIFY
    assert first.level is Level.ENFORCE
    assert {"retry", "switch", "revise"} <= first.forbid
    assert (
        first.say
        == "cancel may have gone through. Check with get_order before you repeat it or do it another way."
    )


def test_a_write_that_nothing_can_check_is_never_repeated() -> None:
    found = situation(tool="cancel", ambiguous=True)
    assert "never-repeat-a-write-that-cannot-be-verified" in ruled(found)
    assert {"retry", "switch", "revise"} <= forbidden(found)


@pytest.mark.parametrize("change", [{"happened": False}, {"idempotent": True}, {"ambiguous": False}])
def test_a_write_that_is_no_longer_in_doubt_may_be_repeated(change: dict[str, Any]) -> None:
    found = situation(**{"tool": "cancel", "ambiguous": True, "verify_tool": "get_order", **change})
    assert "retry" not in forbidden(found)


@pytest.mark.parametrize(
    "kind", ["not_found", "invalid_arguments", "auth_error", "quota_exhausted", "unknown_tool"]
)
def test_a_call_that_will_fail_again_is_not_repeated_unchanged(kind: str) -> None:
    assert "no-blind-repeats" in ruled(situation(kind))
    assert "no-blind-repeats" not in ruled(situation(kind, changed=True)), (
        "a write since then may have helped"
    )


def test_three_identical_failures_are_enough() -> None:
    assert "stop-after-three-identical-failures" not in ruled(situation(retries=1))
    assert "stop-after-three-identical-failures" in ruled(situation(retries=2))


def test_a_third_repeat_is_made_by_btm_itself_only_and_when_nothing_but_a_human_is_left() -> None:
    rule = "stop-after-three-identical-failures"
    assert rule in ruled(situation(retries=2, escalation_tool="human"))
    assert rule in ruled(situation(retries=2, acting=True, escalation_tool="human", untried=("list_orders",)))
    assert rule not in ruled(situation(retries=2, acting=True, escalation_tool="human"))
    assert rule in ruled(situation(retries=3, acting=True, escalation_tool="human"))


def test_an_enforced_policy_stands_before_an_advising_one() -> None:
    verdicts = DEFAULT.judge(situation("stale_data", retries=2))
    plan = RecoveryPlan("i", call("get_order"), Outcome(ErrorKind.STALE_DATA), (), verdicts=verdicts)
    assert plan.forbidden[Action.RETRY].policy == "stop-after-three-identical-failures"


def test_escalating_waits_while_something_is_untried() -> None:
    found = situation(untried=("list_orders",), escalation_tool="human")
    assert "escalate" in forbidden(found)
    assert "escalate" not in forbidden(situation(escalation_tool="human"))


def test_an_irreversible_write_rests_on_checked_reads() -> None:
    found = situation_of(call("cancel"), SUCCESS, irreversible=True, unchecked=("get_order",), pending=True)
    (verdict,) = [v for v in DEFAULT.judge(found) if v.policy == "cross-check-before-irreversible-writes"]
    assert verdict.require is Action.VERIFY
    assert "get_order" in verdict.say


@given(
    st.sampled_from(ErrorKind), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 5),
    st.sampled_from((None, True, False)), st.booleans(),
)  # fmt: skip
def test_every_situation_can_be_judged(
    kind: ErrorKind,
    ambiguous: bool,
    idempotent: bool,
    changed: bool,
    retries: int,
    happened: bool | None,
    pending: bool,
) -> None:
    found = situation(
        kind,
        "cancel",
        retries,
        ambiguous=ambiguous,
        idempotent=idempotent,
        changed=changed,
        happened=happened,
        pending=pending,
        verify_tool="get_order",
        untried=("x",),
        unchecked=("y",),
        escalation_tool="human",
    )
    for verdict in DEFAULT.judge(found):
        assert verdict.say
        assert "\n" not in verdict.say


# -- sentences hold no foreign words -------------------------------------------------------------------------------


@given(st.text(min_size=1, max_size=60))
def test_an_invented_tool_name_cannot_speak_in_a_policys_sentence(name: str) -> None:
    failed, outcome = ToolCall(name), Outcome(ErrorKind.NOT_FOUND)
    found = situation_of(failed, outcome, Incident("i", "talk", failed, ErrorKind.NOT_FOUND, outcome, 0.0))
    for verdict in DEFAULT.judge(found):
        assert " ".join(verdict.say.split()) == verdict.say
        assert "<" not in verdict.say


def test_a_condition_sees_the_tools_real_name() -> None:
    policies = Policies.from_text(
        '- {id: a, when: \'call.tool == "Get Order"\', say: "{{ call.tool }} is known"}'
    )
    (verdict,) = policies.judge(situation_of(ToolCall("Get Order"), SUCCESS))
    assert verdict.say == "Get_Order is known"


# -- authored files ------------------------------------------------------------------------------------------------


def test_a_file_is_loaded_by_path_and_by_shipped_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("- {id: mine, when: 'true', say: always}\n")
    assert ruled(situation(), Policies.load(path)) == {"mine"}
    assert [rule.id for rule in Policies.load().rules] == [rule.id for rule in DEFAULT.rules]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- {id: a, when: 'true'}", "say"),
        ("- {id: a, when: 'true', say: x, forbids: [retry]}", "forbids"),
        ("- {id: a, when: 'true', say: x, forbid: [retri]}", "retry"),
        ("- {id: a, when: 'outcom.kind', say: x}", "outcom"),
        ("- {id: a, when: 'call.tool ==', say: x}", ":1:"),
        ("- {id: a, when: 'true', say: '{{ nobody }}'}", "nobody"),
        ("- {id: a, when: 'true', say: x}\n- {id: a, when: 'true', say: y}", "two rules"),
        ("id: a", "list"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_the_place(text: str, says: str) -> None:
    with pytest.raises(PolicyError, match=r"(?s).*") as wrong:
        Policies.from_text(text, "mine.yaml")
    assert "mine.yaml" in str(wrong.value)
    assert says in str(wrong.value)


def test_a_missing_file_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(PolicyError, match="did you mean 'default'"):
        Policies.load("defualt")


# -- a broken rule -------------------------------------------------------------------------------------------------


class Uncomparable:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "rule",
    [
        "{id: broken, when: 'call.missing.deeper', say: x}",
        "{id: broken, when: 'true', say: '{{ call.missing }}'}",
        "{id: broken, when: '1 / 0', say: x}",
        "{id: broken, when: 'call.odd == 1', say: x}",
    ],
)
def test_a_rule_that_fails_is_skipped_with_one_warning(rule: str, caplog: pytest.LogCaptureFixture) -> None:
    policies = Policies.from_text(f"- {rule}\n- {{id: fine, when: 'true', say: still here}}\n")
    found = situation_of(ToolCall("t", {"odd": Uncomparable()}), SUCCESS)
    with caplog.at_level(logging.WARNING, "btm"):
        for _ in range(3):
            assert ruled(found, policies) == {"fine"}
    assert len([r for r in caplog.records if "broken" in r.getMessage()]) == 1
