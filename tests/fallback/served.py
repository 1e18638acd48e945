"""What the tests of shipped maps share: run a map's offers on real tools, and say how often they gave the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from btm.fallback import FallbackMap, Step
from btm.fallback.values import agree, plain
from btm.model import ToolCall

Invoke = Callable[[str, Mapping[str, Any]], Any]


def serve(made: FallbackMap, call: ToolCall, offer: Step, known: Mapping[str, Any], invoke: Invoke) -> Any:
    """Carry out an offer, all steps of it, and return its result in the form of the failed tool's."""
    assert offer.complete, f"{offer.tool} misses {offer.missing}"
    results = [invoke(offer.tool, offer.arguments)]
    while (then := made.next_step(call, offer, results, known)) is not None:
        assert then.complete, f"{then.tool} misses {then.missing}"
        results.append(invoke(then.tool, then.arguments))
    return plain(made.pick_all(call, offer, results))


def share_served(
    made: FallbackMap,
    calls: list[tuple[ToolCall, Mapping[str, Any]]],
    target: str | tuple[str, ...],
    invoke: Invoke,
) -> float:
    """Return how much of what the failed calls give a substitute gives: equal results, or equal fields of a mapping.

    ``target`` names the substitute, or the tools of a composition. An offer that fails gives nothing.
    """
    given = 0.0
    for call, known in calls:
        (offer,) = [
            c for c in made.candidates(call, None, known) if target in (c.tool if not c.via else c.via, c.via)
        ]
        wanted = plain(invoke(call.tool, call.arguments))
        try:
            got = serve(made, call, offer, known, invoke)
        except (ValueError, KeyError, IndexError):
            continue  # the substitute says that it does not have this
        given += _share(wanted, got)
    return given / len(calls)


def _share(wanted: Any, got: Any) -> float:
    if isinstance(wanted, dict) and isinstance(got, dict):
        return sum(1 for key in wanted if key in got and agree(wanted[key], got[key])) / len(wanted)
    return 1.0 if got is not None and agree(wanted, got) else 0.0
