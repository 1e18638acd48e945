"""A skill card: after which failure, which steps, on what evidence. One YAML file each, for people to read and change.

::

    id: get-order-auth-error-repair-refresh-session
    domain: shop
    trigger: {tool: get_order, kind: auth_error}
    steps: [{action: repair, tool: refresh_session}]
    text: "after auth_error of get_order: refresh_session, then the same call"
    evidence: {worked: 7, tried: 8, pairs: ["log-3 > log-9"], tasks: 4}
    created_at: 1767225600
    version: 1
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from btm.authored.expressions import compile_expression
from btm.authored.loading import load_authored, read_text
from btm.errors import AuthoredFileError, TemplateError
from btm.fallback.fields import Arguments, KindName, expand_kinds
from btm.model import Action, ErrorKind
from btm.planning.context import estimate_tokens
from btm.planning.policy import NAMES
from btm.support.untrusted import tool_name

TEXT_TOKENS = 60
"""Tokens that a card's text may take."""

MOST_STEPS = 3

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:/-]{0,79}\Z")


class SkillError(AuthoredFileError):
    """A skill card is wrong."""


def is_plain_name(name: str) -> bool:
    """Whether a tool's or argument's name may stand on a card: one word, nothing that reads as a sentence."""
    return _PLAIN_NAME.match(name) is not None


def _name(name: str) -> str:
    if name not in ("", "*") and not is_plain_name(name):
        raise ValueError(f"{tool_name(name)!r} is no tool's name: letters, digits and _ . : / - are")
    return name


def _situation(text: str) -> str:
    try:
        unknown = (
            {path.partition(".")[0] for path in compile_expression(text).paths} - NAMES if text else set()
        )
    except TemplateError as error:
        raise ValueError(str(error)) from error
    if unknown:
        raise ValueError(f"unknown name {min(unknown)!r}; known are {', '.join(sorted(NAMES))}")
    return text


def _short(text: str) -> str:
    if estimate_tokens(text) > TEXT_TOKENS:
        raise ValueError(f"the text takes {estimate_tokens(text)} tokens; at most {TEXT_TOKENS} are told")
    return text


ToolWord = Annotated[str, AfterValidator(_name)]
When = Annotated[str, AfterValidator(_situation)]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SkillTrigger(_Closed):
    """The failure that a card is about.

    ``signature`` is a hash of the error's wording (:func:`btm.skills.tries.signature`): of two cards that fit, the one
    whose wording it was is told.
    """

    tool: ToolWord
    kind: KindName
    signature: str = ""

    @property
    def kinds(self) -> frozenset[ErrorKind]:
        """The error kinds it stands for."""
        return expand_kinds((self.kind,))


class CardStep(_Closed):
    """One step: for ``repair`` and ``switch`` the tool and templates of its arguments, for ``revise`` the ``changes``."""

    action: Action
    tool: ToolWord = ""
    arguments: Arguments | None = None
    changes: tuple[ToolWord, ...] = ()
    note: str = ""


class CardEvidence(_Closed):
    """What the logs said. ``pairs`` names a run that recovered and one of the same task that did not."""

    worked: float = Field(ge=0)
    tried: float = Field(ge=0)
    pairs: tuple[str, ...] = ()
    tasks: int = Field(default=0, ge=0)
    sources: tuple[str, ...] = ()


class SkillTrial(_Closed):
    """What replaying the card came to: ``worked`` of ``tried`` tasks in the environment ``by``."""

    by: str
    worked: int = Field(ge=0)
    tried: int = Field(ge=0)


class SkillCard(_Closed):
    """A card. Its first step is the one that competes; ``avoid`` are actions that did not work where it did."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,119}$")
    domain: str = ""
    trigger: SkillTrigger
    when: When = ""
    not_when: When = ""
    steps: tuple[CardStep, ...] = Field(min_length=1, max_length=MOST_STEPS)
    text: Annotated[str, AfterValidator(_short)]
    avoid: tuple[Action, ...] = ()
    evidence: CardEvidence
    verified: SkillTrial | None = None
    created_at: float = 0.0
    version: Literal[1] = 1

    @model_validator(mode="after")
    def _can_be_taken(self) -> SkillCard:
        for step in self.steps:
            if step.action in (Action.SWITCH, Action.REPAIR) and not step.tool:
                raise ValueError(f"a {step.action} needs a tool")
        if self.first.action not in (Action.RETRY, Action.REVISE, Action.REPAIR, Action.SWITCH):
            raise ValueError(f"a card cannot begin with {self.first.action}: it would only teach to give up")
        return self

    @property
    def first(self) -> CardStep:
        """The step that the card competes with."""
        return self.steps[0]

    @property
    def target(self) -> str:
        """The first step's name in the evidence."""
        return self.first.tool if self.first.action in (Action.SWITCH, Action.REPAIR) else ""

    @property
    def chance(self) -> float:
        """The mean of Beta(1 + worked, 1 + failed) over what the logs said."""
        return (1.0 + self.evidence.worked) / (2.0 + self.evidence.tried)


def described(tool: str, kind: str, steps: Iterable[CardStep], avoid: Iterable[Action] = ()) -> str:
    """Return a card's text, made of names and actions alone: nothing that a tool said is in it."""
    said = [_step_text(step, tool) for step in steps]
    not_first = [str(action) for action in avoid]
    tail = f"; do not {' or '.join(not_first)} first" if not_first else ""
    return f"after {kind} of {tool_name(tool)}: {', then '.join(said)}{tail}"


def _step_text(step: CardStep, failed: str) -> str:
    match step.action:
        case Action.REPAIR:
            return f"{tool_name(step.tool)}, then the same call"
        case Action.SWITCH:
            return f"switch to {tool_name(step.tool)}"
        case Action.REVISE:
            changes = ", ".join(map(tool_name, step.changes)) or "the arguments"
            return f"call {tool_name(failed)} again with other {changes}"
        case _:
            return f"{step.action} {tool_name(failed)}"


def load_cards(*places: str | Path) -> tuple[SkillCard, ...]:
    """Read cards: files, or folders of ``*.yaml``. Raises SkillError with file:line:column for the first wrong one."""
    files: list[Path] = []
    for place in map(Path, places):
        if place.is_dir():
            files += sorted(place.glob("*.yaml"))
        elif place.is_file():
            files.append(place)
        else:
            raise SkillError("there is no such file or folder of cards", file=str(place))
    cards = [load_authored(read_text(file, SkillError), str(file), SkillCard, SkillError) for file in files]
    seen: dict[str, Path] = {}
    for card, file in zip(cards, files, strict=True):
        if card.id in seen:
            raise SkillError(f"the id {card.id!r} is that of {seen[card.id]}, too", file=str(file))
        seen[card.id] = file
    return tuple(cards)


def card_yaml(card: SkillCard) -> str:
    """Return a card as the file that :func:`load_cards` reads."""
    plain = card.model_dump(mode="json", exclude_defaults=True)
    return yaml.safe_dump({**plain, "version": 1}, sort_keys=False, allow_unicode=True, width=110)


def write_cards(cards: Iterable[SkillCard], folder: str | Path) -> tuple[Path, ...]:
    """Write cards into a folder, one file each; a card whose file is there already takes its place."""
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    made = []
    for card in cards:
        file = into / f"{card.id}.yaml"
        file.write_text(card_yaml(card), encoding="utf-8")
        made.append(file)
    return tuple(made)
