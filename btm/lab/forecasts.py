"""What evidence foretells about a key, by the pooled posterior and by what it is measured against.

* ``global rate``: the share of all attempts that worked, whatever was tried.
* ``raw rate``: the share that worked for this very key; the global rate where the key was never seen. Shares of 0
  and 1 are moved to 0.01 and 0.99, since a single surprise would otherwise cost infinitely much.
* ``flat``: Beta(1, 1) a key, updated by its own evidence alone; 0.5 where the key was never seen.
* ``shipped priors``: pooled, but with the priors btm ships instead of those fitted on the earlier part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from btm.learning.posterior import Evidence, Priors, flat, pooled
from btm.learning.priors import fit_priors
from btm.model import EvidenceKey

RAW_BOUNDS = (0.01, 0.99)
"""What shares of 0 and 1 are moved to, where a raw rate is a forecast."""


class Method(StrEnum):
    """The forecasters."""

    POOLED = "pooled"
    SHIPPED = "shipped priors"
    GLOBAL = "global rate"
    RAW = "raw rate"
    FLAT = "flat"


BASELINES = (Method.GLOBAL, Method.RAW, Method.FLAT)
"""What the pooled posterior has to be at least as good as."""


Forecast = Callable[[EvidenceKey], float]


def forecasters(evidence: Evidence) -> Mapping[Method, Forecast]:
    """Return what each method foretells for a key after ``evidence``."""
    fitted, shipped = fit_priors(evidence), Priors()
    rows = list(evidence.rows())
    worked, total = sum(s for _, s, _ in rows), sum(s + f for _, s, f in rows)
    low, high = RAW_BOUNDS
    everywhere = min(max(worked / total, low), high) if total else 0.5

    def raw(key: EvidenceKey) -> float:
        own = evidence.counts(key)
        return min(max(own.successes / own.total, low), high) if own.total else everywhere

    return {
        Method.POOLED: lambda key: pooled(evidence, key, fitted).mean,
        Method.SHIPPED: lambda key: pooled(evidence, key, shipped).mean,
        Method.GLOBAL: lambda _: everywhere,
        Method.RAW: raw,
        Method.FLAT: lambda key: flat(evidence, key, shipped).mean,
    }
