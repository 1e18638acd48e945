"""Evidence of the future: attempts that were dated by a clock that was ahead of the reader's.

A weight grows by half-lives, so one process whose clock is a year ahead would outweigh all others until that date.
Sums are kept as they were written, for who is right cannot be told; a reader counts what lies ahead of its own clock as
made now. Evidence of the future so weighs what evidence of now does, and a clock that was set back inflates nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from btm.learning.posterior import Decay
from btm.model import EvidenceKey
from btm.store import SKEW_S, EvidenceRow
from btm.store import schema as t
from btm.store.rows import KEY_COLUMNS, key_of

_log = logging.getLogger("btm")

_NOTHING = 0.01  # half-lives ahead: what is read as of then fades by less than a hundredth
_FAR = 200  # half-lives between now and a landmark in the future, beyond which sums under it say nothing about now
_PRECISE = 1e-9  # of a sum: what is left below that, when weights are taken out of it, is rounding


def as_of(
    connection: Connection, where: str, decay: Decay, rows: list[EvidenceRow], now: float
) -> tuple[Decay, list[EvidenceRow], float]:
    """Return the evidence with what lies ahead of ``now`` counted as made then, how it decays, and its latest time.

    Warns when something lies further ahead than clocks differ.
    """
    # No attempt is later than its call, and the latest call is found at once.
    latest = float(connection.execute(select(func.max(t.calls.c.ended_at))).scalar() or 0.0)
    if latest > now:
        latest = float(connection.execute(select(func.max(t.attempts.c.at))).scalar() or 0.0)
    if latest - now <= min(SKEW_S, _NOTHING * decay.half_life_s):
        return decay, rows, latest
    if latest - now > SKEW_S:
        _log.warning(
            "%s holds attempts of up to %.0f s after this clock's time: a clock is wrong, or was; they count as made now",
            where,
            latest - now,
        )
    table = t.attempts.c
    found = connection.execute(select(*(table[name] for name in KEY_COLUMNS), table.success, table.at)).all()
    if (decay.landmark - now) / decay.half_life_s <= _FAR:
        return decay, _without_excess(rows, found, decay, now), now
    # The landmark itself was moved ahead. Attempts can be counted anew; of other evidence the sums are all there is.
    here = Decay(decay.half_life_s, now)
    scale = decay.scale(now)
    counted = _counted(found, here, now)
    rest = [(key, s * scale, f * scale) for key, s, f in rows if key not in counted]
    return here, [*rest, *((key, s, f) for key, (s, f) in counted.items())], now


def _without_excess(
    rows: list[EvidenceRow], found: Iterable[Any], decay: Decay, now: float
) -> list[EvidenceRow]:
    """Return the sums, with the weight of a moment taken for each attempt that lies ahead of it."""
    ahead = {tuple(row[:5]) for row in found if row.at > now}
    concerned = [row for row in found if tuple(row[:5]) in ahead]
    counted = _counted(concerned, decay, now)
    weight = decay.weight(now)
    excess: dict[EvidenceKey, list[float]] = {key: [0.0, 0.0] for key in counted}
    for row in concerned:
        if row.at > now:
            excess[key_of(row)][0 if row.success else 1] += decay.weight(row.at) - weight
    return [
        (key, *_part((worked, failed), excess[key], counted[key]))
        if key in counted
        else (key, worked, failed)
        for key, worked, failed in rows
    ]


def _part(sums: Sequence[float], excess: Sequence[float], counted: Sequence[float]) -> tuple[float, float]:
    """Return a key's sums without the excess: besides attempts they can hold what was fitted, and hold no less."""
    worked, failed = (
        max(whole - more, least) if whole - more > _PRECISE * whole else least
        for whole, more, least in zip(sums, excess, counted, strict=True)
    )
    return worked, failed


def _counted(found: Iterable[Any], decay: Decay, now: float) -> dict[EvidenceKey, tuple[float, float]]:
    """Return what attempts come to when none is later than ``now``."""
    counted: dict[EvidenceKey, tuple[float, float]] = {}
    for row in found:
        key = key_of(row)
        weight = decay.weight(min(row.at, now))
        worked, failed = counted.get(key, (0.0, 0.0))
        counted[key] = (worked + weight, failed) if row.success else (worked, failed + weight)
    return counted
