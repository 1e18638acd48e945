"""What ``btm fit`` says: its JSON document, and the summary for people."""

from __future__ import annotations

from typing import Any

from btm.cli.output import console, table
from btm.cli.skipped import print_skipped, skipped_rows
from btm.model import ErrorKind
from btm.traces.findings import findings
from btm.traces.fit import Fit

_SHOWN = 12


def document(done: Fit) -> dict[str, Any]:
    """Return a fit in the form of ``btm fit --json``."""
    return {
        "conversations": done.conversations,
        "already_fitted": done.already_fitted,
        "calls": done.calls,
        "unanswered": done.unanswered,
        "errors": dict(done.errors.most_common()),
        "incidents": done.incidents,
        "attempts": done.attempts,
        "actions": dict(done.actions.most_common()),
        "formats": dict(done.formats.most_common()),
        "tools": {
            tool: {"calls": calls, "errors": _errors_of(done, tool)}
            for tool, calls in done.tools.most_common()
        },
        "skipped": skipped_rows(done.skipped),
        "skipped_count": done.skipped_count,
        "findings": [{"tool": f.tool, "kind": f.kind, "text": f.text, "n": f.n} for f in findings(done.sums)],
    }


def _errors_of(done: Fit, tool: str) -> dict[ErrorKind, int]:
    return {kind: count for (name, kind), count in done.tool_errors.most_common() if name == tool}


def show(done: Fit, database: str | None, *, details: bool) -> None:
    """Print a fit for people; ``database`` is where it was written, ``details`` adds the counts a tool and action."""
    out = console()
    formats = ", ".join(f"{name} {count:,}" for name, count in done.formats.most_common())
    out.print(
        f"{done.conversations:,} conversations ({formats or 'none new'}), {done.calls:,} calls, "
        f"{sum(done.errors.values()):,} errors, {done.incidents:,} incidents, {done.attempts:,} attempts"
    )
    if done.already_fitted:
        out.print(f"{done.already_fitted:,} conversations were fitted before and add nothing")
    if done.unanswered:
        out.print(f"{done.unanswered:,} calls have no answer in the log and teach nothing")
    if done.errors:
        out.print(_errors(done))
    if details and done.tools:
        out.print(_tools(done))
    if details and done.actions:
        counts = ", ".join(f"{action} {count:,}" for action, count in done.actions.most_common())
        out.print(f"attempts by action: {counts}")
    for finding in findings(done.sums)[:_SHOWN]:
        out.print(f"- {finding.text}", markup=False)
    print_skipped(done.skipped, done.skipped_count, out)
    if database is None:
        out.print("Nothing was written to a database.")
    else:
        out.print(f"Learned into {database}; see it with: btm show --db {database}", markup=False)


def _errors(done: Fit) -> Any:
    shown = table("error", "calls", "most at", numeric=("calls",))
    for kind, count in done.errors.most_common(_SHOWN):
        worst = max((n, tool) for (tool, k), n in done.tool_errors.items() if k is kind)
        shown.add_row(kind, f"{count:,}", f"{worst[1]} ({worst[0]:,})")
    return shown


def _tools(done: Fit) -> Any:
    shown = table("tool", "calls", "errors", "of which", numeric=("calls", "errors"))
    for tool, calls in done.tools.most_common():
        errors = _errors_of(done, tool)
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in errors.items())
        shown.add_row(tool, f"{calls:,}", f"{sum(errors.values()):,}", kinds)
    return shown
