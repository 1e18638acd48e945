"""Reading attributes and text of objects that nobody vouches for: each function is total."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from btm import safe

TEXT_LIMIT = 4_000
"""Characters of an error's text that are looked at, at most."""

_ABSENT = object()


def attribute(value: object, name: str) -> Any:
    """Return an attribute, or None when it is absent or raises."""
    try:
        found = getattr(value, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign object may raise anything
        return None
    return found


def field(value: object, *names: str) -> Any:
    """Return the first present and not None of these keys (of a mapping) or attributes (of an object)."""
    if isinstance(value, Mapping):
        for name in names:
            try:
                found = value.get(name)
            except Exception:  # noqa: BLE001 - a foreign mapping may raise anything
                return None
            if found is not None:
                return found
        return None
    for name in names:
        found = attribute(value, name)
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
    return safe.text_of(error, TEXT_LIMIT)


def ends(text: str) -> str:
    """Return a text's beginning and end, ``TEXT_LIMIT`` characters at most."""
    if len(text) <= TEXT_LIMIT:
        return text
    return text[: TEXT_LIMIT - 500] + "\n" + text[-500:]


def qualified(kind: type) -> tuple[str, str]:
    """Return the root package and the bare name of a class."""
    name = attribute(kind, "__qualname__")
    module = attribute(kind, "__module__")
    bare = name.rsplit(".", 1)[-1] if isinstance(name, str) else "object"
    return (module.split(".", 1)[0] if isinstance(module, str) else "", bare[:80])


def chain(error: BaseException, limit: int = 10) -> Iterator[tuple[int, BaseException]]:
    """Yield an exception with its depth, then what it wraps: its cause, context, group members, ``orig``, ``reason``.

    Cycles end; at most ``limit`` exceptions are visited, each before what it wraps.
    """
    seen: set[int] = set()
    queue: list[tuple[int, BaseException]] = [(0, error)]
    while queue and len(seen) < limit:
        depth, current = queue.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield depth, current
        queue.extend((depth + 1, inner) for inner in _wrapped(current))


def _wrapped(error: BaseException) -> list[BaseException]:
    found: list[Any] = []
    members = attribute(error, "exceptions")
    if isinstance(members, list | tuple):
        found.extend(members[:5])
    found += [attribute(error, name) for name in ("orig", "reason", "inner_exception", "__cause__")]
    if attribute(error, "__cause__") is None and not attribute(error, "__suppress_context__"):
        found.append(attribute(error, "__context__"))
    arguments = attribute(error, "args")
    if type(arguments) is tuple:
        found.extend(arguments[:2])
    return [inner for inner in found if isinstance(inner, BaseException)]
