"""What a judge is asked about one recorded call: the authored template, filled with data that stays data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from btm.authored.expressions import compile_template
from btm.logs.conversation import NO_RESULT, Conversation
from btm.logs.listening import Told
from btm.model import ToolCall
from btm.support.imitations import without_tags
from btm.support.untrusted import bounded_json, harmless, redact, text_of, tool_name

_INTENT_LIMIT, _PARAMS_LIMIT, _RESULT_LIMIT = 1_000, 2_000, 4_000  # characters
_TEMPLATE = Path(__file__).parent / "data" / "judge.j2"


@dataclass(frozen=True, slots=True)
class Question:
    """One call that seemed to work, with what it was for."""

    conversation: str
    digest: str
    call_id: str
    call: ToolCall
    intent: str
    result: Any

    @property
    def text(self) -> str:
        """The filled template: recorded values are cut, redacted and quoted as JSON, so that none can close its mark."""
        return compile_template(template()).render(
            {
                "intent": quoted(self.intent, _INTENT_LIMIT),
                "tool_name": tool_name(self.call.tool),
                "params": quoted(self.call.arguments, _PARAMS_LIMIT),
                "result": quoted(self.result, _RESULT_LIMIT),
            }
        )


@cache
def template() -> str:
    """Return the authored template."""
    return _TEMPLATE.read_text(encoding="utf-8")


@cache
def template_hash() -> str:
    """Return a name for the template as it stands: verdicts of another one are another judge's."""
    return hashlib.blake2b(template().encode(), digest_size=8).hexdigest()


def quoted(value: Any, limit: int) -> str:
    """Return a recorded value as one line of a JSON string."""
    text = bounded_json(value, limit) if isinstance(value, Mapping | list) else text_of(value, limit)
    plain = without_tags(redact(text, limit)).encode("utf-8", "replace").decode()
    return harmless(orjson.dumps(plain).decode())


def questions(conversation: Conversation, told: Told) -> Iterator[Question]:
    """Give every call that seemed to work and whose intent is known."""
    for turn in told.turns:
        for call, outcome, recorded in turn:
            if outcome.ok and call.intent and recorded.result is not NO_RESULT:
                yield Question(
                    conversation.conversation_id,
                    conversation.digest,
                    call.call_id,
                    call,
                    call.intent,
                    recorded.result,
                )
