"""Counts how programs word failures and results, and writes ``btm/classify/data/words.toml``.

    python tests/classify/build_words.py FOLDER... [--write]

FOLDER holds Python sources: ``site-packages``, or collections of agents' tools. What a program says tells by its place
which side it is on: messages of ``raise``, of error logs and returns in exception handlers are failures; progress
messages, what is printed, what functions return at their end and documentation are not. Sentences are counted, not kept.
"""

from __future__ import annotations

import ast
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import optimize, sparse

from btm.classify import rules, words

DATA = Path(rules.__file__).with_name("data") / "words.toml"
FILES, SENTENCES = 30, 60
"""Files of a package and sentences of a side that are read: no package outweighs the others."""

SEEN, LEAST, RIDGE = 6, 0.35, 1.5
SHARE = {"failed": 1.0, "done": 0.7, "prose": 0.35}
"""How much each kind of sentence counts as a whole, beside failures."""

_LOOKS_BAD = re.compile(
    r"^\W*(?:error|warn|fail|could not|cannot|can.t|unable|invalid|usage|no |unknown)"
    r"|^.{0,60}\b(?:fail|error|invalid|missing)",
    re.IGNORECASE,
)
_LOGGER = re.compile(r"log(?:ger|ging)?$|console$", re.IGNORECASE)
_SIDE = {
    "info": "done", "success": "done", "print": "done", "echo": "done",
    "error": "failed", "exception": "failed", "critical": "failed",
}  # fmt: skip


def text_of(node: ast.expr | None) -> str | None:
    """Return the text of a literal, formatted or concatenated string, an identifier in each gap."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%(?:\(\w+\))?[-#0-9.]*[sdrfxi]|\{[^{}]*\}", " a_b ", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else " a_b " for v in node.values)
    if isinstance(node, ast.BinOp):
        left, right = text_of(node.left), text_of(node.right)
        return (
            left
            if isinstance(node.op, ast.Mod)
            else f"{left or ' a_b '}{right or ' a_b '}"
            if left or right
            else None
        )
    if isinstance(node, ast.Call) and node.args:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            return text_of(node.func.value)
        return (
            text_of(node.args[0])
            if isinstance(node.func, ast.Name) and node.func.id in ("_", "gettext")
            else None
        )
    return None


def sentences(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield (side, sentence) for what a module says."""
    handled = {
        id(node)
        for handler in ast.walk(tree)
        if isinstance(handler, ast.ExceptHandler)
        for node in ast.walk(handler)
        if isinstance(node, ast.Return)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            yield "failed", text_of(node.exc.args[0]) or ""
        elif isinstance(node, ast.Call) and node.args:
            yield from _said(node)
        elif isinstance(node, ast.Return) and id(node) in handled:
            yield "failed", text_of(node.value) or ""
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield "prose", (ast.get_docstring(node) or "").split("\n", 1)[0]
            last = node.body[-1]
            last = last.body[-1] if isinstance(last, ast.Try) and last.body else last
            if isinstance(last, ast.Return) and id(last) not in handled:
                yield "done", text_of(last.value) or ""


def _said(node: ast.Call) -> Iterator[tuple[str, str]]:
    if isinstance(node.func, ast.Name) and node.func.id == "print":
        yield "done", text_of(node.args[0]) or ""
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _SIDE:
        owner = node.func.value
        name = (
            owner.id
            if isinstance(owner, ast.Name)
            else owner.attr
            if isinstance(owner, ast.Attribute)
            else ""
        )
        if _LOGGER.search(name) or node.func.attr == "echo":
            yield _SIDE[node.func.attr], text_of(node.args[0]) or ""


def gathered(folders: list[str]) -> dict[str, list[str]]:
    """Return the different sentences of each side, a bounded number from each package."""
    found: dict[str, dict[str, None]] = {side: {} for side in SHARE}
    choose = random.Random(3)
    for package in sorted(p for folder in folders for p in Path(folder).iterdir()):
        paths = (
            [package]
            if package.suffix == ".py"
            else sorted(package.rglob("*.py"))
            if package.is_dir()
            else []
        )
        paths = [p for p in paths if "test" not in str(p.relative_to(package.parent))]
        of_package: Counter[str] = Counter()
        for path in choose.sample(paths, min(FILES, len(paths))):
            try:
                tree = ast.parse(path.read_text(encoding="utf-8"))
            except (SyntaxError, UnicodeDecodeError, OSError):
                continue
            for side, said in sentences(tree):
                text = words.first_sentence(said)
                if (
                    " " in text
                    and not (side == "done" and _LOOKS_BAD.match(text))
                    and of_package[side] < SENTENCES
                ):
                    of_package[side] += text not in found[side]
                    found[side][text] = None
    return {side: [*texts] for side, texts in found.items()}


def fit(found: dict[str, list[str]]) -> tuple[float, dict[str, float]]:
    """Ridge logistic regression on words and pairs of words; each side counts as a whole, not by its sentences."""
    shown = [words.features_of(text) for texts in found.values() for text in texts]
    failed = np.concatenate([np.full(len(t), side == "failed", float) for side, t in found.items()])
    most = len(found["failed"])
    counts = np.concatenate(
        [np.full(len(t), SHARE[side] * most / max(1, len(t))) for side, t in found.items()]
    )
    often = Counter(feature for each in shown for feature in each)
    index = {feature: i for i, feature in enumerate(f for f, n in often.most_common() if n >= SEEN)}
    places = [(row, index[f]) for row, each in enumerate(shown) for f in each if f in index]
    rows, columns = np.array(places).T
    design = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), (len(shown), len(index)))

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        z = design @ beta[1:] + beta[0]
        over = counts * (1 / (1 + np.exp(-z)) - failed)
        value = (counts * (np.logaddexp(0, z) - failed * z)).sum() + RIDGE * (beta[1:] ** 2).sum()
        return float(value), np.concatenate([[over.sum()], design.T @ over + 2 * RIDGE * beta[1:]])

    beta = optimize.minimize(loss, np.zeros(len(index) + 1), jac=True, method="L-BFGS-B").x
    return float(beta[0]), {f: float(beta[1 + i]) for f, i in index.items() if abs(beta[1 + i]) >= LEAST}


def write(bias: float, weights: dict[str, float], found: dict[str, list[str]]) -> None:
    by_weight: dict[str, list[str]] = {}
    for feature, weight in sorted(weights.items(), key=lambda each: -each[1]):
        by_weight.setdefault(f"{weight:.1f}", []).append(feature.replace("\\", ""))
    lines = [
        "# How much a word, or a pair of words, of a sentence speaks for a failure (above 0) or a result, in logits.",
        "# Written by tests/classify/build_words.py; nothing here is chosen by hand. `_` is a quotation, an address or an",
        "# identifier, `0` a number, `^` and `$` are the sentence's ends.",
        f"# Counted: {', '.join(f'{len(texts)} sentences {side}' for side, texts in found.items())}.",
        f"bias = {bias:.2f}",
        "",
        "[weights]",
    ]
    for weight, features in by_weight.items():
        listed = " | ".join(sorted(features)).replace("'", "'")
        lines.append(f'"{weight}" = "{listed}"')
    DATA.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> None:
    found = gathered([a for a in arguments if not a.startswith("--")])
    print({side: len(texts) for side, texts in found.items()})
    bias, weights = fit(found)
    top = sorted(weights.items(), key=lambda each: -abs(each[1]))[:60]
    print(len(weights), " ".join(f"{f!r}:{w:.1f}" for f, w in top))
    if "--write" in arguments:
        write(bias, weights, found)


if __name__ == "__main__":
    main(sys.argv[1:])
