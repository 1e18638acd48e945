"""What the classifier makes of a library that it knows nothing of: each is left out in turn.

    python tests/classify/leave_one_out.py FILE...

FILE holds labelled rows. For the rows of each library the weights of the decision are fitted without them, and the
rules whose source names that library are taken away. Printed beside the figures with everything in place.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import fit_decision
import numpy as np

from btm.classify import carriers, deciding, plain, rules
from btm.classify.recorded import classify_row
from btm.classify.scoring import OK, Accuracy, library_of, score

FOLDS = 40
"""Groups of libraries that are left out together: each fit takes a second."""


def main(paths: list[str]) -> None:
    rows = [json.loads(line) for path in paths for line in Path(path).read_text("utf-8").splitlines() if line]
    shown, labels, sources, _ = fit_decision.examples(paths)
    matrix, groups = fit_decision.matrix(shown), np.array([fold_of(s) for s in sources])
    by_fold: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_fold[fold_of(row.get("source"))].append(row)
    known, out = score(rows), Accuracy()
    originals = {name: copy.deepcopy(rules.table(name)) for name in ("decision", "wording", "carriers")}
    for fold, kept_out in sorted(by_fold.items()):
        bias, weights = fit_decision.fit(matrix[groups != fold], labels[groups != fold])
        put_in_place(originals, bias, weights, {library_of(row.get("source")) for row in kept_out})
        for row in kept_out:
            out.add(row, classify_row(row))
    for name, found in (("all in place", known), ("left out", out)):
        print(
            f"{name:14} exact {found.exact_share:.3f}  family {found.family_share:.3f}  passed {found.passed} of "
            f"{found.unflagged}  false errors {len(found.false_errors)} of {found.rows[OK]}  "
            f"calibration error {found.calibration_error:.3f}"
        )


def fold_of(source: object) -> int:
    return sum(ord(c) * (i + 7) for i, c in enumerate(library_of(source))) % FOLDS


def put_in_place(originals: dict[str, Any], bias: float, weights: np.ndarray, libraries: set[str]) -> None:
    """Change the rules in this process: other weights, and no rule that was taken from these libraries alone."""
    decision = rules.table("decision")
    decision["bias"] = bias  # type: ignore[index]
    fitted = dict(zip(fit_decision.names(), weights, strict=True))
    for sign in decision["sign"]:
        sign["weight"] = float(fitted[sign["name"]])
    for name, entries in (("wording", "rule"), ("carriers", "carrier")):
        kept = [e for e in originals[name][entries] if not is_from(e.get("source", ""), libraries)]
        rules.table(name)[entries] = kept  # type: ignore[index]
    for cached in (
        rules.wording, carriers.carriers, carriers._index, carriers._stripped, deciding.signs, deciding.weights, plain._read
    ):  # fmt: skip
        cached.cache_clear()


def is_from(source: str, libraries: set[str]) -> bool:
    named = {re.split(r"[ .:(]", part.strip().lower())[0] for part in source.split(",")}
    return bool(named) and named <= libraries


if __name__ == "__main__":
    main(sys.argv[1:])
