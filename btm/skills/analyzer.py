"""A model words what the rules found: a card's text, and nothing else of it.

Steps, triggers and evidence stay those of the rules. The model is shown the card's own fields alone, so nothing a tool
said can talk to it. What it writes is taken only if it is short, keeps to one line and names no other tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from btm.planning.context import estimate_tokens
from btm.skills.card import TEXT_TOKENS, SkillCard
from btm.support.redaction import without_secrets
from btm.support.untrusted import harmless, text_of

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_NAME = re.compile(r"\b[a-zA-Z]+(?:_[a-zA-Z0-9]+)+\b")

PROMPT = """\
You word one line of advice for an agent whose tool call failed. It says what got such a call going again in past runs.
Write at most 40 words on one line, begin with "after", name only the tools below, and promise nothing.

{card}

Answer with one JSON object and nothing else: {{"text": "..."}}"""


class CardText(BaseModel):
    """What the model answers with."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    text: str


def worded(card: SkillCard, ask: Callable[[str], str]) -> SkillCard:
    """Return a card with a model's text, or as it is where the text is not fit for one. ``ask`` puts a prompt to it."""
    shown = {
        "failed": card.trigger.tool,
        "error": card.trigger.kind,
        "steps": [step.model_dump(exclude_defaults=True, mode="json") for step in card.steps],
        "do not try first": [str(action) for action in card.avoid],
    }
    text = _text_of(ask(PROMPT.format(card=json.dumps(shown, indent=1))))
    return card.model_copy(update={"text": text}) if text and fit(text, card) else card


def fit(text: str, card: SkillCard) -> bool:
    """Whether a text may stand on a card."""
    if "\n" in text or harmless(text) != text or without_secrets(text) != text:
        return False
    if not text.lower().startswith("after ") or estimate_tokens(text) > TEXT_TOKENS:
        return False
    names = {card.trigger.tool, str(card.trigger.kind), *(step.tool for step in card.steps)}
    names |= {name for step in card.steps for name in (*step.changes, *(step.arguments or {}))}
    return all(found in names for found in _NAME.findall(text))


def _text_of(reply: str) -> str:
    try:
        found: Mapping[str, Any] = json.loads(reply)
        return CardText.model_validate(found).text.strip()
    except (ValueError, ValidationError, RecursionError):
        return ""


def asking(model: BaseChatModel) -> Callable[[str], str]:
    """Return a function that puts a prompt to a LangChain chat model."""
    return lambda prompt: text_of(model.invoke([("user", prompt)]).content, 4_000)
