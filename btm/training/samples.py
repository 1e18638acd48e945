"""Training samples: messages, what loss is taken on, and that nothing of the cue is left in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from btm.model import ChoiceEnum

SHINGLE = 8
"""Tokens in a row that a kept message may not share with a card's text."""

NOTE = "btm_note"
"""The mark of messages that help while sampling and are never kept: cards, and btm's own notes."""

Message = dict[str, Any]

_TOKEN = re.compile(r"\w+")


class SampleKind(ChoiceEnum):
    """Where a sample restarts, and with what help it was made (ReSFT, the Agent-Reflex paper)."""

    OWN = "own"  # right as the policy did it
    SELF_REFLECTION = "self_reflection"  # from just before the first wrong step, with a card that is stripped
    SKILL_RECOVERY = "skill_recovery"  # from the task's beginning, with a card that is stripped
    USER_CENTRIC = "user_centric"  # after the wrong step, with a user's sentence that stays


@dataclass(frozen=True)
class SftSample:
    """One sample. ``train_on`` are the indexes of the messages that loss is taken on: the continuation's assistant turns."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...]
    kind: SampleKind
    task_id: str
    domain: str
    scenario: str
    seed: int
    parent: str
    train_on: tuple[int, ...]
    skill_id: str | None = None
    first_wrong_step: int | None = None
    fault: Mapping[str, str] | None = None
    verified: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return the sample as the line that trainers read."""
        return {
            "messages": list(self.messages),
            "tools": list(self.tools),
            "kind": str(self.kind),
            "task_id": self.task_id,
            "domain": self.domain,
            "scenario": self.scenario,
            "seed": self.seed,
            "skill_id": self.skill_id,
            "first_wrong_step": self.first_wrong_step,
            "fault": dict(self.fault) if self.fault else None,
            "verified": self.verified,
            "parent": self.parent,
            "train_on": list(self.train_on),
        }


@dataclass
class SampleMessages:
    """Messages as they come about. Notes are marked, so that they can be taken out again."""

    messages: list[Message] = field(default_factory=list)
    calls: int = 0

    def add(self, role: str, content: str) -> None:
        """Add a message of the user, the system or the assistant."""
        self.messages.append({"role": role, "content": content})

    def note(self, content: str) -> None:
        """Add help that is not kept."""
        self.messages.append({"role": "system", "content": content, NOTE: True})

    def call(self, tool: str, arguments: Mapping[str, Any], answer: str) -> None:
        """Add a call of the assistant and its answer."""
        name = f"call_{self.calls}"
        self.calls += 1
        given = json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False, default=str)
        function = {"name": tool, "arguments": given}
        asked = [{"id": name, "type": "function", "function": function}]
        self.messages.append({"role": "assistant", "content": "", "tool_calls": asked})
        self.messages.append({"role": "tool", "tool_call_id": name, "name": tool, "content": answer})


def stripped(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return messages without notes."""
    return tuple(message for message in messages if not message.get(NOTE))


def tokens(text: str) -> list[str]:
    """Return the words of a text, in lower case: what stands between them is no matter of copying."""
    return _TOKEN.findall(text.lower())


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Return every run of ``SHINGLE`` tokens; of a shorter text, the whole."""
    words = tokens(text)
    size = min(SHINGLE, len(words))
    return (
        frozenset(tuple(words[n : n + size]) for n in range(len(words) - size + 1)) if words else frozenset()
    )


def leaks(messages: Sequence[Message], card_text: str) -> Iterator[int]:
    """Give the indexes of messages that hold a note's mark, or a shingle of a card's text."""
    wanted = shingles(card_text)
    sizes = {len(one) for one in wanted}
    for number, message in enumerate(messages):
        words = tokens(" ".join(_texts(message)))
        found = any(
            tuple(words[n : n + size]) in wanted for size in sizes for n in range(len(words) - size + 1)
        )
        if found or message.get(NOTE):
            yield number


def _texts(value: Any) -> Iterator[str]:
    """Give every text in a message, those inside of arguments written as JSON included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(key)
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
