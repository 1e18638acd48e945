"""Reading results, attributes and texts of objects that nobody vouches for: each function is total.

A lazy record can have no end, whatever it says its length is, and a subclass can do anything when it is walked. What
classifies reads plain containers of bounded size; the agent gets the tool's own object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from btm.classify.finding import names
from btm.support import untrusted

TEXT_LIMIT = 4_000
"""Characters of an error's text that are looked at, at most."""


def attribute(value: object, name: str) -> Any:
    """Return an attribute, or None when it is absent or raises."""
    try:
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign object may raise anything
        return None


def members(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a mapping of somebody's own as a dict of its first fields: it may have no end."""
    if type(value).__module__ in _OWN_MAPPINGS:
        return value
    return {name: value[name] for name in islice(value, _MOST_MEMBERS)}


_OWN_MAPPINGS = frozenset({"builtins", "collections"})
_MOST_MEMBERS = 1_000


def is_blank(value: object) -> bool:
    """Whether a value is None or an empty text, list or mapping; nothing foreign is compared."""
    return value is None or (type(value) in _CONTAINERS and not value)


_CONTAINERS = frozenset({str, list, dict, tuple})


def field(value: object, *names: str) -> Any:
    """Return the first present and not None of these keys (of a mapping) or attributes (of an object)."""
    for name in names:
        try:
            found = value.get(name) if isinstance(value, Mapping) else attribute(value, name)
        except Exception:  # noqa: BLE001 - a foreign mapping may raise anything
            return None
        if found is not None:
            return found
    return None


def message(error: BaseException) -> str:
    """Return an exception's text, cut; a single string argument is taken as it is, so that nothing huge is copied."""
    arguments = attribute(error, "args")
    if type(arguments) is tuple and len(arguments) == 1 and isinstance(arguments[0], str):
        only = arguments[0]
        if type(error).__str__ is BaseException.__str__ or len(only) > TEXT_LIMIT:
            return ends(only)
    return untrusted.text_of(error, TEXT_LIMIT)


def ends(text: str) -> str:
    """Return a text's beginning and end, ``TEXT_LIMIT`` characters at most."""
    if len(text) <= TEXT_LIMIT:
        return text
    return text[: TEXT_LIMIT - 500] + "\n" + text[-500:]


@lru_cache(maxsize=1_024)
def qualified(kind: type) -> tuple[str, str]:
    """Return the root package and the bare name of a class."""
    name = attribute(kind, "__qualname__")
    module = attribute(kind, "__module__")
    bare = name.rsplit(".", 1)[-1] if isinstance(name, str) else "object"
    return (module.split(".", 1)[0] if isinstance(module, str) else "", bare[:80])


FACTS = names(
    "status_code http_status status http_code code response resp retry_after headers body sqlstate pgcode returncode"
    " stderr output smtp_code reason exceptions orig inner_exception"
)
"""Attributes that libraries share, by which their exceptions say what went wrong."""


@lru_cache(maxsize=1_024)
def _on_class(kind: type) -> frozenset[str]:
    return frozenset(name for name in FACTS if any(name in base.__dict__ for base in kind.__mro__))


def facts(error: BaseException) -> dict[str, Any]:
    """Return those of an exception's shared attributes (`FACTS`) that are there and not None."""
    try:
        kind: type = type(error)
        names = _on_class(kind).union(FACTS.intersection(error.__dict__))
    except Exception:  # noqa: BLE001 - a foreign class may have a __dict__ that raises, or no hash
        names = FACTS
    return {name: value for name in names if (value := attribute(error, name)) is not None}


def chain(error: BaseException, limit: int = 10) -> Iterator[tuple[int, BaseException, dict[str, Any]]]:
    """Yield an exception with its depth and facts, then what it wraps: group members, ``orig``, ``reason``, cause, context.

    Cycles end; at most ``limit`` exceptions are visited, each before what it wraps.
    """
    seen: set[int] = set()
    queue: list[tuple[int, BaseException]] = [(0, error)]
    while queue and len(seen) < limit:
        depth, current = queue.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        known = facts(current)
        yield depth, current, known
        queue.extend((depth + 1, inner) for inner in _wrapped(current, known))


def _wrapped(error: BaseException, known: Mapping[str, Any]) -> list[BaseException]:
    found: list[Any] = []
    members = known.get("exceptions")
    if isinstance(members, list | tuple):
        found.extend(members[:5])
    found += [known.get(name) for name in ("orig", "reason", "inner_exception")]
    cause = attribute(error, "__cause__")
    if cause is None and not attribute(error, "__suppress_context__"):
        cause = attribute(error, "__context__")
    found.append(cause)
    arguments = attribute(error, "args")
    if type(arguments) is tuple:
        found.extend(arguments[:2])
    return [inner for inner in found if isinstance(inner, BaseException)]


_MOST_KEYS, _LOOKED_AT, _DEEPEST = 200, 20, 4
_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)")
"""What terminals read as colours, moves and titles (ECMA-48)."""

_COLOURED = 8_000
_LEAVES = frozenset({str, int, float, bool, type(None), bytes})


def tamed(value: Any, depth: int = _DEEPEST) -> Any:
    """Return ``value`` itself where it holds nothing odd, else a copy: at most 200 keys of a foreign mapping.

    The first 20 members of each container are looked at, four levels down.
    """
    kind = type(value)
    if kind in _LEAVES or depth == 0:
        return value
    if kind is dict:
        if len(value) <= _LOOKED_AT and _LEAVES.issuperset(map(type, value.values())):
            return value
        odd = [
            (k, new)
            for k, v in islice(value.items(), _LOOKED_AT)
            if type(v) not in _LEAVES and (new := tamed(v, depth - 1)) is not v
        ]
        return {**value, **dict(odd)} if odd else value
    if kind is list:
        head = [tamed(v, depth - 1) for v in value[:_LOOKED_AT]]
        same = all(new is v for new, v in zip(head, value, strict=False))
        return value if same else [*head, *value[_LOOKED_AT:]]
    if isinstance(value, list):
        return tamed(list(list.__iter__(value)), depth)
    if isinstance(value, Mapping):
        items = (
            dict.items(value) if isinstance(value, dict) else value.items()
        )  # its own walk may be any code
        return tamed(dict(islice(items, _MOST_KEYS)), depth)
    return value


def plain_of(text: str) -> str:
    """Return a text without the colours that commands write for terminals, in its first 8,000 characters."""
    head = text[:_COLOURED]
    return _COLOURS.sub("", head) + text[_COLOURED:] if "\x1b" in head else text
