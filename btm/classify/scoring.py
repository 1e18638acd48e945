"""How well labelled outcomes are named: overall, by kind and by library, and whether confidences are what they say."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from btm.classify.recorded import classify_row
from btm.model import ErrorKind, Outcome

OK = "ok"
_EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.01)


def family(label: str) -> str:
    """Return the family of a label: a kind's, or ``ok``."""
    return OK if label == OK else str(ErrorKind(label).family)


@dataclass
class Accuracy:
    """Counts by label, what went wrong, and how sure the classifier was where it was right and where it was wrong.

    ``passed`` of ``unflagged`` error texts (results without a framework's flag) were taken for successes,
    ``suspected`` of these with a suspicion. ``false_errors`` are successes that were called errors.
    """

    rows: Counter[str] = field(default_factory=Counter)
    exact: Counter[str] = field(default_factory=Counter)
    family: Counter[str] = field(default_factory=Counter)
    unflagged: int = 0
    passed: int = 0
    suspected: int = 0
    wrong: list[str] = field(default_factory=list)
    false_errors: list[str] = field(default_factory=list)
    confidences: list[tuple[float, bool]] = field(default_factory=list)

    def add(self, row: Mapping[str, Any], outcome: Outcome) -> None:
        """Take in what a row, labelled with a kind or ``ok``, was named."""
        label, got = row["label"], str(outcome.kind) if outcome.kind else OK
        self.rows[label] += 1
        self.exact[label] += got == label
        self.family[label] += family(got) == family(label)
        self.confidences.append((outcome.confidence, got == label))
        if got != label:
            self.wrong.append(f"{row.get('id')}: {label} was named {got} by {outcome.rule}")
        if label == OK and got != OK:
            self.false_errors.append(f"{row.get('id')}: {outcome.rule}")
        recorded = row["outcome"]
        if label != OK and recorded["form"] == "result" and not recorded.get("is_error"):
            self.unflagged += 1
            self.passed += got == OK
            self.suspected += got == OK and outcome.suspected is not None

    @property
    def total(self) -> int:
        """How many rows were taken in."""
        return self.rows.total()

    @property
    def exact_share(self) -> float:
        """The share of rows named as labelled."""
        return self.exact.total() / max(1, self.total)

    @property
    def family_share(self) -> float:
        """The share of rows whose family is right."""
        return self.family.total() / max(1, self.total)

    def reliability(self) -> list[tuple[float, float, int]]:
        """Return, for each range of confidence, its mean, the share that was right, and how many rows are in it."""
        found = []
        for low, high in pairwise(_EDGES):
            inside = [(sure, right) for sure, right in self.confidences if low <= sure < high]
            if inside:
                n = len(inside)
                found.append((sum(s for s, _ in inside) / n, sum(r for _, r in inside) / n, n))
        return found

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: how far confidences are from the share that is right, weighted by rows.

        Guo, Pleiss, Sun and Weinberger, "On Calibration of Modern Neural Networks" (2017), equation 3.
        """
        return sum(n * abs(sure - right) for sure, right, n in self.reliability()) / max(1, self.total)

    def __str__(self) -> str:
        """Return a table by label, then what went wrong."""
        lines = [f"{'label':22}{'rows':>6}{'exact':>8}{'family':>8}"]
        lines += [
            f"{k:22}{n:6}{self.exact[k] / n:8.3f}{self.family[k] / n:8.3f}"
            for k, n in sorted(self.rows.items())
        ]
        lines.append(f"{'all':22}{self.total:6}{self.exact_share:8.3f}{self.family_share:8.3f}")
        return "\n".join(lines + self.wrong)


def library_of(source: object) -> str:
    """Return the library that a row's ``source`` names: its first word, or the second after a word such as "provoked"."""
    words = re.findall(r"[\w.+-]+", str(source or "unknown").lower())
    while len(words) > 1 and words[0] in _NO_LIBRARY:
        words = words[1:]
    return words[0].split(".")[0] if words else "unknown"


_NO_LIBRARY = frozenset({"provoked", "cli", "py", "real", "the", "rebuilt", "own", "written", "documented"})


def score(rows: Iterable[Mapping[str, Any]]) -> Accuracy:
    """Return how well labelled rows (see `btm.classify.recorded`) are named. ValueError: one has no outcome."""
    found = Accuracy()
    for row in rows:
        found.add(row, classify_row(row))
    return found


def by_library(rows: Iterable[Mapping[str, Any]]) -> dict[str, Accuracy]:
    """Return a score for each library that rows come from, those with the most rows first."""
    found: defaultdict[str, Accuracy] = defaultdict(Accuracy)
    for row in rows:
        found[library_of(row.get("source"))].add(row, classify_row(row))
    return dict(sorted(found.items(), key=lambda item: -item[1].total))
