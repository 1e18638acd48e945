"""Recorded conversations as failure trajectories: what failed, what the agent did about it, and whether that was right.

Labels come by rule (see :mod:`btm.logs.audit`) and by looking back from the outcome: in a task that succeeded each
failure that was recovered from is a positive; in one that failed the last failure that was not is the deciding wrong
step. Where the log holds no score, nothing is looked back from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from btm.fallback import FallbackMap
from btm.logs.audit import Annotation, Label, annotate, hands_over
from btm.logs.conversation import NO_RESULT, Conversation, RecordedCall
from btm.logs.listening import Told
from btm.logs.trajectory import (
    ESCALATED,
    FAILURE,
    LOGIC,
    PARTIAL,
    SUCCESS,
    Trajectory,
    TrajectoryStep,
    failure_fields,
)
from btm.model import Action, Attempt, ErrorKind, Family, ToolCall
from btm.support.untrusted import fingerprint, redact

ANNOTATOR = "btm_rules_v1"
_TASK_LIMIT = _TEXT_LIMIT = 4_000  # characters
_LAST_STEPS = 3

_FAILURE = ("failure_type", "failure_subtype", "failure_detail")
_SUBTYPES: Mapping[Label, str] = {
    Label.LOOP: "infinite_retry",
    Label.IDEMPOTENCY_RISK: "idempotency",
    Label.CASCADE: "cascade",
}
# What the record calls the right handling, where an agent did something else.
_BY_LABEL: Mapping[Label, tuple[Action, str]] = {
    Label.LOOP: (Action.ABANDON, "the same call had been made more than three times: stop"),
    Label.IDEMPOTENCY_RISK: (Action.VERIFY, "a write was repeated blindly: verify that it did not happen"),
    Label.CASCADE: (Action.ABANDON, "the next step built on this failure: stop here first"),
    Label.PREMATURE_ESCALATION: (Action.SWITCH, "handed over while something was untried"),
}
_BY_FAMILY: Mapping[Family, Action] = {
    Family.TRANSIENT: Action.RETRY,
    Family.PERSISTENT: Action.ESCALATE,
    Family.CALLER: Action.REVISE,
    Family.SILENT: Action.SWITCH,
    Family.UNKNOWN: Action.RETRY,
}


class _Decision(NamedTuple):
    """What an agent did about a failed step: ``by`` is the step that did it, None when it did nothing."""

    action: Action
    by: int | None
    resolved: bool


def trajectory_of(conversation: Conversation, told: Told, fallback_map: FallbackMap) -> Trajectory:
    """Return the failure trajectory of a conversation that a listener was told. Reading it teaches the same evidence."""
    return _Retelling(conversation, told, fallback_map).trajectory()


class _Retelling:
    def __init__(self, conversation: Conversation, told: Told, fallback_map: FallbackMap) -> None:
        self._conversation = conversation
        self._told = told
        self._map = fallback_map
        self._heard = told.heard
        self._step_of = {call.call_id: step for step, (call, _, _) in enumerate(self._heard)}
        self._labels: dict[int, list[Annotation]] = {}
        for annotation in annotate(told, fallback_map):
            self._labels.setdefault(annotation.step, []).append(annotation)
        self._decisions = self._decided()
        self._outcome = self._final()

    def trajectory(self) -> Trajectory:
        conversation = self._conversation
        about = {
            "started_at": conversation.started_at,
            "reward": conversation.reward,
            "task_id": conversation.task_id,
        }
        extra = {name: value for name, value in about.items() if value not in (None, "")}
        return Trajectory(
            trajectory_id=conversation.conversation_id,
            task_description=conversation.task[:_TASK_LIMIT],
            final_outcome=self._outcome,
            steps=tuple(self._steps()),
            failure_summary=self._summary(),
            metadata={
                "source": "production_log",
                "annotator": ANNOTATOR,
                "human_verified": False,
                "domain": self._map.domain or None,
                "difficulty": None,
                "candidate_negative": self._outcome == FAILURE and any(self._told.turns[-_LAST_STEPS:]),
            },
            extra=extra,
        )

    # -- the whole ----------------------------------------------------------------------------------------------

    def _final(self) -> str:
        reward = self._conversation.reward
        if reward is not None:
            return SUCCESS if reward >= 1.0 else FAILURE if reward <= 0.0 else PARTIAL
        if any(outcome.ok and hands_over(call.tool, self._map) for call, outcome, _ in self._heard):
            return ESCALATED
        return SUCCESS if all(decision.resolved for decision in self._decisions.values()) else PARTIAL

    def _summary(self) -> dict[str, Any]:
        types: dict[str, None] = {}
        for step in self._steps():
            if step.failure_type:
                types[f"{step.failure_type}/{step.failure_subtype}"] = None
        types.update(
            (f"{LOGIC}/{_SUBTYPES[a.label]}", None)
            for annotations in self._labels.values()
            for a in annotations
            if a.label in _SUBTYPES
        )
        decisions = self._decisions.values()
        return {
            "total_failures": len(self._decisions),
            "failure_types": list(types),
            "recovery_pattern": " > ".join(decision.action for decision in decisions) or None,
            "recovery_success": all(decision.resolved for decision in decisions) if decisions else None,
        }

    # -- what the agent did -------------------------------------------------------------------------------------

    def _decided(self) -> dict[int, _Decision]:
        """Return for each failed step what the agent did about it: the next attempt on its incident."""
        by_incident: dict[str, list[Attempt]] = {}
        for attempt in self._told.attempts:
            by_incident.setdefault(attempt.incident_id, []).append(attempt)
        decisions: dict[int, _Decision] = {}
        for step, incident_id in self._incidents():
            attempts = by_incident.get(incident_id, [])
            resolved = any(attempt.success for attempt in attempts)
            later = ((self._step_of[a.call_id], a.key.action) for a in attempts)
            by, action = next((one for one in later if one[0] > step), (None, Action.ABANDON))
            decisions[step] = _Decision(action, by, resolved)
        return decisions

    def _incidents(self) -> Iterable[tuple[int, str]]:
        """Give each failed step with the incident that it opened or was a further failure of."""
        opened = {incident.incident_id for incident in self._told.incidents}
        attempt_on = {attempt.call_id: attempt.incident_id for attempt in self._told.attempts}
        of_call: dict[str, str] = {}
        for step, (call, outcome, _) in enumerate(self._heard):
            if outcome.ok:
                continue
            own = f"{self._conversation.conversation_id}/{call.call_id}"
            same = fingerprint(call.tool, call.arguments)  # that failed in parallel is one incident
            found = own if own in opened else attempt_on.get(call.call_id) or of_call.get(same, own)
            of_call[same] = found
            yield step, found

    # -- steps --------------------------------------------------------------------------------------------------

    def _steps(self) -> Iterable[TrajectoryStep]:
        last_failure = max((s for s, d in self._decisions.items() if not d.resolved), default=None)
        index = answered = 0
        kept = {id(recorded) for _, _, recorded in self._heard}
        for turn, batch in enumerate(self._conversation.batches):
            for recorded in batch:
                if id(recorded) in kept:
                    yield self._step(index, answered, turn, recorded, deciding=answered == last_failure)
                    answered += 1
                elif not recorded.answered:
                    call, own = recorded.call, _own(turn, recorded)
                    yield TrajectoryStep(index, call.tool, _cut(call.intent), call.arguments, extra=own)
                else:
                    continue  # a replay of a call that was told before
                index += 1

    def _step(
        self, index: int, place: int, turn: int, recorded: RecordedCall, *, deciding: bool
    ) -> TrajectoryStep:
        call, outcome, _ = self._heard[place]
        labels = self._labels.get(place, [])
        fields = failure_fields(outcome)
        logic = next((a for a in labels if a.label in _SUBTYPES), None)
        if outcome.ok and logic is not None:
            fields = dict(zip(_FAILURE, (LOGIC, _SUBTYPES[logic.label], logic.detail), strict=True))
        record = {name: fields.pop(name) for name in _FAILURE}
        extra = {**fields, **_own(turn, recorded)}
        if labels:
            extra["btm_labels"] = [str(annotation.label) for annotation in labels]
        decision = self._decisions.get(place)
        return TrajectoryStep(
            step_index=index,
            tool_name=call.tool,
            intent=_cut(call.intent),
            agent_observation=_cut(recorded.observed),
            input_params=call.arguments,
            response=_response(recorded, outcome.status_code, outcome.detail, ok=outcome.ok),
            **record,
            **(self._decision_fields(place, decision, deciding) if decision is not None else {}),
            extra=extra,
        )

    def _decision_fields(self, place: int, decision: _Decision, deciding: bool) -> dict[str, Any]:
        call, outcome, _ = self._heard[place]
        handled: ToolCall | None = None if decision.by is None else self._heard[decision.by][0]
        wait = None if handled is None or not call.at else round(max(0.0, handled.at - call.at), 3)
        fields: dict[str, Any] = {
            "agent_decision": {
                "action": str(decision.action),
                "wait_seconds": wait,
                "params_delta": _delta(call, handled) if decision.action is Action.REVISE else None,
                "reasoning": None if decision.by is None else _reasons(self._heard[decision.by][2]),
            }
        }
        if handled is not None and handled.tool != call.tool:
            fields["agent_decision"]["tool"] = handled.tool
        right, why, action = self._judged(decision, outcome.kind or ErrorKind.UNKNOWN, deciding)
        fields["decision_correctness"], fields["correctness_reason"] = right, why
        if action is not None:
            fields["correct_action"] = {"action": str(action), "params_delta": None}
        return fields

    def _judged(
        self, decision: _Decision, kind: ErrorKind, deciding: bool
    ) -> tuple[str | None, str | None, Action | None]:
        """Return whether a decision was right, why, and what would have been right instead."""
        for annotation in self._labels.get(decision.by, []) if decision.by is not None else []:
            action, why = _BY_LABEL[annotation.label]
            return "incorrect", why, action
        if self._conversation.reward is None:
            return None, None, None
        if self._outcome == SUCCESS and decision.resolved:
            return "correct", "the task succeeded, and this failure was recovered from", None
        if self._outcome == FAILURE and deciding:
            instead = _BY_FAMILY[kind.family]
            if instead is decision.action:
                instead = Action.SWITCH if instead is not Action.SWITCH else Action.ESCALATE
            why = "the task failed, and this was the last failure that was not recovered from"
            return "incorrect", why, instead
        return None, None, None


def _cut(text: str | None) -> str | None:
    return text[:_TEXT_LIMIT] if text else None


def _reasons(recorded: RecordedCall) -> str | None:
    """Return why the agent did this, in its own words: what it thought, or else what it said."""
    return _cut(recorded.reasoning or (recorded.call.intent if recorded.intent_from == "assistant" else None))


def _own(turn: int, recorded: RecordedCall) -> dict[str, Any]:
    """Return what has to be kept beside the record's own fields for the same evidence to be read again."""
    call = recorded.call
    more = {
        "intent_source": recorded.intent_from,
        "reasoning": _cut(recorded.reasoning),
        "latency_s": recorded.latency_s,
    }
    said = {name: value for name, value in more.items() if value is not None}
    return {"call_id": call.call_id, "at": call.at, "turn": turn, **said}


def _response(recorded: RecordedCall, status: int | None, detail: str, *, ok: bool) -> dict[str, Any]:
    return {
        "status_code": status if status is not None else 200 if ok else None,
        "error_code": None if ok else recorded.error_type,
        "message": None if ok else redact(detail) or None,
        "body": None if recorded.result is NO_RESULT else recorded.result,
    }


def _delta(before: ToolCall, after: ToolCall | None) -> dict[str, Any] | None:
    """Return the arguments that were changed or added, and None for those that were left out."""
    if after is None:
        return None
    changed = {
        k: v for k, v in after.arguments.items() if k not in before.arguments or before.arguments[k] != v
    }
    return {**changed, **{k: None for k in before.arguments if k not in after.arguments}}
