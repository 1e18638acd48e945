"""One real tool, whatever list it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from btm.errors import BTMError
from btm.maps.schemas import types_of
from btm.model import Effect
from btm.support.effects import guess

READ_METHODS = {"get": Effect.READ, "head": Effect.READ, "options": Effect.READ}
WRITE_METHODS = ("post", "put", "patch", "delete")


class ToolsError(BTMError):
    """A list of tools cannot be read; the text says what was looked for."""


GUESSES = (
    "guessed from its name",
    "guessed from its description",
    "assumed: nothing tells whether it only reads",
)


@dataclass(frozen=True)
class ToolInfo:
    """One real tool. ``parameters`` is its JSON Schema, ``returns`` names the fields of its result, if it says.

    ``read_only``, ``destructive`` and ``idempotent`` are what the tool's own annotations say (None: nothing);
    ``method`` is its HTTP verb in lower case, where it has one.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    returns: tuple[str, ...] = ()
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    method: str = ""

    @property
    def properties(self) -> Mapping[str, Any]:
        """The arguments' schemas by name."""
        found = self.parameters.get("properties")
        return found if isinstance(found, Mapping) else {}

    @property
    def required(self) -> tuple[str, ...]:
        """The arguments that a call must have."""
        found = self.parameters.get("required")
        return tuple(str(n) for n in found if str(n) in self.properties) if isinstance(found, list) else ()

    @property
    def takes(self) -> tuple[str, ...]:
        """The arguments as a map writes them: optional ones end in ``?``."""
        required = set(self.required)
        return tuple(str(name) if name in required else f"{name}?" for name in self.properties)

    @property
    def open(self) -> bool:
        """Whether a call may hold arguments that the schema does not name."""
        return bool(self.parameters.get("additionalProperties")) or "properties" not in self.parameters

    def types(self, argument: str) -> frozenset[str]:
        """Return the JSON types that an argument takes."""
        return types_of(self.properties.get(argument), self.parameters)

    def effect(self) -> tuple[Effect, str]:
        """Return the effect and what it is taken from: annotations, the HTTP verb, or one of :data:`GUESSES`."""
        if self.read_only is not None:
            return (
                Effect.READ if self.read_only else Effect.WRITE
            ), f"its readOnlyHint is {str(self.read_only).lower()}"
        if self.destructive:
            return Effect.WRITE, "its destructiveHint is true"
        if self.method in READ_METHODS:
            return READ_METHODS[self.method], f"its HTTP verb is {self.method.upper()}"
        if self.method in WRITE_METHODS:
            return Effect.WRITE, f"its HTTP verb is {self.method.upper()}"
        effect, known = guess(self.name, self.description)
        if not known:
            return effect, GUESSES[-1]
        return effect, GUESSES[0] if guess(self.name) == (effect, True) else GUESSES[1]


def hints_of(annotations: Any) -> dict[str, bool | None]:
    """MCP's tool annotations, as an object or a mapping."""
    found: dict[str, bool | None] = {}
    names = (
        ("read_only", "readOnlyHint"),
        ("destructive", "destructiveHint"),
        ("idempotent", "idempotentHint"),
    )
    for ours, theirs in names:
        value = (
            annotations.get(theirs)
            if isinstance(annotations, Mapping)
            else getattr(annotations, theirs, None)
        )
        if isinstance(value, bool):
            found[ours] = value
    return found


def method_of(tool: Mapping[str, Any]) -> str:
    """The HTTP verb that a tool's description names, in lower case, or an empty text."""
    found = next(
        (tool[k] for k in ("method", "http_method", "x-http-method") if isinstance(tool.get(k), str)), ""
    )
    return str(found).lower() if str(found).lower() in (*READ_METHODS, *WRITE_METHODS) else ""
