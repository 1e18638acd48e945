"""Merging: evidence is a plain sum, so two databases merge by addition."""

from __future__ import annotations

from collections.abc import Sequence

from btm.errors import StoreError
from btm.store.sql import SqlStore


def merge_into(target: SqlStore, sources: Sequence[SqlStore]) -> int:
    """Add the evidence, result shapes and fitted logs of ``sources`` to ``target``; return how many keys it then has.

    Sums under another landmark are rescaled to the target's, which changes no belief. Raises StoreError when a
    source forgets at another pace: sums under different half-lives cannot be added.
    """
    for source in sources:
        if source.decay.half_life_s != target.decay.half_life_s:
            raise StoreError(
                f"{source.where} keeps evidence with a half-life of {source.decay.half_life_s} s and "
                f"{target.where} with {target.decay.half_life_s} s; only like databases can be merged"
            )
    for source in sources:
        # A weight 2^((t - L)/h) under the source's landmark is 2^((t - L')/h) under the target's.
        factor = target.decay.weight(source.decay.landmark)
        target.add_learned(
            [(key, s * factor, f * factor) for key, s, f in source.evidence()],
            shapes=source.shapes(),
            fitted=source.fitted(),
        )
    return sum(1 for _ in target.evidence())
