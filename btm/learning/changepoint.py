"""Has the chance of a recovery changed at some moment? Then what was seen before says nothing about it any more.

Decay forgets slowly whatever happened; a tool that broke or was mended last night is another tool at once. A key's
latest attempts are split at every place where its chance may have changed, and each split is weighed against none: with
the marginal likelihoods B(1 + k, 1 + f) of the counts on either side, and a chance of 1/100 an attempt that it changes. This
is the posterior of the latest run's beginning of Adams & MacKay, "Bayesian online changepoint detection" (2007), over a
window and for counts that fade. Nothing here reads a clock or keeps anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from btm.learning.evidence import Counts

HAZARD = 0.01
"""Chance, from one attempt to the next, that a recovery's chance changes. As in circuit breakers."""

CERTAIN = 0.95
"""How probable a change has to be before what was seen until then is let go."""


_FEWEST = 12.0
_FEWEST_OF_EACH = 2.0


class WeighedAttempt(NamedTuple):
    """An attempt: whether it worked, and its decayed weight."""

    success: bool
    weight: float


def may_show_change(total: Counts) -> bool:
    """Whether a key's decayed counts are enough for a change to show: few attempts, or all alike, never do."""
    worked, failed = total
    return worked + failed >= _FEWEST and min(worked, failed) >= _FEWEST_OF_EACH


def since_change(latest: Sequence[WeighedAttempt], total: Counts, known: Callable[[], Counts]) -> int | None:
    """Return from which of the latest attempts on a key's chance is another one; None where none is that probable.

    ``latest`` are in the order of time, and part of ``total``, the key's decayed counts. ``known`` returns the
    pseudo-counts that the key believes without evidence of its own; it is asked only where a change is probable. That is
    one only if what came after it would have been foretold no worse without what came before (the prequential log
    loss; A. P. Dawid, "Statistical theory: the prequential approach", JRSS A 147, 1984).
    """
    worked = np.array([a.weight * a.success for a in latest])[::-1].cumsum()[::-1]
    failed = np.array([a.weight * (not a.success) for a in latest])[::-1].cumsum()[::-1]
    before_worked = np.maximum(total.successes - worked, 0.0)
    before_failed = np.maximum(total.failures - failed, 0.0)
    gain = (
        betaln(1.0 + worked, 1.0 + failed)
        + betaln(1.0 + before_worked, 1.0 + before_failed)
        - betaln(1.0 + total.successes, 1.0 + total.failures)
    )
    odds = HAZARD * np.exp(np.minimum(gain, 700.0))
    if not len(latest) or odds.sum() <= CERTAIN / (1.0 - CERTAIN):
        return None
    first = int(gain.argmax())
    after, without = Counts(float(worked[first]), float(failed[first])), known()
    with_before = Counts(without.successes + before_worked[first], without.failures + before_failed[first])
    return first if _foretold(without, after) >= _foretold(with_before, after) else None


def _foretold(known: Counts, after: Counts) -> float:
    """Return the log likelihood of counts, each foretold from ``known`` and from those before it."""
    return float(betaln(known.successes + after.successes, known.failures + after.failures) - betaln(*known))
