"""Fine-tuning samples from recorded conversations, without running anything again: those that were right as they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.logs.conversation import NO_RESULT, Conversation
from btm.logs.listening import Told
from btm.support.redaction import without_secrets
from btm.support.untrusted import redact, text_of
from btm.training.samples import SampleKind, SampleMessages, SftSample

_ANSWER, _TASK = 8_000, 8_000  # characters
_DEPTH = 12


def _kept(value: Any, depth: int = 0) -> Any:
    """Return arguments without secrets; what lies deeper than arguments do is cut."""
    if isinstance(value, str):
        return without_secrets(value[:_ANSWER])
    if depth > _DEPTH:
        return None
    if isinstance(value, Mapping):
        return {str(key): _kept(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_kept(inner, depth + 1) for inner in value]
    return value


def sample_of(conversation: Conversation, told: Told, domain: str = "") -> SftSample | None:
    """Return a scored and successful conversation as a sample; None for any other.

    Needed are a reward of 1, the user's words, and an answer to every call. Loss is on every turn of the assistant. Secrets
    in texts are redacted as everywhere.
    """
    reward, heard = conversation.reward, told.heard
    if reward is None or reward < 1.0 or not conversation.task.strip() or told.unanswered or not heard:
        return None
    made = SampleMessages()
    made.add("user", redact(conversation.task, _TASK))
    for call, _, recorded in heard:
        if recorded.result is NO_RESULT:
            return None
        answer = redact(text_of(recorded.result, _ANSWER), _ANSWER)
        made.call(call.tool, _kept(dict(call.arguments)), answer)
        if recorded.intent_from == "assistant" and call.intent:
            made.messages[-2]["content"] = redact(call.intent, _ANSWER)
    last = heard[-1][2].observed
    if last:
        made.add("assistant", redact(last, _ANSWER))
    failed = next((n for n, (_, outcome, _) in enumerate(heard) if outcome.kind is not None), None)
    fault = None
    if failed is not None:
        fault = {"kind": str(heard[failed][1].kind), "tool": heard[failed][0].tool}
    return SftSample(
        messages=tuple(made.messages),
        tools=(),
        kind=SampleKind.OWN,
        task_id=conversation.task_id,
        domain=domain,
        scenario="recorded",
        seed=0,
        parent=conversation.conversation_id,
        train_on=tuple(n for n, message in enumerate(made.messages) if message["role"] == "assistant"),
        first_wrong_step=failed,
        fault=fault,
        verified=True,
    )
