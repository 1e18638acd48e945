"""How well labelled outcomes are named: what the tests over such sets share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from btm.classify.rows import classify_row
from btm.model import ErrorKind, Outcome

OK = "ok"


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def family(label: str) -> str:
    return OK if label == OK else str(ErrorKind(label).family)


@dataclass
class Accuracy:
    """Counts by label, and what went wrong."""

    rows: Counter[str] = field(default_factory=Counter)
    exact: Counter[str] = field(default_factory=Counter)
    family: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    false_errors: list[str] = field(default_factory=list)

    def add(self, row: Mapping[str, Any], outcome: Outcome) -> None:
        label, got = row["label"], str(outcome.kind) if outcome.kind else OK
        self.rows[label] += 1
        self.exact[label] += got == label
        self.family[label] += family(got) == family(label)
        if got != label:
            self.wrong.append(f"{row['id']}: {label} was named {got} by {outcome.rule}")
        if label == OK and got != OK:
            self.false_errors.append(f"{row['id']}: {outcome.rule}")

    @property
    def exact_share(self) -> float:
        return sum(self.exact.values()) / sum(self.rows.values())

    @property
    def family_share(self) -> float:
        return sum(self.family.values()) / sum(self.rows.values())

    def __str__(self) -> str:
        lines = [f"{'label':22}{'rows':>6}{'exact':>8}{'family':>8}"]
        lines += [
            f"{k:22}{n:6}{self.exact[k] / n:8.3f}{self.family[k] / n:8.3f}"
            for k, n in sorted(self.rows.items())
        ]
        lines.append(f"{'all':22}{sum(self.rows.values()):6}{self.exact_share:8.3f}{self.family_share:8.3f}")
        return "\n".join(lines + self.wrong)


def measure(rows: list[dict[str, Any]]) -> Accuracy:
    accuracy = Accuracy()
    for row in rows:
        accuracy.add(row, classify_row(row))
    return accuracy
