"""What a recorded run tried about its failures: the material that cards are mined from.

A try is an action of the tracker's, with what it changed or asked with. Where no map says what repairs what, a repair is
told by what it does: an error that repeating does not heal, another tool's call that worked, and then the same call works.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from btm.logs.conversation import NO_RESULT, Conversation
from btm.logs.listening import Heard, Told
from btm.model import Action, Attempt, ErrorKind, Incident, ToolCall
from btm.runtime.known_values import Facts
from btm.skills.card import is_plain_name

_NOT_WORDS = re.compile(r"'[^']*'|\"[^\"]*\"|\S*\d\S*|[^a-z ]+")
_SIGNATURE_WORDS = 12
_TELLING = 4  # characters from which on an equal value is taken to be the same thing


@dataclass(frozen=True, slots=True)
class SkillTry:
    """One try about a failure of ``tool`` as ``kind``: the action, its target, and whether it worked.

    ``arguments`` are templates for the target's call, as far as its values came from the failed call or were seen
    before; ``changes`` names the arguments that a revision changed. ``step`` is the failed call's place in the run.
    """

    tool: str
    kind: ErrorKind
    signature: str
    action: Action
    target: str
    worked: bool
    step: int
    arguments: Mapping[str, str] | None = None
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of a task: its calls, whether it reached its end, and what it tried. ``failures`` are the failed calls."""

    name: str
    source: str
    task: str
    succeeded: bool
    calls: tuple[tuple[str, frozenset[str], bool], ...]
    failures: tuple[tuple[int, str, ErrorKind, str], ...]
    tries: tuple[SkillTry, ...]
    good_calls: Mapping[str, Mapping[str, Any]]
    bad_calls: Mapping[int, Mapping[str, Any]]


def task_of(conversation: Conversation) -> str:
    """Return the task's name: the log's own, else a hash of the user's first words; "" where there is neither."""
    if conversation.task_id:
        return f"{conversation.format}:{conversation.task_id}"  # two benchmarks may number alike
    words = conversation.task.strip()
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=8).hexdigest() if words else ""


def signature(detail: str) -> str:
    """Return a hash of an error's wording without numbers, names and quotes: nothing of the text can be read from it."""
    words = _NOT_WORDS.sub(" ", detail.lower()).split()[:_SIGNATURE_WORDS]
    return hashlib.blake2b(" ".join(words).encode(), digest_size=6).hexdigest() if words else ""


def run_record(conversation: Conversation, told: Told) -> RunRecord:
    """Return what a conversation tried. Where the log holds no score, a run in which nothing stayed failed succeeded."""
    heard = told.heard
    made = list(_tries(heard, told))
    resolved = {i.incident_id for i in told.incidents if i.state == "resolved"}
    reward = conversation.reward
    succeeded = reward >= 1.0 if reward is not None else len(resolved) == len(told.incidents)
    failed = [(n, call, outcome) for n, (call, outcome, _) in enumerate(heard) if outcome.kind is not None]
    return RunRecord(
        name=conversation.conversation_id,
        source=conversation.source,
        task=task_of(conversation),
        succeeded=succeeded,
        calls=tuple((call.tool, frozenset(call.arguments), outcome.ok) for call, outcome, _ in heard),
        failures=tuple((n, c.tool, o.kind, signature(o.detail)) for n, c, o in failed if o.kind is not None),
        tries=tuple(made),
        good_calls={call.tool: call.arguments for call, outcome, _ in heard if outcome.ok},
        bad_calls={n: call.arguments for n, call, _ in failed},
    )


def _tries(heard: Sequence[Heard], told: Told) -> Iterator[SkillTry]:
    place = {call.call_id: n for n, (call, _, _) in enumerate(heard)}
    of_incident: dict[str, list[Attempt]] = {}
    for attempt in told.attempts:
        of_incident.setdefault(attempt.incident_id, []).append(attempt)
    known = _SeenBefore(heard)
    for incident in told.incidents:
        # An incident's call is its latest failure; its name is the first one's.
        first = place.get(incident.incident_id.removeprefix(f"{incident.conversation}/"))
        if first is None or not is_plain_name(incident.tool):
            continue
        for attempt in of_incident.get(incident.incident_id, ()):
            at = place.get(attempt.call_id)
            if (
                at is not None
                and at > first
                and (not attempt.key.target or is_plain_name(attempt.key.target))
            ):
                yield _try_of(incident, attempt, heard, first, at, known)


def _try_of(
    incident: Incident, attempt: Attempt, heard: Sequence[Heard], first: int, at: int, known: _SeenBefore
) -> SkillTry:
    key, failed, made = attempt.key, heard[first][0], heard[at][0]
    action, target = key.action, key.target
    arguments: dict[str, str] | None = None
    changes: tuple[str, ...] = ()
    repaired = _repair_between(heard, first, at) if action is Action.RETRY else None
    if repaired is not None and not key.kind.repeatable:
        repair = heard[repaired][0]
        explained = templates(repair, failed, known.before(repaired))
        # A call with values from nowhere may have been put into the agent's mouth by what it read.
        if explained.keys() == repair.arguments.keys():
            action, target, arguments = Action.REPAIR, repair.tool, explained
    elif action is Action.SWITCH:
        arguments = templates(made, failed, known.before(at))
    elif action is Action.REVISE:
        changes = changed(failed.arguments, made.arguments)
    told_as = signature(incident.outcome.detail)
    return SkillTry(key.tool, key.kind, told_as, action, target, attempt.success, first, arguments, changes)


def _repair_between(heard: Sequence[Heard], first: int, at: int) -> int | None:
    """Return the place of the one other tool's call that worked between a failure and its repeat, None if not just one."""
    between = [n for n in range(first + 1, at) if heard[n][1].ok and heard[n][0].tool != heard[first][0].tool]
    return between[0] if len(between) == 1 and is_plain_name(heard[between[0]][0].tool) else None


def templates(call: ToolCall, failed: ToolCall, known: Mapping[str, Any]) -> dict[str, str]:
    """Return templates for a call's arguments, of values that the failed call had or a result showed by that name.

    A value from nowhere is left out: it was the agent's own, or a tool's, and no card repeats what a tool said.
    """
    found: dict[str, str] = {}
    for name, value in call.arguments.items():
        if not (isinstance(name, str) and name.isidentifier() and is_plain_name(name)):
            continue
        source = _source(name, value, "call", failed.arguments) or _source(name, value, "known", known)
        if source is None and isinstance(value, str) and " " in value:
            words = [_source("", word, "call", failed.arguments) for word in value.split(" ")]
            source = " ".join(word for word in words if word) if all(words) else None
        if source is not None:
            found[name] = source
    return found


def _source(name: str, value: Any, where: str, values: Mapping[str, Any]) -> str | None:
    """Return a template for a value that stands among others: under the same name, else under the only one that has it."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    same = [k for k, v in values.items() if v == value and str(k).isidentifier() and is_plain_name(str(k))]
    if name in same:
        return f"{{{{ {where}.{name} }}}}"
    telling = where == "call" or len(str(value)) >= _TELLING
    return f"{{{{ {where}.{same[0]} }}}}" if len(same) == 1 and telling else None


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of arguments that differ, in order."""
    names = sorted({*map(str, before), *map(str, after)})
    return tuple(n for n in names if before.get(n) != after.get(n) and is_plain_name(n))


class _SeenBefore:
    """Values that a run had seen before a call."""

    def __init__(self, heard: Sequence[Heard]) -> None:
        self._heard = heard

    def before(self, place: int) -> Mapping[str, Any]:
        facts = Facts()
        for call, outcome, recorded in self._heard[max(0, place - 40) : place]:
            if outcome.ok:
                facts.note(
                    call.tool, call.arguments, None if recorded.result is NO_RESULT else recorded.result
                )
        return facts.known
