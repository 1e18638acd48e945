"""Plausible wrong values: another one of the same type, or the one that stood there earlier."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from btm.lab.faults.draw import Draw

LIFECYCLES = (
    ("pending", "processed", "shipped", "delivered", "returned"),
    ("pending", "confirmed", "paid", "refunded"),
    ("draft", "open", "closed"),
    ("pending", "cancelled"),
    ("active", "suspended"),
    ("available", "sold_out"),
)
"""States that records pass through, earliest first. A state of several words belongs with its first word."""


def lifecycle(value: object) -> tuple[str, ...] | None:
    """Return the states that ``value`` is one of, or None when it is no known state."""
    if not isinstance(value, str):
        return None
    words = value.strip().lower().split()
    head = words[0] if words else ""
    return next((states for states in LIFECYCLES if head in states), None)


def has_an_earlier_value(value: object) -> bool:
    """Whether a value of this kind changes with time: a state, a number or a switch."""
    return isinstance(value, bool | int | float) or lifecycle(value) is not None


def earlier(value: Any, draw: Draw) -> Any:
    """Return what ``value`` may have been some time ago; unchanged when values like it do not change."""
    states = lifecycle(value)
    if states is not None:
        place = states.index(value.strip().lower().split()[0])
        # Before its first state a record had none; its next one stands for "not up to date" just as well.
        return states[place - 1] if place > 0 else states[1]
    return other(value, draw) if isinstance(value, bool | int | float) else value


def other(value: Any, draw: Draw) -> Any:
    """Return a plausible value of the same type that differs from ``value``; None and empty values stay."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + draw.pick((-3, -2, -1, 1, 2, 3, 10), "step")
    if isinstance(value, float):
        changed = round(value * draw.pick((0.5, 0.9, 1.1, 1.5, 2.0), "factor"), 2)
        return changed if changed != value else value + 1.0
    if isinstance(value, str):
        return _other_text(value, draw)
    if isinstance(value, list):
        return [other(value[0], draw), *value[1:]] if value else value
    if isinstance(value, dict) and value:
        key = draw.pick(sorted(value, key=str), "key")
        return {**value, key: other(value[key], draw)}
    return value


def _other_text(value: str, draw: Draw) -> str:
    states = lifecycle(value)
    if states is not None:
        return draw.pick([s for s in states if not value.lower().startswith(s)], "state")
    digits = [m.start() for m in re.finditer(r"\d", value)]
    if digits:
        # The last digit: identifiers, dates and postcodes stay in their form.
        place = digits[-1]
        return (
            value[:place] + str((int(value[place]) + draw.integer(1, 8, "digit")) % 10) + value[place + 1 :]
        )
    vowels = [m.start() for m in re.finditer(r"[aeiou]", value)]
    if vowels:
        place = draw.pick(vowels, "place")
        letter = draw.pick([v for v in "aeiou" if v != value[place]], "letter")
        return value[:place] + letter + value[place + 1 :]
    return value + value[-1:]


def aged(stamp: Any, now: float, age_s: float) -> Any:
    """Return the time ``age_s`` seconds before ``now``, in the form of ``stamp``.

    Forms: epoch seconds, epoch milliseconds, ISO 8601 date or time.
    """
    then = now - age_s
    if isinstance(stamp, int | float) and not isinstance(stamp, bool):
        value = then * 1000 if stamp > 1e11 else then
        return int(value) if isinstance(stamp, int) else value
    moment = datetime.fromtimestamp(then, UTC).replace(microsecond=0)
    if isinstance(stamp, str) and len(stamp) == len("2026-01-01"):
        return moment.date().isoformat()
    if isinstance(stamp, str) and stamp.endswith("Z"):
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return moment.isoformat()
