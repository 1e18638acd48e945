"""Policies: authored rules that forbid, require or advise, and say so in a sentence.

A rule's ``when`` is an expression and its ``say`` a template; both run in the sandbox over a read-only situation:

============== ====================================================================================================
name           what it holds
============== ====================================================================================================
``call``       the call's arguments by name, and ``tool``, ``effect``, ``irreversible``, ``idempotent``, ``general`` (every
               call of the tool is another command), ``assumed`` (a write only because nothing is known of the tool)
``outcome``    ``kind``, ``family``, ``ambiguous``, ``silent``, ``status_code``, ``retry_after_s``, ``repeatable``
``incident``   ``tries`` (identical calls so far, the first included), ``tried`` (counts by action), ``happened``
               (true, false, or none: what was found out about an ambiguous write), ``changed`` (whether a write
               succeeded since the failure), ``odd`` (whether a read failed so for the first time, of a tool that worked
               before: one more try tells whether it is dead)
``verify``     ``tool``: the read that checks this write, or an empty text
``escalation`` ``tool``: who to hand over to, or an empty text
``untried``    names of the tools that are worth trying and have not been
``unchecked``  names of the reads that a call rests on (or the call itself, of a tool that was wrong before) that no second
               source has confirmed
``doubted``    those of ``unchecked`` whose tools' answers turned out wrong before, in whatever conversation
``acting``     whether btm carries out plans by itself (act mode)
``refusing``   whether btm refuses calls that an enforced rule forbids (guard and act mode)
``pending``    whether the rule is asked about a call before it is made (true) or after it failed (false)
============== ====================================================================================================
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, RootModel, field_validator

from btm.authored.expressions import Expression, compile_expression, compile_template
from btm.authored.loading import authored, first_of, load_authored, parse, read_text, validate
from btm.errors import PolicyError, TemplateError
from btm.model import Action, Incident, Outcome, ToolCall
from btm.planning.plan import Level, Verdict
from btm.support.untrusted import tool_name

_log = logging.getLogger("btm")

NAMES = frozenset(
    {
        "call",
        "outcome",
        "incident",
        "verify",
        "escalation",
        "untried",
        "unchecked",
        "doubted",
        "pending",
        "acting",
        "refusing",
    }
)


class Rule(BaseModel):
    """One policy of a policy file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1)
    when: str
    say: str
    forbid: tuple[Action, ...] = ()
    require: Action | None = None
    level: Level = Level.ADVISE

    @field_validator("when")
    @classmethod
    def _is_expression(cls, text: str) -> str:
        try:
            _check_names(compile_expression(text).paths)
        except TemplateError as error:
            raise ValueError(str(error)) from error
        return text

    @field_validator("say")
    @classmethod
    def _is_template(cls, text: str) -> str:
        try:
            _check_names(compile_template(text).paths)
        except TemplateError as error:
            raise ValueError(str(error)) from error
        return text


def _check_names(paths: Iterable[str]) -> None:
    unknown = {path.partition(".")[0] for path in paths} - NAMES
    if unknown:
        raise TemplateError(f"unknown name {min(unknown)!r}; known are {', '.join(sorted(NAMES))}")


class _RuleList(RootModel[tuple[Rule, ...]]):
    """A policy file that stands for itself: a list of rules."""


class _ExtendingFile(BaseModel):
    """A policy file that adds to another one: what it ``extends``, and its own ``rules``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    extends: str = Field(min_length=1)
    rules: tuple[Rule, ...]


def situation_of(
    call: ToolCall,
    outcome: Outcome,
    incident: Incident | None = None,
    *,
    irreversible: bool = False,
    idempotent: bool = False,
    general: bool = False,
    assumed: bool = False,
    verify_tool: str = "",
    escalation_tool: str = "",
    untried: Sequence[str] = (),
    unchecked: Sequence[str] = (),
    doubted: Sequence[str] = (),
    pending: bool = False,
    odd: bool = False,
    acting: bool = False,
    refusing: bool = False,
) -> Mapping[str, Any]:
    """Return what a rule may look at; see the module's table."""
    tried: dict[str, int] = dict.fromkeys(Action, 0)
    for attempt in incident.attempts if incident else ():
        tried[attempt.key.action] += 1
    return {
        "call": {
            **call.arguments,
            "tool": call.tool,
            "effect": call.effect,
            "irreversible": irreversible,
            "idempotent": idempotent,
            "general": general,
            "assumed": assumed,
        },
        "outcome": {
            "kind": outcome.kind or "",
            "family": outcome.kind.family if outcome.kind else "",
            "ambiguous": outcome.ambiguous,
            "silent": outcome.silent,
            "status_code": outcome.status_code,
            "retry_after_s": outcome.retry_after_s,
            "repeatable": outcome.kind.repeatable if outcome.kind else True,
        },
        "incident": {
            "tries": 1 + tried[Action.RETRY] if incident else 0,
            "tried": tried,
            "happened": incident.happened if incident else None,
            "changed": incident.changed if incident else False,
            "odd": odd,
        },
        "verify": {"tool": verify_tool},
        "escalation": {"tool": escalation_tool},
        "untried": untried,
        "unchecked": unchecked,
        "doubted": doubted,
        "pending": pending,
        "acting": acting,
        "refusing": refusing,
    }


def _unique(rules: tuple[Rule, ...], file: str) -> tuple[Rule, ...]:
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise PolicyError(f"two rules have the id {rule.id!r}", file=file, expected="unique ids")
        seen.add(rule.id)
    return rules


def _extended(shipped: Iterable[Rule], own: Iterable[Rule]) -> list[Rule]:
    rules = {rule.id: rule for rule in shipped}
    rules.update({rule.id: rule for rule in own})
    return list(rules.values())


def _is_shipped(name: str) -> bool:
    return Path(name).name == name and not name.endswith((".yaml", ".yml"))


def _beside(name: str, file: str) -> str | Path:
    """Return a path that a file names as seen from that file; a bare name is that of a shipped one."""
    if _is_shipped(name):
        return name
    path = Path(file).parent / name
    if path.resolve() == Path(file).resolve():
        raise PolicyError(
            "it extends itself", file=file, expected="the name of a shipped file, or another path"
        )
    return path


class Policies:
    """An ordered set of rules. ``own`` names those that are the user's own, not shipped ones (None: all of them)."""

    def __init__(self, rules: Iterable[Rule] = (), *, own: Iterable[str] | None = None) -> None:
        self.rules = tuple(rules)
        self.own = frozenset(rule.id for rule in self.rules) if own is None else frozenset(own)
        self._compiled = [(r, compile_expression(r.when), compile_template(r.say)) for r in self.rules]
        self._together = _all_at_once(self.rules)
        self._broken: set[str] = set()

    @classmethod
    def load(cls, name: str | Path = "default") -> Policies:
        """Load a policy file by path, or a shipped one by name.

        Raises :class:`~btm.errors.PolicyError` with file, line and column when it is wrong.
        """
        path = authored("policies", str(name), PolicyError)
        found = cls.from_text(read_text(path, PolicyError), str(path))
        return cls(found.rules, own=()) if _is_shipped(str(name)) else found

    @classmethod
    def from_text(cls, text: str, file: str = "<text>") -> Policies:
        """Read policies from YAML text; ``file`` is named in errors.

        A list of rules stands for itself. ``{extends: NAME, rules: [...]}`` adds to a shipped file (or one at a path): its
        rules come first, and a rule with the id of one of them takes its place.
        """
        node = parse(text, file, PolicyError)
        value = node.value()
        if isinstance(value, Mapping) and ("extends" in value or "rules" in value):
            found, problems = validate(node, _ExtendingFile, PolicyError)
            if found is None:
                raise first_of(problems)
            base, mine = cls.load(_beside(found.extends, file)), _unique(found.rules, file)
            return cls(_extended(base.rules, mine), own=base.own.union(rule.id for rule in mine))
        return cls(_unique(load_authored(text, file, _RuleList, PolicyError).root, file))

    def judge(self, situation: Mapping[str, Any]) -> tuple[Verdict, ...]:
        """Return what every rule that applies says, in the order of the file; see :func:`situation_of`.

        A rule that fails while it runs is skipped, with one warning: a broken policy must not break the agent.
        """
        verdicts: list[Verdict] = []
        applying = self._applying(situation)
        if not any(applying):
            return ()
        call = situation["call"]
        # A model can invent any name for a tool, also one that reads like advice.
        spoken = {**situation, "call": {**call, "tool": tool_name(call["tool"])}}
        for (rule, _, say), applies in zip(self._compiled, applying, strict=True):
            if applies:
                try:
                    text = " ".join(say.render(spoken).split())
                    own = rule.id in self.own
                    verdicts.append(
                        Verdict(rule.id, text, frozenset(rule.forbid), rule.require, rule.level, own)
                    )
                except TemplateError as error:
                    self._warn(rule, error)
        return tuple(verdicts)

    def _applying(self, names: Mapping[str, Any]) -> list[Any]:
        """Return, for each rule, whether it applies."""
        if self._together is not None:
            with suppress(TemplateError):  # one of them failed: then each is asked, to find out which
                return list(self._together.evaluate(names))
        return [self._applies(rule, when, names) for rule, when, _ in self._compiled]

    def _applies(self, rule: Rule, when: Expression, names: Mapping[str, Any]) -> bool:
        try:
            return bool(when.evaluate(names))
        except TemplateError as error:
            self._warn(rule, error)
            return False

    def _warn(self, rule: Rule, error: TemplateError) -> None:
        if rule.id not in self._broken:
            self._broken.add(rule.id)
            _log.warning("policy %s failed and is skipped: %s", rule.id, error)


def _all_at_once(rules: Sequence[Rule]) -> Expression | None:
    """Return one expression that gives every rule's ``when``: it is run in a fraction of the time of many."""
    try:
        return compile_expression(f"[{', '.join(f'({rule.when}) and true' for rule in rules)}]")
    except TemplateError:  # together they are too long for the sandbox
        return None
