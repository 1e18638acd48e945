"""``btm classify``: name what went wrong in recorded outcomes, one a line."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click
import orjson
from rich.markup import escape

from btm.classify import classify as classify_result
from btm.classify import scoring
from btm.classify.account import Account, account_of
from btm.classify.recorded import classify_row
from btm.cli import classify_score, classify_taught
from btm.cli.options import DEFAULT_DATABASE, JSON
from btm.cli.output import console, counted, emit_json, fail, paragraph, table
from btm.model import ErrorKind, Outcome, ToolCall
from btm.support.open_files import read_whole
from btm.support.untrusted import printable

_WIDE = 110  # columns that a table with family and rule needs


@dataclass(frozen=True, slots=True)
class _InputLine:
    """One line of the input: a row, a bare text, or (``problem`` set) a row that cannot be read."""

    number: int
    row: Mapping[str, Any] | None = None
    text: str = ""
    problem: str = ""


@click.command()
@click.argument("file", required=False)
@click.option(
    "--explain", metavar="TEXT", help="Show how one text is judged: layers, rule, source, runner-up, signs."
)
@click.option(
    "--teach", metavar="TEXT", help="Keep in the database what texts like this one are (with --kind)."
)
@click.option("--taught", is_flag=True, help="List what was taught, with its names.")
@click.option("--forget", metavar="NAME", help="Undo what was taught under this name.")
@click.option(
    "--tool",
    default="",
    show_default=False,
    help="The tool that the text came from (--teach without it: any tool).",
)
@click.option(
    "--kind", default="", show_default=False, help="What the text of --teach is: a kind of failure, or ok."
)
@click.option("--db", default=DEFAULT_DATABASE, help="The database that is taught.")
@click.option(
    "--score", is_flag=True, help="Compare with the rows' labels: by library (their source), and how sure."
)
@JSON
def classify(
    file: str | None,
    explain: str | None,
    teach: str | None,
    taught: bool,
    forget: str | None,
    tool: str,
    kind: str,
    db: str,
    score: bool,
    as_json: bool,
) -> None:
    """Name what went wrong in the outcomes of FILE (- for stdin).

    A line is a JSON row ({"tool", "effect", "called_at", "outcome"}) or a bare text that a tool returned. Rows that
    cannot be read are named on stderr, and the others are classified all the same. With --score rows have a "label"
    (a kind, or "ok") and a "source".
    """
    asked = [x is not None for x in (file, explain, teach, forget)] + [taught]
    if sum(asked) != 1:
        fail("give a FILE of outcomes, or one of --explain TEXT, --teach TEXT, --taught and --forget NAME")
    if (teach is None) != (not kind):
        fail("--teach TEXT and --kind KIND go together")
    if score and file is None:
        fail("--score compares the rows of a FILE with their labels")
    if explain is not None:
        _explain(account_of(explain, ToolCall(tool)), as_json)
    elif teach is not None:
        classify_taught.teach(db, teach, tool, kind, as_json)
    elif taught:
        classify_taught.show(db, tool, as_json)
    elif forget is not None:
        classify_taught.forget(db, forget, as_json)
    else:
        _name(file, score, as_json)


def _name(file: str | None, score: bool, as_json: bool) -> None:
    assert file is not None  # noqa: S101 - the check above, for the type checker
    source = "<stdin>" if file == "-" else file
    if score:
        _score(source, file, as_json)
        return
    found: list[tuple[str, Outcome]] = []
    for line in _lines(_read(file)):
        outcome, problem = _outcome(line)
        if outcome is None:
            sys.stderr.write(f"{source}:{line.number}: {problem}\n")
            continue
        identity = line.row.get("id") if line.row is not None else None
        found.append((str(identity) if identity is not None else str(line.number), outcome))
    if not found:
        fail(f"no outcome in {source} can be read")
    if as_json:
        emit_json([_document(identity, outcome) for identity, outcome in found])
    else:
        _print(found)


def _score(source: str, file: str, as_json: bool) -> None:
    rows = []
    for line in _lines(_read(file)):
        problem = line.problem or _label_problem(line.row)
        if problem or line.row is None:
            sys.stderr.write(f"{source}:{line.number}: {problem}\n")
        else:
            rows.append(line.row)
    if not rows:
        fail(f"no labelled outcome in {source} can be read")
    try:
        whole, libraries = scoring.score(rows), scoring.by_library(rows)
    except ValueError as problem:
        fail(f"{source}: {problem}")
    if as_json:
        emit_json(classify_score.document(whole, libraries))
    else:
        classify_score.show(whole, libraries)


def _label_problem(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "a bare text has no label"
    label = row.get("label")
    if label in {*ErrorKind, scoring.OK}:
        return ""
    return f"no kind of failure: {label!r}; expected ok or one of {', '.join(ErrorKind)}"


def _explain(account: Account, as_json: bool) -> None:
    outcome = account.outcome
    if as_json:
        emit_json(
            {
                **_document("text", outcome),
                "suspected": outcome.suspected,
                "layers": list(account.layers),
                "inner": printable(account.inner),
                "matched": account.rule,
                "source": account.source,
                "runner_up": account.runner_up,
                "signs": [{"name": name, "weight": weight} for name, weight in account.signs],
                "chance": round(account.chance, 3),
            }
        )
        return
    out = console()
    suspected = f", may be {outcome.suspected}" if outcome.suspected else ""
    lines = [
        ("named", f"{outcome.kind or 'ok'}{suspected}, sure {outcome.confidence:.2f}: {outcome.reason}"),
        ("layers", " > ".join(account.layers) or "none"),
        ("inner", account.inner[:300]),
        ("rule", account.rule[:300] or "none matches"),
        ("source", account.source or "-"),
        ("runner-up", account.runner_up[:300] or "none"),
        ("error text?", f"chance {account.chance:.2f}"),
    ]
    said = [(name, escape(printable(told))) for name, told in lines]
    said += [("", f"{weight:+.2f}  {name}") for name, weight in account.signs]
    out.print(table("what", "found", rows=said))


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return read_whole(file)
    except OSError as problem:
        fail(f"cannot read {file}: {problem.strerror or problem}")


def _lines(data: bytes) -> Iterator[_InputLine]:
    """Yield the lines that hold anything. In a file with rows, a line that is no row is a problem, not a text."""
    parsed = [(n, raw, _parse(raw)) for n, raw in enumerate(data.split(b"\n"), start=1) if raw.strip()]
    has_rows = any(_is_row(value) for _, _, value in parsed)
    for number, raw, value in parsed:
        if _is_row(value):
            yield _InputLine(number, row=value)
        elif has_rows or (value is None and raw.lstrip().startswith(b"{") and b'"outcome"' in raw):
            what = "broken JSON" if value is None else 'no object with an "outcome"'
            yield _InputLine(number, problem=what)
        else:
            yield _InputLine(number, text=raw.rstrip(b"\r").decode("utf-8", "replace"))


def _is_row(value: Any) -> bool:
    return isinstance(value, dict) and "outcome" in value


def _parse(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except ValueError:
        pass
    try:
        return json.loads(raw)  # reads NaN and lone surrogates, which orjson rightly refuses
    except (ValueError, RecursionError):
        return None


def _outcome(line: _InputLine) -> tuple[Outcome | None, str]:
    if line.problem:
        return None, line.problem
    if line.row is None:
        return classify_result(ToolCall(""), line.text), ""
    try:
        return classify_row(line.row), ""
    except ValueError as problem:
        return None, str(problem)


def _document(identity: str, outcome: Outcome) -> dict[str, Any]:
    return {
        "id": printable(identity),
        "kind": outcome.kind,
        "family": outcome.family,
        "ambiguous": outcome.ambiguous,
        "silent": outcome.silent,
        "confidence": round(outcome.confidence, 3),
        "retry_after_s": outcome.retry_after_s,
        "reason": printable(outcome.reason),
        "rule": printable(outcome.rule),
    }


def _print(found: list[tuple[str, Outcome]]) -> None:
    out = console()
    # On a narrow screen the reason needs the room; the family follows from the kind, and the rule is in --json.
    wide = out.width >= _WIDE
    family, rule = (("family",), ("rule",)) if wide else ((), ())
    made = table("id", "kind", *family, "marks", ">sure", "reason", *rule)
    made.columns[1].no_wrap = True
    for identity, outcome in found:
        marks = [name for name, on in (("ambiguous", outcome.ambiguous), ("silent", outcome.silent)) if on]
        if outcome.retry_after_s is not None:
            marks.append(f"wait {outcome.retry_after_s:g} s")
        family, rule = (str(outcome.family or ""),) if wide else (), (outcome.rule,) if wide else ()
        sure = f"{outcome.confidence:.2f}"
        cells = (identity, str(outcome.kind or "ok"), *family, ", ".join(marks), sure, outcome.reason, *rule)
        made.add_row(*(escape(printable(cell)) for cell in cells))
    out.print(made)
    counts = Counter(str(outcome.kind or "ok") for _, outcome in found)
    said = ", ".join(f"{name} {n:,}" for name, n in counts.most_common())
    out.print()
    paragraph(out, f"{counted(len(found), 'outcome')}: {said}")
