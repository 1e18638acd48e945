"""What a task looks like when nothing fails: what is known before each step, and which writes can be checked.

A scenario may only promise what can be known in the situation at hand: a substitute counts if its arguments could
be filled from what was seen by then, a lost response if the map's verifying read tells a done write from an undone
one. So the gold calls are run once in a clean session, and the map is asked at every step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from btm.fallback import FallbackMap
from btm.lab.environment import Environment, ScriptStep, Session, ShownValue, Task
from btm.lab.looking import shows_all
from btm.model import Effect, ToolCall
from btm.runtime.known_values import Facts


@dataclass(frozen=True, slots=True)
class Replay:
    """One clean run of a task's gold calls, step by step.

    ``known`` is what the user said and what had been seen before each step, by field name. ``checkable`` numbers
    the writes of which the map's verifying read can tell whether they happened, and shows what later steps need of them.
    """

    calls: tuple[ToolCall, ...]
    known: tuple[Mapping[str, Any], ...]
    checkable: frozenset[int]


def replay(environment: Environment, fallback_map: FallbackMap, task: Task) -> Replay:
    """Run a task's gold calls in a clean session. Raises whatever a gold call raises."""
    session = environment.open(task)
    seen = Facts()
    calls: list[ToolCall] = []
    before: list[Mapping[str, Any]] = []
    checkable: set[int] = set()
    for number, step in enumerate(task.steps):
        call = call_of(step)
        calls.append(call)
        known = {**task.facts, **seen.known}
        before.append(known)
        undone = _done(session, fallback_map, call, known) if call.effect is Effect.WRITE else None
        result = session.call(step.tool, step.arguments)
        seen.note(step.tool, step.arguments, result)
        if undone is False and _done(session, fallback_map, call, known, task.used(number)) is True:
            checkable.add(number)
    return Replay(tuple(calls), tuple(before), frozenset(checkable))


def call_of(step: ScriptStep) -> ToolCall:
    """Return the gold call of a step."""
    return ToolCall(step.tool, step.arguments, step.effect)


def _done(
    session: Session,
    fallback_map: FallbackMap,
    call: ToolCall,
    known: Mapping[str, Any],
    used: Sequence[ShownValue] = (),
) -> bool | None:
    """Ask the map's verifying read whether a write has happened; None when it cannot tell, or lacks what is ``used``."""
    check = fallback_map.verifier(call, known)
    if check is None or check.missing:
        return None
    try:
        result = session.call(check.tool, check.arguments or {})
    except Exception:  # noqa: BLE001 - a domain's tools raise what they like, and a failed look tells nothing
        return None
    if not shows_all(result, call.arguments, used):
        return None
    return fallback_map.done(call, result)
