"""Merging: evidence is a plain sum, so databases merge by addition."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from btm.errors import StoreError
from btm.learning.posterior import Decay, Evidence, Priors
from btm.learning.priors import fit_priors
from btm.store import EvidenceRow, FittedConversation, ShapeRow, meta
from btm.store.sql import SqlStore


@dataclass(frozen=True, slots=True)
class Merged:
    """What several databases know together. The sums are under the landmark of ``decay``, the latest of theirs.

    ``priors`` are fitted to the merged evidence where any of the databases had fitted ones, else None.
    """

    decay: Decay
    evidence: tuple[EvidenceRow, ...]
    shapes: tuple[ShapeRow, ...]
    fitted: tuple[FittedConversation, ...]
    priors: Priors | None


def merged(sources: Sequence[SqlStore], now: float | None = None) -> Merged:
    """Add databases up; nothing is written. Their order does not matter.

    ``now`` (epoch seconds) is when priors are fitted for; without it, the latest landmark. What was dated later than
    ``now`` counts as made then (see :mod:`btm.store.ahead`).

    Raises StoreError when they forget at different paces (sums under different half-lives cannot be added), or when
    two of them learned from the same conversation of a log (it would count twice).
    """
    first = sources[0]
    decay = Decay(first.decay.half_life_s, max(source.decay.landmark for source in sources))
    rows: list[EvidenceRow] = []
    shapes: list[ShapeRow] = []
    fitted: dict[str, tuple[FittedConversation, SqlStore]] = {}
    any_fitted = False
    for source in sources:
        snapshot = source.load(math.inf if now is None else now)
        if snapshot.decay.half_life_s != decay.half_life_s:
            raise StoreError(
                f"{source.where} {meta.pace(snapshot.decay.half_life_s)} and "
                f"{first.where} {meta.pace(decay.half_life_s)}; only like databases can be merged"
            )
        # A weight 2^((t - L)/h) under the source's landmark is 2^((t - L')/h) under the merged one.
        factor = decay.weight(snapshot.decay.landmark)
        rows += ((key, worked * factor, failed * factor) for key, worked, failed in snapshot.evidence)
        shapes += snapshot.shapes
        any_fitted = any_fitted or snapshot.priors != Priors()
        _add_fitted(fitted, source)
    evidence = Evidence(rows)
    added = tuple(evidence.rows())
    evidence.rescale(
        decay.scale(decay.landmark if now is None else now)
    )  # pooling is fitted to what the evidence weighs now
    return Merged(
        decay,
        added,
        tuple(shapes),
        tuple(found for found, _ in fitted.values()),
        fit_priors(evidence) if any_fitted else None,
    )


def _add_fitted(fitted: dict[str, tuple[FittedConversation, SqlStore]], source: SqlStore) -> None:
    mine = source.fitted()
    shared = [found for found in mine if found.digest in fitted]
    if shared:
        other = fitted[shared[0].digest][1]
        raise StoreError(
            f"{other.where} and {source.where} both learned from {len(shared):,} of the same conversations, such as "
            f"{shared[0].source}; merged, they would count twice: fit those logs again into one database"
        )
    fitted.update((found.digest, (found, source)) for found in mine)


@contextmanager
def made_whole(output: str) -> Iterator[str]:
    """Give the place at which to make a new SQLite file that then stands at ``output`` whole, or not at all.

    A URL is given back as it is. Raises StoreError when there is a file by now.
    """
    if "://" in output:
        yield output
        return
    made = f"{output}.making-{secrets.token_hex(4)}"
    try:
        yield made
        for ending in (".key", ""):  # the key first: what is there is then complete
            with suppress(FileNotFoundError):
                _put(f"{made}{ending}", f"{output}{ending}")
    finally:
        for ending in ("", "-wal", "-shm", ".key"):
            with suppress(OSError):
                os.unlink(f"{made}{ending}")


def _put(made: str, output: str) -> None:
    try:
        os.link(made, output)  # never over another
    except FileExistsError as error:
        raise StoreError(f"{output} exists; name a new file") from error
    except FileNotFoundError:
        raise
    except OSError:  # a file system without links
        os.rename(made, output)
