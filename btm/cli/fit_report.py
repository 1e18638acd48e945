"""What ``btm fit`` says: its JSON document, and the summary for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from btm.cli.logs import print_skipped, skipped_rows
from btm.cli.output import console, counted, listed, paragraph, shown, table
from btm.fallback import FallbackMap
from btm.logs.findings import findings, seen_once
from btm.logs.fit import Fit
from btm.maps.belonging import doubts
from btm.model import ErrorKind

_SHOWN = 12
_ONCE_SHOWN, _MOST_ONCE = 5, 1_000
_PASSED_SHOWN = 6
_TOOLS = 40
_BESIDE_KINDS = 50  # columns for a tool's name and the numbers


def document(done: Fit, fallback_map: FallbackMap) -> dict[str, Any]:
    """Return a fit in the form of ``btm fit --json``."""
    by_tool = _errors_by_tool(done)
    return {
        "conversations": done.conversations,
        "already_fitted": done.already_fitted,
        "grown": done.grown,
        "calls": done.calls,
        "unanswered": done.unanswered,
        "errors": dict(done.errors.most_common()),
        "incidents": done.incidents,
        "attempts": done.attempts,
        "actions": dict(done.actions.most_common()),
        "formats": dict(done.formats.most_common()),
        "by_format": {
            name: {"conversations": n, "calls": done.format_calls[name], "errors": done.format_errors[name]}
            for name, n in done.formats.most_common()
        },
        "orphans": done.orphans,
        "passed_over": dict(done.passed.most_common()),
        "tools": {
            tool: {"calls": calls, "errors": by_tool.get(tool, {})}
            for tool, calls in done.tools.most_common()
        },
        "skipped": skipped_rows(done.skipped),
        "skipped_count": done.skipped_count,
        "map_doubts": list(doubts(fallback_map, done.tools, done.tool_errors)),
        "findings": [
            {"tool": f.tool, "kind": f.kind, "text": f.text, "n": f.n} for f in findings(done.tried)
        ],
        "seen_once": [
            {"tool": w.tool, "kind": w.kind, "template": w.template}
            for w in seen_once(done.ways)[:_MOST_ONCE]
        ],
    }


def _errors_by_tool(done: Fit) -> dict[str, dict[ErrorKind, int]]:
    found: dict[str, dict[ErrorKind, int]] = {}
    for (tool, kind), count in done.tool_errors.most_common():
        found.setdefault(tool, {})[kind] = count
    return found


def show(done: Fit, database: str | None, fallback_map: FallbackMap, *, details: bool) -> None:
    """Print a fit for people; ``database`` is where it was written, ``details`` adds the counts a tool and action."""
    out = console()
    _print_counts(done, out)
    for doubt in doubts(fallback_map, done.tools, done.tool_errors):
        paragraph(out, doubt, first="warning: ", rest="  ")
    if len(done.formats) > 1:
        out.print()
        out.print(_formats(done))
    if done.errors:
        out.print()
        out.print(_errors(done))
    if details and done.tools:
        out.print()
        _print_tools(done, out)
    if details and done.actions:
        counts = ", ".join(f"{action} {count:,}" for action, count in done.actions.most_common())
        out.print(f"\nattempts by action: {counts}")
    found = [finding.text for finding in findings(done.tried)]
    _print_some("What stands out", found, _SHOWN, out)
    once = [f"{way.tool} failed as {way.kind}: {way.template}" for way in seen_once(done.ways)]
    _print_some("Seen once", once, _ONCE_SHOWN, out)
    out.print()
    print_skipped(done.skipped, done.skipped_count, out)
    if database is None:
        out.print("Nothing was written to a database.")
    elif done.attempts:
        paragraph(out, f"Learned into {shown(database)}; see it with: btm show --db {shown(database)}")
    else:
        out.print(f"Nothing new to learn: {shown(database)} believes what it did.", markup=False)


def _print_some(title: str, texts: Sequence[str], most: int, out: Console) -> None:
    if texts:
        out.print(f"\n{title}")
    for text in texts[:most]:
        paragraph(out, text, first="- ", rest="  ")
    if len(texts) > most:
        out.print(f"and {len(texts) - most:,} more, with --json")


def _print_counts(done: Fit, out: Console) -> None:
    one = (
        next((f" ({name} {count:,})" for name, count in done.formats.items()), "")
        if len(done.formats) == 1
        else ""
    )
    out.print(counted(done.conversations, "conversation") + one)
    if done.already_fitted:
        out.print(f"{counted(done.already_fitted, 'conversation')} fitted before, which add nothing again")
    if done.grown:
        out.print(f"{counted(done.grown, 'conversation')} that went on since, of which the rest is learned")
    counts = ((done.calls, "call"), (sum(done.errors.values()), "error"), (done.incidents, "incident"))
    said = ", ".join(counted(number, noun) for number, noun in (*counts, (done.attempts, "attempt")))
    out.print(f"{said} to recover")
    if done.unanswered:
        out.print(f"{counted(done.unanswered, 'call')} without an answer in the log, which teach nothing")
    if done.orphans:
        out.print(f"{counted(done.orphans, 'answer')} to calls that are not in the log, which teach nothing")
    if done.passed:
        what = ", ".join(f"{reason} {count:,}" for reason, count in done.passed.most_common(_PASSED_SHOWN))
        paragraph(out, f"{counted(done.passed.total(), 'record')} passed over: {what}")


def _formats(done: Fit) -> Table:
    rows = (
        (name, f"{count:,}", f"{done.format_calls[name]:,}", f"{done.format_errors[name]:,}")
        for name, count in done.formats.most_common()
    )
    return table("format", ">conversations", ">calls", ">errors", rows=rows)


def _errors(done: Fit) -> Table:
    shown = table("error", ">calls", "most at")
    worst: dict[ErrorKind, tuple[int, str]] = {}
    for (tool, kind), count in done.tool_errors.items():
        worst[kind] = max(worst.get(kind, (0, "")), (count, tool))
    for kind, count in done.errors.most_common():
        most, tool = worst[kind]
        shown.add_row(kind, f"{count:,}", f"{escape(tool)} ({most:,})")
    return shown


def _print_tools(done: Fit, out: Console) -> None:
    shown = table("tool", ">calls", ">errors", "of which")
    by_tool = _errors_by_tool(done)
    for tool, calls in done.tools.most_common(_TOOLS):
        errors = by_tool.get(tool, {})
        kinds = listed((f"{kind} {count:,}" for kind, count in errors.items()), out.width - _BESIDE_KINDS)
        shown.add_row(escape(tool), f"{calls:,}", f"{sum(errors.values()):,}", kinds)
    out.print(shown)
    if len(done.tools) > _TOOLS:
        out.print(f"and {len(done.tools) - _TOOLS:,} tools with fewer calls, with --json")
