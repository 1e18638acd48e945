"""``btm classify --teach``, ``--taught`` and ``--forget``: what people say of texts, kept in the database."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from rich.markup import escape

from btm.classify.likeness import likeness_of
from btm.cli.database import open_existing
from btm.cli.output import console, emit_json, fail, paragraph, shown, table
from btm.errors import did_you_mean
from btm.model import ErrorKind
from btm.store import PERSON, TaughtRule
from btm.support import untrusted

NO_ERROR = "ok"
KINDS = (NO_ERROR, *map(str, ErrorKind))


def teach(where: str, text: str, tool: str, kind: str, as_json: bool) -> None:
    """Keep that texts like ``text`` from ``tool`` ("": from any) are failures of ``kind``, or none (``ok``)."""
    if kind not in KINDS:
        fail(f"--kind: {kind!r} is no kind; there are {', '.join(KINDS)}{did_you_mean(kind, KINDS, '.')}")
    if not tool.isprintable():
        fail(f"--tool: {untrusted.printable(tool)!r} is no name of a tool")
    try:
        name = TaughtRule.name_of(tool, likeness_of(text))
    except ValueError as problem:
        fail(f"--teach: {problem}")
    known = None if kind == NO_ERROR else ErrorKind(kind)
    rule = TaughtRule(name, tool, known, PERSON, untrusted.redact(text, 200), time.time())
    try:
        with closing(open_existing(where, read_only=False)) as store:
            store.teach(rule)
    except ValueError as problem:
        fail(f"--teach: {problem}")
    if as_json:
        emit_json(_document(rule))
        return
    out = console()
    paragraph(
        out,
        f"{rule.name}: answers like this one of {tool or 'any tool'} are {_said(rule)} from the next start on",
    )
    paragraph(out, f"undo it with btm classify --forget {rule.name} --db {shown(where)}")


def show(where: str, tool: str, as_json: bool) -> None:
    """Print what was taught, of ``tool`` or ("") of all, the oldest first."""
    with closing(open_existing(where)) as store:
        rules = [rule for rule in store.load(time.time()).taught if tool in ("", rule.tool)]
    if as_json:
        emit_json([_document(rule) for rule in rules])
        return
    out = console()
    if not rules:
        paragraph(out, "nothing was taught")
        return
    made = table("name", "tool", "kind", "by", "when", "example")
    for rule in rules:
        when = f"{datetime.fromtimestamp(rule.at, UTC):%Y-%m-%d %H:%M UTC}"
        kind = "as it was" if rule.as_it_was else rule.kind or NO_ERROR
        cells = (rule.name, rule.tool or "any", kind, rule.source, when, rule.example[:80])
        made.add_row(*(escape(untrusted.printable(str(cell))) for cell in cells))
    out.print(made)


def forget(where: str, name: str, as_json: bool) -> None:
    """Undo one rule by its name."""
    with closing(open_existing(where, read_only=False)) as store:
        found = store.forget_taught(name)
        names = [rule.name for rule in store.load(time.time()).taught]
    if not found:
        hint = did_you_mean(name, names, "; btm classify --taught lists what was taught")
        fail(f"--forget: nothing was taught under {name!r}{hint}")
    if as_json:
        emit_json({"undone": name})
        return
    paragraph(console(), f"{name} is undone")


def _said(rule: TaughtRule) -> str:
    return "no errors" if rule.kind is None else rule.kind.replace("_", " ")


def _document(rule: TaughtRule) -> dict[str, Any]:
    return {**rule._asdict(), "example": untrusted.printable(rule.example)}
