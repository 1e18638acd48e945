"""Fits the weights of ``btm/classify/data/opinion.json``: two linear models, stacked on what the rules say.

    python tests/classify/fit_opinion.py FILE... [--bulk FILE...] [--write]

FILE is a set of labelled rows (see tests/classify/outcomes.jsonl). A row may carry what the rules said when it was new:
``first`` (``kind`` or ``ok``, ``rule``, ``confidence``, ``status``, ``suspected``, ``detail``) and ``flagged``, the same had
a framework flagged it; otherwise today's rules are asked, who know it, and it counts less. ``--bulk`` names sets of
successes only. Each set is left out in turn and named by what the others teach; that is printed. Needs scikit-learn.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import orjson
import written_answers
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from btm.classify import bodies, confidence, deciding, engine, explicit, guessing, opinion, plain, silent
from btm.classify.finding import Finding
from btm.classify.recorded import classify_row
from btm.model import Effect, ErrorKind, Family, Outcome, ToolCall

DATA = Path(opinion.__file__).with_name("data") / "opinion.json"
KNOWN, BULK, WRITTEN = 1.0, 0.3, 0.3
"""How much a row counts that the rules know, and a success of a bulk."""
LEAST = {"failed": 0.15, "kinds": 0.25}
"""Weights below are left out."""


def said(row: dict[str, Any], name: str) -> dict[str, Any]:
    """Return what the rules said of a row when it was new, else what they say now."""
    if name in row:
        return row[name]
    if name == "flagged" and row["outcome"]["form"] == "result":
        row = {**row, "outcome": {**row["outcome"], "is_error": True}}
    with (
        patch.object(opinion, "has_one", lambda _: False),
        patch.object(opinion, "reconsidered", lambda f, *_: (f, None)),
        patch.object(confidence, "of_failure", lambda f, *_, **__: guessing.calibrated(f.confidence)),
        patch.object(confidence, "of_doubt", lambda chance: 1.0 - chance),
    ):
        found = classify_row(row)
    return {
        "kind": str(found.kind or "ok"), "rule": found.rule, "confidence": found.confidence, "status": found.status_code,
        "suspected": found.suspected and str(found.suspected), "detail": found.detail,
    }  # fmt: skip


def call_of(row: dict[str, Any]) -> ToolCall:
    return ToolCall(
        row["tool"], row.get("arguments") or {}, Effect.WRITE if row.get("effect") == "write" else Effect.READ
    )


def raw(sure: float) -> float:
    """Return how sure a rule is that is right in this share of findings."""
    return min((n / 100 for n in range(101)), key=lambda n: abs(guessing.calibrated(n) - sure))


def is_silent(label: str) -> bool:
    return label != "ok" and ErrorKind(label).family is Family.SILENT


def ruled(first: dict[str, Any]) -> Finding | None:
    """Return what the rules found, or suspect."""
    rule, status, detail = first["rule"].removeprefix("suspected:"), first["status"], first["detail"]
    if first["suspected"]:
        kind, chance = ErrorKind(first["suspected"]), 1.0 - first["confidence"]
        return Finding(kind, rule, "", chance, status, detail=detail, doubtful=True)
    if first["kind"] != "ok":
        return Finding(ErrorKind(first["kind"]), rule, "", raw(first["confidence"]), status, detail=detail)
    return None


def answer_signs(row: dict[str, Any], first: dict[str, Any]) -> dict[str, float]:
    value = row["outcome"].get("value")
    parsed, text = opinion_input(value, call_of(row))
    return opinion.of_answer(parsed, text, call_of(row), ruled(first))


def opinion_input(value: Any, call: ToolCall) -> tuple[Any, str | None]:
    parsed, _ = explicit.read(value, call, None)
    return parsed, parsed if isinstance(parsed, str) else None


def failure_signs(row: dict[str, Any], flagged: dict[str, Any]) -> dict[str, float]:
    kind = "unknown" if flagged["kind"] == "ok" else flagged["kind"]
    found = Finding(ErrorKind(kind), flagged["rule"], "", 1.0, flagged["status"])
    text = flagged["detail"] or str(row["outcome"].get("value") or row["outcome"].get("message") or "")
    shown = opinion.of_failure(found, text, flagged["confidence"], call_of(row))
    much, said = opinion.spelled(text)
    spelling = Counter(f"g {piece}" for word in said for piece in opinion.pieces_of(word))
    return shown | {piece: much * times for piece, times in spelling.items()}


def is_unflagged(row: dict[str, Any]) -> bool:
    return row["outcome"]["form"] == "result" and not row["outcome"].get("is_error")


class Head:
    """One of the two models: its rows, their labels and sets."""

    def __init__(
        self, signs: list[dict[str, float]], labels: list[str], sets: list[str], weights: list[float]
    ) -> None:
        self.vectors = DictVectorizer()
        table = self.vectors.fit_transform(signs)
        rows_with = np.asarray((table != 0).sum(0)).ravel()
        pieces = np.array([name.startswith("g ") for name in self.vectors.get_feature_names_out()])
        self.kept = np.flatnonzero(rows_with >= np.where(pieces, 15, 3))
        self.table, self.labels = table[:, self.kept], np.array(labels)
        self.sets, self.weights = np.array(sets), np.array(weights)

    def fit(self, rows: np.ndarray) -> LogisticRegression:
        model = LogisticRegression(C=1, max_iter=400, tol=1e-3)
        return model.fit(self.table[rows], self.labels[rows], sample_weight=self.weights[rows])

    def written(self, least: float, without: str = "") -> dict[str, dict[str, str]]:
        model = self.fit(self.sets != without)
        names = self.vectors.get_feature_names_out()[self.kept]
        classes = model.classes_ if len(model.coef_) > 1 else ["failed"]
        found = {}
        for label, weights, bias in zip(classes, model.coef_, model.intercept_, strict=True):
            groups: dict[str, list[str]] = {f"{bias:.2f}": [""]}
            for name, weight in zip(names, weights, strict=True):
                if abs(weight) >= (least / 3 if name.startswith("g ") else least):
                    groups.setdefault(f"{weight:.1f}", []).append(name)
            found[str(label)] = {
                w: "|".join(sorted(n)) for w, n in sorted(groups.items(), key=lambda g: -float(g[0]))
            }
        return found


def read(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".txt":  # new to the rules, and they are not mended by them
        yield from (
            row | {name: said(row, name) for name in ("first", "flagged")} | {"written": True}
            for row in written_answers.rows(path)
        )
    else:
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def rows_of(arguments: list[str]) -> list[dict[str, Any]]:
    """Return the rows of files, those after ``--bulk`` as a bulk."""
    bulk = arguments[arguments.index("--bulk") + 1 :] if "--bulk" in arguments else []
    return [
        dict(row, set=Path(path).stem, bulk=path in bulk)
        for path in arguments
        if not path.startswith("--")
        for row in read(Path(path))
    ]


def heads(rows: list[dict[str, Any]]) -> tuple[Head, Head, list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the two models of rows, of whether and of what failed, and the rows of each."""
    failing = [
        r for r in rows if r["label"] != "ok" and not (is_silent(r["label"]) and r["label"] != "empty_result")
    ]
    kinds = Head(
        [failure_signs(r, said(r, "flagged")) for r in failing], [r["label"] for r in failing],
        [r["set"] for r in failing], [WRITTEN if "written" in r else KNOWN for r in failing],
    )  # fmt: skip
    plain = [
        r
        for r in rows
        if r["outcome"]["form"] == "result" and not r["outcome"].get("is_error") and not is_silent(r["label"])
    ]
    failed = Head(
        [answer_signs(r, said(r, "first")) for r in plain], [str(int(r["label"] != "ok")) for r in plain],
        [r["set"] for r in plain], [BULK if r["bulk"] else 1.0 if "first" in r else KNOWN for r in plain],
    )  # fmt: skip
    return failed, kinds, plain, failing


def weights_of(failed: Head, kinds: Head, without: str = "") -> dict[str, Any]:
    """Return both models' weights, fitted without a set."""
    return {
        "failed": failed.written(LEAST["failed"], without)["failed"],
        "kinds": kinds.written(LEAST["kinds"], without),
    }


def at_first_sight(
    arguments: list[str], new: list[str]
) -> Iterator[tuple[dict[str, Any], Outcome, confidence.Signs]]:
    """Yield each row of new files, what it is named and by which signs that is told to be sure.

    Rules say what they said of it when it was new, and the second opinion is fitted without its set.
    """
    rows = rows_of([*arguments, *new])
    failed, kinds, *_ = heads(rows)
    for path in new:
        found = weights_of(failed, kinds, Path(path).stem)
        known = opinion._by_sign({"failed": found["failed"]}), opinion._by_sign(found["kinds"])
        opinion._by_names.cache_clear()
        with patch.object(opinion, "_weights", lambda known=known: known):
            for row in rows:
                if row["set"] == Path(path).stem:
                    yield row, *named(row)


def named(row: dict[str, Any]) -> tuple[Outcome, confidence.Signs]:
    """Return what a row is named with what the rules said of it at first, and the signs of how sure that is."""
    first, flagged = ruled(row["first"]), ruled(row["flagged"])
    read, fine, seen = explicit.read, engine._is_plainly_fine, list[confidence.Signs]()

    def noted(signs: Callable[..., confidence.Signs]) -> Callable[..., confidence.Signs]:
        return lambda *given: seen.append(signs(*given)) or seen[-1]  # type: ignore[func-returns-value]

    with ExitStack() as stack:
        for owner, name, new in [
            (explicit, "read", lambda *given: (read(*given)[0], first)),
            (engine, "_is_plainly_fine", lambda *given: first is None and fine(*given)),
            (silent, "find", lambda *_: None),
            (bodies, "of_failed_value", lambda *_: flagged or plain.unexplained()),
            (guessing, "refined", lambda found, *_: found),
            (confidence, "success", confidence.success.__wrapped__),
            *((confidence, name, noted(getattr(confidence, name))) for name in SIGNS),
        ]:
            stack.enter_context(patch.object(owner, name, new))
        return classify_row(row), seen[-1]


SIGNS = "signs_of_failure", "signs_of_success", "signs_of_doubt"


def main(arguments: list[str]) -> None:
    failed, kinds, plain, failing = heads(rows_of(arguments))
    if "--quick" not in arguments:
        report(failed, kinds, plain, failing)
    if "--write" in arguments:
        found = weights_of(failed, kinds)
        DATA.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2))
        print(f"{DATA.stat().st_size} bytes")


def report(failed: Head, kinds: Head, plain: list[dict[str, Any]], failing: list[dict[str, Any]]) -> None:
    """Print for each set, left out, what the rules said when it was new and what the two models make of it."""
    total: Counter[str] = Counter()
    for name in dict.fromkeys(r["set"] for r in plain if "first" in r):
        out, own = failed.sets == name, kinds.sets == name
        likely = failed.fit(~out).predict_proba(failed.table[out])[:, 1]
        line: Counter[str] = Counter()
        for p, row in zip(likely, (r for r in plain if r["set"] == name), strict=True):
            by, side = row["first"]["kind"] != "ok", "successes" if row["label"] == "ok" else "failures"
            line.update([side, *([f"{side} called failures then"] if by else [])])
            if (
                p >= opinion.DOUBTED
                if by
                else p >= opinion.FAILED and not deciding.is_about_errors(row["tool"])
            ):
                line[f"{side} called failures now"] += 1
            elif by or p >= opinion.SUSPECTED:
                line[f"{side} suspected now"] += 1
        if own.any():
            guessed = kinds.fit(~own).predict(kinds.table[own])
            was = np.array([r["flagged"]["kind"] for r in failing if r["set"] == name])
            line["kinds"] += int(own.sum())
            line["right kinds then"] += int((was == kinds.labels[own]).sum())
            line["right kinds now"] += int((guessed == kinds.labels[own]).sum())
        total += line
        print(name, dict(line), flush=True)
    print("all", dict(total))


if __name__ == "__main__":
    main(sys.argv[1:])
