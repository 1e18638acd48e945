"""Variants of failure trajectories: other names, values, dates and error texts, and the failure's pattern kept.

A trajectory is rewritten as a whole: one word, id or date becomes the same other one wherever it stands, so that what
one call gave is still what the next one takes. A variant is kept only if it reads back as its parent does: each call
classified alike without its annotation, and each decision judged alike.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import orjson

from btm.fallback import FallbackMap
from btm.lab.faults.draw import Draw
from btm.lab.faults.errors import make_error
from btm.lab.faults.kinds import RAISED
from btm.logs.conversation import Skipped
from btm.logs.listening import Listener
from btm.logs.readers.trajectories import NAME as TRAJECTORIES
from btm.logs.reading import read_conversations
from btm.logs.retelling import trajectory_of
from btm.model import ErrorKind

DOMAINS: Mapping[str, Mapping[str, str]] = {
    "clinic": {
        "order": "appointment", "item": "treatment", "product": "procedure", "user": "patient", "customer": "patient",
        "reservation": "admission", "flight": "consultation", "passenger": "visitor", "booking": "referral",
        "airport": "ward", "cabin": "room", "baggage": "equipment", "shipping": "transfer", "store": "practice",
    },
    "bank": {
        "order": "transfer", "item": "position", "product": "fund", "user": "holder", "customer": "holder",
        "reservation": "standing", "flight": "wire", "passenger": "payee", "booking": "deposit",
        "airport": "branch", "cabin": "tier", "baggage": "collateral", "shipping": "settlement", "store": "desk",
    },
    "travel": {
        "order": "trip", "item": "leg", "product": "tour", "user": "guest", "customer": "guest",
        "reservation": "stay", "flight": "cruise", "passenger": "companion", "booking": "voucher",
        "airport": "harbour", "cabin": "deck", "baggage": "trunk", "shipping": "pickup", "store": "agency",
    },
}  # fmt: skip
"""What nouns of shops and airlines become, by domain."""

_TRIES = 4
_START = (
    r"(?:(?<=\\[nrtbf])|(?<![\\\w.+-]))"  # texts hold JSON, in which a letter after a backslash is no letter
)
_VALUES = re.compile(
    rf"{_START}(?:(?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)|(?P<day>(?:19|20)\d\d-[01]\d-[0-3]\d)(?!\d)"
    r"|(?P<id>(?=(?:[A-Za-z_-]*\d){3})(?=[\w-]*[A-Za-z])\w+(?:-\w+)*|(?=[A-Z]*\d)[A-Z\d]{5,}\b|\d{5,}\b))"
)
"""E-mail addresses, dates, and ids: letters with three digits, capitals with one, or long numbers."""
_NO_ID = re.compile(
    r"(?i)(?:http|utf|sha|iso|rfc|base|error)[-_]?\d+|\d+(?:s|ms|min|h|d|kb|mb|gb|px)|\d+T\w*"
)
_ALIKE = ("aeiou", "bcdfghjklmnpqrstvwxyz", "123456789")
_NAMED = ("failure_subtype", "btm_kind", "btm_ambiguous")
"""What names a failure: without these a call's answer has to tell, though it is known whether it failed."""
_AS_IT_IS = ("failure_type", "intent_source", *_NAMED)
_LONG_NUMBER = 10_000
_DATED, _DAY_S = 10**8, 86_400  # from there on to a hundred times that a number is a time in seconds


@dataclass
class TrajectoryVariants:
    """The variants of some trajectories, as records. ``thrown`` counts those that did not read back as their parents."""

    records: list[dict[str, Any]] = field(default_factory=list)
    thrown: int = 0


def variants(parents: Iterable[Mapping[str, Any]], number: int, *, seed: int = 0) -> TrajectoryVariants:
    """Return ``number`` variants of each trajectory (a record of ``btm export trajectories``), or as many as hold.

    The same seed gives the same variants.
    """
    known = list(parents)
    wanted, made = _read_back(known), TrajectoryVariants()
    left = [(parent, n) for parent in range(len(known)) for n in range(number)]
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for attempt in range(_TRIES):
        if not left:
            break
        tried = [_variant(known[parent], n, f"{seed}/{attempt}/{parent}/{n}") for parent, n in left]
        read = _read_back(tried)
        good = [read[i] is not None and read[i] == wanted[parent] for i, (parent, _) in enumerate(left)]
        found |= {key: record for key, record, holds in zip(left, tried, good, strict=True) if holds}
        left = [key for key, holds in zip(left, good, strict=True) if not holds]
    made.records, made.thrown = [found[key] for key in sorted(found)], len(left)
    return made


def _variant(parent: Mapping[str, Any], number: int, seed: str) -> dict[str, Any]:
    rng = random.Random(seed)  # noqa: S311 - nothing secret is drawn
    domain = rng.choice(sorted(DOMAINS))
    words, fresh = _Words(DOMAINS[domain]), _Values(parent, rng)
    record: dict[str, Any] = _mapped(_reworded(parent, rng), fresh, words)
    name = str(parent.get("trajectory_id", ""))
    record["trajectory_id"] = f"{fresh(name)}~{number}"
    for step in record[
        "steps"
    ]:  # another conversation's calls: with its parent's ids it would be taken for the parent
        if step.get("call_id"):
            step["call_id"] = f"{step['call_id']}~{number}"
    record["metadata"] = {
        **record.get("metadata", {}), "source": "variant", "parent": name, "domain": domain, "human_verified": False
    }  # fmt: skip
    return record


def _mapped(value: Any, fresh: _Values, words: _Words) -> Any:
    """Return a JSON value with each text, each long whole number and each time in it changed."""
    match value:
        case str():
            return words(fresh(value))
        case Mapping():
            return {
                words(fresh(key)): item if key in _AS_IT_IS else _mapped(item, fresh, words)
                for key, item in value.items()
            }
        case list():
            return [_mapped(item, fresh, words) for item in value]
        case int() | float() if _DATED <= value < 100 * _DATED:
            return value + fresh.days * _DAY_S
        case int() if value >= _LONG_NUMBER:
            return int(fresh(str(value)))
        case _:
            return value


def _reworded(parent: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a trajectory in which half of the errors that come as bare texts are worded as other services would."""
    steps = []
    for step in parent["steps"]:
        kind, response = step.get("btm_kind"), step.get("response") or {}
        bare = [name for name in ("body", "message") if isinstance(response.get(name), str)]
        if (
            kind in RAISED
            and len(bare) == 1
            and response.get("status_code") in (None, 200)
            and rng.random() < 0.5
        ):
            text = str(make_error(ErrorKind(kind), step["tool_name"], Draw((rng.random(),))))
            step = {**step, "response": {**response, bare[0]: text}, "failure_detail": text}  # noqa: PLW2901
        steps.append(step)
    return {**parent, "steps": steps}


class _Values:
    """Puts fresh values of the same form in the place of ids, addresses and dates; one value has one successor."""

    def __init__(self, parent: Mapping[str, Any], rng: random.Random) -> None:
        self._rng = rng
        self._taken = {found[0] for found in _VALUES.finditer(json.dumps(parent))}
        self._fresh: dict[str, str] = {}
        self.days = rng.choice((-1, 1)) * rng.randint(20, 700)

    def __call__(self, text: str) -> str:
        return _VALUES.sub(self._successor, text)

    def _successor(self, found: re.Match[str]) -> str:
        old = found[0]
        if found.lastgroup == "day":
            with suppress(ValueError, OverflowError):
                return str(date.fromisoformat(old) + timedelta(self.days))
        if _NO_ID.fullmatch(old):
            return old
        while (new := self._fresh.get(old)) is None:
            drawn = "".join(map(self._letter, old))
            if drawn not in self._taken:
                self._taken.add(drawn)
                self._fresh[old] = drawn
        return new

    def _letter(self, old: str) -> str:
        for alike in _ALIKE:
            if old.lower() in alike:
                new = self._rng.choice(alike)
                return new.upper() if old.isupper() else new
        return str(self._rng.randint(0, 9)) if old == "0" else old


class _Words:
    """Puts a domain's nouns in the place of others, in sentences and in names such as ``get_order`` and ``getOrder``."""

    def __init__(self, nouns: Mapping[str, str]) -> None:
        self._nouns = nouns
        any_of = "|".join(nouns)
        self._found = re.compile(
            rf"(?<![A-Za-z])(?:{any_of})(?=s?(?![a-z]))|(?<=[a-z])(?:{any_of.title()})(?=s?(?![a-z]))"
            rf"|(?<![A-Za-z])(?:{any_of.title()})(?=s?(?![a-z]))"
        )

    def __call__(self, text: str) -> str:
        return self._found.sub(self._other, text)

    def _other(self, found: re.Match[str]) -> str:
        new = self._nouns[found[0].lower()]
        return new.title() if found[0][0].isupper() else new


def _read_back(records: Sequence[Mapping[str, Any]]) -> list[object]:
    """Return what each record comes to without its annotations: the kinds of its calls, the decisions and their labels."""
    listener, nothing = Listener(FallbackMap.empty(), now=0.0), FallbackMap.empty()
    found: list[object] = [None] * len(records)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "records.jsonl")
        with path.open("wb") as file:
            file.writelines(_line(number, record) for number, record in enumerate(records))
        for conversation in read_conversations([path], format=TRAJECTORIES):
            if isinstance(conversation, Skipped):
                continue
            told = listener.listen(conversation)
            steps = trajectory_of(conversation, told, nothing).steps
            found[int(conversation.conversation_id)] = (
                [outcome.kind for _, outcome in told.outcomes],
                [(s.decision_correctness, (s.agent_decision or {}).get("action")) for s in steps],
            )
    return found


def _line(number: int, record: Mapping[str, Any]) -> bytes:
    steps = [{name: step[name] for name in step if name not in _NAMED} for step in record["steps"]]
    bare = {**record, "trajectory_id": str(number), "steps": steps}
    return orjson.dumps(bare, option=orjson.OPT_APPEND_NEWLINE)
