"""Whether a map and the tools that are called belong together: a map of other tools does harm and says nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from btm.errors import nearest
from btm.fallback import FallbackMap
from btm.model import ErrorKind

ENOUGH = 20
"""Answers of one tool that are needed to say that the map misdescribes it."""

_ALL_BUT_NONE = 0.95
_MISDESCRIBED = (ErrorKind.PARTIAL_DATA, ErrorKind.SCHEMA_DRIFT, ErrorKind.MALFORMED)
_NAMED = 5


def doubts(
    fallback_map: FallbackMap,
    calls: Mapping[str, int],
    errors: Mapping[tuple[str, ErrorKind], int] | None = None,
) -> tuple[str, ...]:
    """Return why a map may not be that of these tools, a sentence each; none where they belong together.

    ``calls`` counts the calls of each tool, ``errors`` those of its calls that came out as an error kind.
    """
    if not fallback_map.tools or not calls:
        return ()
    return (*_names(fallback_map, calls), *_forms(fallback_map, calls, errors or {}))


def _names(fallback_map: FallbackMap, calls: Mapping[str, int]) -> Iterator[str]:
    strange = sorted(
        (tool for tool in calls if tool not in fallback_map.tools), key=lambda tool: -calls[tool]
    )
    made, all_made = sum(calls[tool] for tool in strange), sum(calls.values())
    if made * 2 <= all_made:
        return
    close = next(
        (f"; {tool!r} may be {near!r}" for tool in strange if (near := _near(tool, fallback_map))), ""
    )
    yield (
        f"is this the map of these tools? The map of {fallback_map.domain!r} knows "
        f"{'none' if len(strange) == len(calls) else len(calls) - len(strange)} of {len(calls)} of them, not "
        f"{', '.join(strange[:_NAMED])}{' ...' if len(strange) > _NAMED else ''}{close}"
    )


def _near(tool: str, fallback_map: FallbackMap) -> str:
    last = tool.replace(":", ".").replace("/", ".").split("__")[-1].split(".")[-1]
    return last if last in fallback_map.tools else nearest(tool, fallback_map.tools)


def _forms(
    fallback_map: FallbackMap, calls: Mapping[str, int], errors: Mapping[tuple[str, ErrorKind], int]
) -> Iterator[str]:
    for tool, entry in fallback_map.tools.items():
        made = calls.get(tool, 0)
        if made < ENOUGH or entry.expect is None:
            continue
        for kind in _MISDESCRIBED:
            wrong = errors.get((tool, kind), 0)
            if wrong >= _ALL_BUT_NONE * made:
                yield (
                    f"{kind} in {wrong} of {made} answers of {tool}: is this the map of these tools? "
                    f"Its 'expect' of {tool} does not describe what the tool gives"
                )


def knows_none(fallback_map: FallbackMap, available: Collection[str]) -> str:
    """Return a sentence if a map knows none of the tools that an agent has, else an empty one."""
    if not fallback_map.tools or not available or any(tool in fallback_map.tools for tool in available):
        return ""
    return next(iter(doubts(fallback_map, dict.fromkeys(available, 1))), "")
