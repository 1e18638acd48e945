"""How findings about a map are shown to people: the sentence, the line it is about, and the cure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from btm.mapping.finding import Finding, Severity

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|[\w.\-/]+|\S")


def show_findings(findings: Sequence[Finding], out: Console) -> None:
    """Print every finding with the line of the file that it is about and a mark under the word."""
    lines: dict[str, list[str]] = {}
    for finding in findings:
        file = finding.place.file
        if file not in lines:
            lines[file] = _lines_of(file)
        out.print(_shown(finding, lines[file]))


def summary(findings: Iterable[Finding]) -> str:
    """Return ``2 errors, 1 warning`` in words."""
    counts = dict.fromkeys(Severity, 0)
    for finding in findings:
        counts[finding.severity] += 1
    parts = [f"{n} {severity}{'s' if n != 1 else ''}" for severity, n in counts.items() if n]
    return ", ".join(parts) or "nothing to remark"


def _lines_of(file: str) -> list[str]:
    try:
        return Path(file).read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _shown(finding: Finding, lines: Sequence[str]) -> Text:
    file, line, column = finding.place
    style = _STYLE[finding.severity]
    text = Text()
    text.append(f"{finding.severity}[{finding.code}]", style=style)
    text.append(f": {finding.what}\n", style="bold")
    gutter = " " * max(1, len(str(line)))
    text.append(f"{gutter}--> ", style="blue")
    text.append(f"{file}:{line}:{column}\n" if line else f"{file}\n")
    if 1 <= line <= len(lines):
        source = lines[line - 1].expandtabs(1)
        # A long line is shown around its column.
        start = max(0, column - 60) if len(source) > 110 else 0
        shown, at = source[start : start + 110], column - 1 - start
        found = _WORD.match(shown, at)
        width = max(1, found.end() - at) if found else 1
        text.append(f"{gutter} |\n{line} | ", style="blue")
        text.append(f"{shown}\n")
        text.append(f"{gutter} | ", style="blue")
        text.append(f"{' ' * at}{'^' * width}\n", style=style)
    if finding.help:
        text.append(f"{gutter} = ", style="blue")
        text.append(f"help: {finding.help}\n")
    return text
