"""The file format of fallback maps, as pydantic models; ``docs/write-a-map.md`` is its guide.

Every model is strict and closed: unknown keys and wrong types are errors. What needs the whole map (do the
tools exist, is a write offered for a read) is checked in :mod:`btm.fallback.checking`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from btm.fallback.fields import (
    FULL,
    Arguments,
    Cost,
    Coverage,
    Duration,
    ExpressionText,
    JsonType,
    KindName,
    Range,
    Regex,
    ToolName,
    expand_kinds,
)
from btm.learning.relations import Emptiness
from btm.model import Effect, ErrorKind, Family


class ToolRole(StrEnum):
    """What a tool is for, beyond answering: the planner uses such tools in their own place only."""

    ESCALATION = "escalation"  # hands the conversation to a human
    REPAIR = "repair"  # puts something right (a token, a connection) so that other tools work again
    VERIFY = "verify"  # only looks whether something happened

    @property
    def effect(self) -> Effect:
        """The effect of a tool of this role whose entry does not say."""
        return Effect.READ if self is ToolRole.VERIFY else Effect.WRITE


class ToolKind(StrEnum):
    """What sort of tool it is, where that changes what a failure means."""

    GENERAL = "general"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class ViaStep(_Strict):
    """One call of a composition. ``as`` names its result for the arguments of later steps and for ``pick``."""

    tool: ToolName = Field(description="The tool to call.")
    arguments: Arguments | None = Field(
        default=None, description="Templates over `call` and `known`; without them same-named arguments pass."
    )
    as_: str | None = Field(
        default=None, alias="as", description="The name of this step's result.", pattern="^[a-z][a-z0-9_]*$"
    )


class Fallback(_Strict):
    """A tool (or several calls in a row, ``via``) that stands in for the one it is listed under."""

    tool: ToolName | None = Field(default=None, description="The tool that stands in.")
    via: tuple[ToolName | ViaStep, ...] = Field(
        default=(), description="Calls in a row that stand in together."
    )
    coverage: Coverage = Field(description="How much of what was wanted it gives: full, partial, or (0, 1].")
    gives: tuple[str, ...] = Field(default=(), description="Fields of the result that it gives.")
    lacks: tuple[str, ...] = Field(default=(), description="Fields of the result that it does not give.")
    arguments: Arguments | None = Field(
        default=None, description="Templates over `call` and `known`; without them same-named arguments pass."
    )
    pick: ExpressionText | None = Field(
        default=None,
        description="An expression over `result`, `call` that turns the result into the wanted form.",
    )
    only_for: tuple[KindName, ...] = Field(
        default=(),
        description="Error kinds or families for which it is offered; without it all but the caller family.",
    )
    cost: Cost | None = Field(default=None, description="What it costs; without it the tools' own costs.")

    def offered_for(self, kind: ErrorKind) -> bool:
        """Whether it is offered after an error of this kind.

        Unless the map says so, values that one tool refused are not sent to another, which may be less strict, and an
        empty answer, which may be true, is not replaced by rows of a tool that gives only a part.
        """
        if self.only_for:
            return kind in expand_kinds(self.only_for)
        partly = kind is ErrorKind.EMPTY_RESULT and self.coverage < FULL
        return kind.family is not Family.CALLER and not partly


class Repair(_Strict):
    """A tool to run after certain errors, before the same call is made again."""

    on: KindName | tuple[KindName, ...] = Field(description="The error kinds (or families) that it repairs.")
    tool: ToolName = Field(description="The tool to run.")
    arguments: Arguments | None = Field(
        default=None, description="Templates over `call` and `known`; without them same-named arguments pass."
    )

    @property
    def kinds(self) -> frozenset[ErrorKind]:
        """The error kinds it repairs."""
        return expand_kinds((self.on,) if isinstance(self.on, str) else self.on)


class Verify(_Strict):
    """A read that tells whether a write happened."""

    tool: ToolName = Field(description="The read that looks.")
    arguments: Arguments | None = Field(
        default=None, description="Templates over `call` and `known`; without them same-named arguments pass."
    )
    done_when: ExpressionText | None = Field(
        default=None,
        description="An expression over `call` and the reader's `result`: true when the write happened.",
    )
    pick: ExpressionText | None = Field(
        default=None,
        description="An expression over `call` and the reader's `result` that gives what the write would have answered.",
    )
    always: bool = Field(
        default=False, description="Look after every success too: the tool may say yes and do nothing."
    )


class CrossCheck(_Strict):
    """Another tool whose result must agree with this one's in the named fields."""

    tool: ToolName = Field(description="The other tool.")
    arguments: Arguments | None = Field(
        default=None, description="Templates over `call` and `known`; without them same-named arguments pass."
    )
    compare: tuple[str, ...] = Field(min_length=1, description="Dotted paths of the fields that must agree.")
    pick: ExpressionText | None = Field(
        default=None,
        description="An expression over the other tool's `result`, and `call`, applied before comparing.",
    )


class Fresh(_Strict):
    """The result's own time, and how old it may be."""

    field: str = Field(description="The dotted path of the time in the result.")
    within: Duration


class Expect(_Strict):
    """What a good result looks like. Paths are dotted; ``items[].price`` reaches into lists."""

    required: tuple[str, ...] = Field(default=(), description="Fields without which it is partial data.")
    types: dict[str, JsonType] = Field(default_factory=dict, description="The JSON type of each field.")
    ranges: dict[str, Range] = Field(
        default_factory=dict, description="[minimum, maximum]; null leaves a side open."
    )
    fresh: Fresh | None = Field(default=None, description="How old the result may be.")


class ErrorText(_Strict):
    """An error's text that this tool is known to give, and what it means."""

    match: Regex = Field(description="A regular expression, searched case-blind in the text.")
    kind: ErrorKind = Field(description="What it means.")


class BreakerGroup(_Strict):
    """What a tool has in common with others where it goes down."""

    group: str = Field(
        min_length=1,
        max_length=100,
        description="A service's name: tools with the same one go down together.",
    )


class ToolEntry(_Strict):
    """What the map says about one tool."""

    effect: Effect | None = Field(
        default=None, description="What a call does: read or write. Needed without a role."
    )
    irreversible: bool = Field(default=False, description="Whether what it does cannot be undone.")
    idempotent: bool = Field(default=False, description="Whether a repeated call does no more than one.")
    role: ToolRole | None = Field(
        default=None,
        description="escalation: hands over to a human; repair: makes others work again; verify: only looks.",
    )
    kind: ToolKind | None = Field(
        default=None,
        description="general: every call is another command (a shell, SQL, HTTP), so that one failure says nothing "
        "against the next. Guessed from the name and arguments without it.",
    )
    empty: Emptiness | None = Field(
        default=None,
        description="What an empty answer is: ok, suspicious or error. Without it ok, unless there is evidence.",
    )
    identity: tuple[str, ...] = Field(
        default=(),
        description="The arguments that make the wish: a write that agrees in them is the same write. "
        "Guessed without it.",
    )
    idempotency_key: str | None = Field(
        default=None,
        description="The argument that takes an idempotency key. btm fills one a wish and repeats with the same one.",
    )
    description: str = Field(default="", description="What it does, for people.")
    takes: tuple[str, ...] | None = Field(
        default=None, description="The tool's arguments; an optional one ends in '?'. Makes checks sharper."
    )
    returns: tuple[str, ...] = Field(default=(), description="Fields of its result. Makes checks sharper.")
    cost: Cost = Field(default=1.0, description="What a call costs; 1 is an ordinary call.")
    latency: Duration | None = Field(default=None, description="How long a call usually takes.")
    timeout: Duration | None = Field(default=None, description="How long to wait for a call.")
    fallbacks: tuple[Fallback, ...] = Field(default=(), description="What stands in for it, the best first.")
    repairs: tuple[Repair, ...] = Field(
        default=(), description="What makes it work again after certain errors."
    )
    verify: Verify | None = Field(default=None, description="How to see whether this write happened.")
    cross_check: CrossCheck | None = Field(default=None, description="A second source for its answers.")
    expect: Expect | None = Field(default=None, description="What a good result looks like.")
    errors: tuple[ErrorText, ...] = Field(default=(), description="Texts of its errors, and what they mean.")
    breaker: BreakerGroup | None = Field(
        default=None, description="The service behind the tool, for the circuit breaker."
    )

    @property
    def effective(self) -> Effect | None:
        """The effect as stated, or as the role implies."""
        return self.effect or (self.role.effect if self.role else None)

    @property
    def required_arguments(self) -> tuple[str, ...]:
        """The declared arguments that a call must have."""
        return tuple(name for name in self.takes or () if not name.endswith("?"))

    @property
    def argument_names(self) -> tuple[str, ...]:
        """All declared arguments, without the mark of optional ones."""
        return tuple(name.removesuffix("?") for name in self.takes or ())


class MapFile(_Strict):
    """A fallback map: one file a domain."""

    version: Literal[1] = Field(description="The version of this format: 1.")
    domain: str = Field(
        min_length=1, max_length=100, description="What the tools are about: a name of your own."
    )
    description: str = Field(default="", description="What this map is for, for people.")
    extends: str | None = Field(
        default=None,
        description="Another map, by file (relative to this one) or shipped name; this one's keys win.",
    )
    tools: dict[ToolName, ToolEntry] = Field(description="What the map says of each tool, by its name.")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the format, for editors' completion."""
    schema = MapFile.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "btm fallback map"}
