"""Measures the weights of ``btm/classify/data/decision.toml``: ridge logistic regression on labelled texts.

    python tests/classify/fit_decision.py FILE... [--write] [--by-source]
    python tests/classify/fit_decision.py FILE... [--bulk FILE...] --new FILE... [--write]

FILE holds labelled rows (see tests/classify/outcomes.jsonl). Unflagged texts count; silent faults do not. A sign keeps
the side that its name promises: a weight of the wrong sign is set to 0. ``--by-source`` prints what a fit says of the
sources that were left out of it, which is the figure that counts.

With ``--new`` it fits how sure answers are told to be, by rows that carry what rules said of them when they were new (see
``fit_opinion.py``), while the second opinion is fitted without their set. Of each set it prints what a fit to the others
tells. Needs scikit-learn.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from btm.classify import carriers, confidence, deciding, plain, rules, texts
from btm.classify.plain import _subject
from btm.model import ErrorKind, Family

DATA = Path(rules.__file__).with_name("data") / "decision.toml"
RIDGE = 0.5

FEWEST = 5
"""Rows that a sign of how sure an answer is must have; what has fewer is as sure as its rule."""

CERTAIN = frozenset({"markup", "type"})
"""Rules of texts so few that their share says nothing of JSON that breaks off, or of a raised exception's class."""

FORM = [
    "no layer", "no layer, no kind", "middling", "very long", "many lines", "two or three lines", "begins with a number",
    "a state told by a read", "a verdict", "names a code", "what a file holds", "its word is the tool's own",
    "a tool that quotes errors", "a tool that brings prose", "a write that does not say so", "a write that says so",
    deciding.WORDED,
    "foreign words of failure",
]  # fmt: skip


def examples(paths: list[str]) -> tuple[list[dict[str, float]], np.ndarray, list[str], list[str]]:
    shown, labels, sources, what = [], [], [], []
    for path in paths:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            value = row["outcome"].get("value")
            if not isinstance(value, str) or row["outcome"].get("is_error"):
                continue
            label = row["label"]
            if label != "ok" and ErrorKind(label).family is Family.SILENT and label != "empty_result":
                continue
            if not value.strip() or value.lstrip()[:1] in "{[<" or not plain.any_in(value):
                continue
            head = value[:2000].strip()
            carried = carriers.strip(head)
            if carried is not None and carried.exit == 0:
                continue
            found = texts.of_carried(carried) if carried else texts.of_words(_subject(head))
            if carried is not None and plain._is_sure(carried, found, row["tool"], head, len(value)):
                continue
            shown.append(
                deciding.evidence(
                    value, len(value), row["tool"], carried, found, writes=row.get("effect") == "write"
                )
            )
            labels.append(label != "ok")
            sources.append(row.get("source", ""))
            what.append(f"{row['tool']}: {value[:150]!r} -> {label}")
    return shown, np.array(labels, float), sources, what


def names() -> list[str]:
    return list(dict.fromkeys([s["name"] for s in rules.table("decision")["sign"]] + FORM))


def matrix(shown: Sequence[confidence.Signs], signs: list[str] | None = None) -> np.ndarray:
    index = {name: i for i, name in enumerate(signs or names())}
    made = np.zeros((len(shown), len(index)))
    for row, found in enumerate(shown):
        for name, much in found.items():
            if name in index:
                made[row, index[name]] = much
    return made


def fit(x: np.ndarray, y: np.ndarray, signs: list[str] | None = None) -> tuple[float, np.ndarray]:
    """Newton's method on the ridge-penalised log-likelihood; the bias is not penalised. Iterated with clamped signs."""
    side = np.array([_side(name) for name in signs or names()])
    free = np.ones(x.shape[1], bool)
    for _ in range(6):
        design = np.c_[np.ones(len(y)), x[:, free]]
        beta = np.zeros(design.shape[1])
        penalty = np.diag([1e-6, *([RIDGE] * int(free.sum()))])
        for _ in range(40):
            p = 1 / (1 + np.exp(-design @ beta))
            step = np.linalg.solve(
                design.T @ (design * (p * (1 - p))[:, None]) + penalty, design.T @ (y - p) - penalty @ beta
            )
            beta += step
            if np.abs(step).max() < 1e-6:
                break
        weights = np.zeros(x.shape[1])
        weights[free] = beta[1:]
        wrong = (weights * side < 0) & free
        if not wrong.any():
            break
        free &= ~wrong
    return float(beta[0]), weights


def _side(name: str) -> int:
    entry = next((s for s in rules.table("decision")["sign"] if s["name"] == name and "says" in s), None)
    return {"error": 1, "result": -1}.get(entry["says"], 0) if entry else 0


def report(p: np.ndarray, y: np.ndarray, what: list[str], *, show: bool = True) -> None:
    for cut in (0.4, 0.5, 0.6, 0.7):
        print(
            f"{cut}: missed {np.mean(p[y == 1] < cut):.3f}  false {np.mean(p[y == 0] >= cut):.3f} of {int((y == 0).sum())}"
        )
    edges = [0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.01]
    error = 0.0
    for low, high in itertools.pairwise(edges):
        inside = (p >= low) & (p < high)
        if inside.any():
            error += inside.sum() / len(p) * abs(p[inside].mean() - y[inside].mean())
            print(f"  said {p[inside].mean():.2f}  was {y[inside].mean():.2f}  n {inside.sum()}")
    print(f"expected calibration error {error:.3f}")
    if show:
        for i in np.argsort(np.where(y == 1, p, 1 - p))[:45]:
            print(f"   {p[i]:.2f} {what[i]}")


def of_confidence(arguments: list[str], new: list[str], *, keep: bool) -> None:
    """Fit how sure answers are told to be; print what a fit to the other sets tells of each set, and how right that is."""
    import fit_opinion

    found = [*fit_opinion.at_first_sight(arguments, new)]
    shown, sets = [signs for _, _, signs in found], np.array([row["set"] for row, *_ in found])
    right = np.array([(outcome.kind or "ok") == row["label"] for row, outcome, _ in found], float)
    by = np.array([next(iter(signs)) for signs in shown])
    seen = Counter(name for signs in shown for name in signs)
    signs = [name for name, n in seen.items() if n >= FEWEST and name not in CERTAIN]
    x, told = matrix(shown, signs), np.zeros(len(right))
    for name in np.unique(sets):
        bias, weights = fit(x[sets != name], right[sets != name], signs)
        told[sets == name] = 1 / (1 + np.exp(-(bias + x[sets == name] @ weights)))
    for title, groups in (("set", sets), ("by", by)):
        for group in np.unique(groups):
            print(f"{group:12} {of_told(told[groups == group], right[groups == group], bins=title == 'set')}")
    print(f"all          {of_told(told, right)}")
    bias, weights = fit(x, right, signs)
    if keep:
        table = "".join(
            f'"{n}" = {w:.2f}\n' for n, w in [("bias", bias), *sorted(zip(signs, weights, strict=True))]
        )
        text = DATA.read_text(encoding="utf-8")
        DATA.write_text(re.sub(r"(?<=\[confidence\]\n)(?:.+\n)*", lambda _: table, text), encoding="utf-8")


def of_told(told: np.ndarray, right: np.ndarray, *, bins: bool = True) -> str:
    """Say how sure rows were told to be, how many were right, how far bins are off, and how far by chance alone."""
    said = f"told {told.mean():.2f} right {right.mean():.2f} of {len(told)}"
    if not bins:
        return said
    draws = np.random.default_rng(0).random((100, len(told))) < told
    chance = np.mean([equal_mass_error(told, draw.astype(float)) for draw in draws])
    return f"{said}  off by {equal_mass_error(told, right):.3f}, by chance {chance:.3f}"


def equal_mass_error(told: np.ndarray, right: np.ndarray, bins: int = 10) -> float:
    """Return the expected calibration error over bins of as many rows each."""
    parts = np.array_split(np.argsort(told, kind="stable"), bins)
    return float(sum(len(p) * abs(told[p].mean() - right[p].mean()) for p in parts if len(p)) / len(told))


def main(arguments: list[str]) -> None:
    if "--new" in arguments:
        cut = arguments.index("--new")
        new = [a for a in arguments[cut + 1 :] if not a.startswith("--")]
        of_confidence(arguments[:cut], new, keep="--write" in arguments)
        return
    paths = [a for a in arguments if not a.startswith("--")]
    shown, y, sources, what = examples(paths)
    x = matrix(shown)
    print(f"{len(y)} texts, {int(y.sum())} of them error texts")
    if "--by-source" in arguments:
        folds = np.array([hash_of(s) % 10 for s in sources])
        p = np.zeros(len(y))
        for fold in range(10):
            bias, weights = fit(x[folds != fold], y[folds != fold])
            p[folds == fold] = 1 / (1 + np.exp(-(bias + x[folds == fold] @ weights)))
        report(p, y, what)
    bias, weights = fit(x, y)
    for name, weight, n in sorted(zip(names(), weights, x.sum(0), strict=True), key=lambda t: t[1]):
        print(f"{weight:6.2f} {int(n):4d} {name}")
    if "--write" in arguments:
        write(bias, dict(zip(names(), weights, strict=True)))


def hash_of(text: str) -> int:
    return sum(ord(c) * (i + 1) for i, c in enumerate(re.sub(r"\W|\d", "", text.lower())[:12]))


def write(bias: float, weights: dict[str, float]) -> None:
    text = DATA.read_text(encoding="utf-8")
    text = re.sub(r"^bias = .*$", f"bias = {bias:.2f}", text, count=1, flags=re.M)
    for name in names():
        entry = re.search(rf'name = "{re.escape(name)}"\n(?:(?!\[\[).*\n)*?weight = (.*)\n', text)
        if entry is None:
            text = text.rstrip() + f'\n\n[[sign]]\nname = "{name}"\nweight = {weights[name]:.2f}\n'
        else:
            text = text[: entry.start(1)] + f"{weights[name]:.2f}" + text[entry.end(1) :]
    DATA.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
