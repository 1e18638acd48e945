"""How findings about a map are shown to people: the sentence, the line it is about, and the cure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from btm.maps.finding import Diagnostic, Severity

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_REPEATS = 3  # so many findings of one kind are shown once
_WIDEST = 110  # of a line of the file
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|[\w.\-/]+|\S")


def show_findings(findings: Sequence[Diagnostic], out: Console) -> None:
    """Print every finding with the line of the file that it is about and a mark under the word."""
    lines: dict[str, list[str]] = {}
    for finding, others in _grouped(findings):
        file = finding.place.file
        if file not in lines:
            lines[file] = _lines_of(file)
        shown = _shown(finding, lines[file], out.width)
        if others:
            places = ", ".join(str(other.place.line) for other in others)
            shown.append(
                _folded(f"  the same {len(others)} more times, in lines {places}", out.width, "  ") + "\n"
            )
        out.print(shown, soft_wrap=True)


def _grouped(findings: Sequence[Diagnostic]) -> list[tuple[Diagnostic, list[Diagnostic]]]:
    """Return findings, each with those that say the same of other places of the file, where there are three or more."""
    alike: dict[tuple[str, ...], list[Diagnostic]] = {}
    for finding in findings:
        key = (finding.severity, finding.code, finding.place.file, finding.help)
        # A sentence of the format's own is about one place; the rest differ in the tool's name only.
        alone = (str(finding.place),) if finding.code == "format" else ()
        alike.setdefault((*key, *alone), []).append(finding)
    grouped: list[tuple[Diagnostic, list[Diagnostic]]] = []
    for group in alike.values():
        grouped += [(group[0], group[1:])] if len(group) >= _REPEATS else [(one, []) for one in group]
    return sorted(grouped, key=lambda pair: findings.index(pair[0]))


def summary(findings: Iterable[Diagnostic]) -> str:
    """Return ``2 errors, 1 warning`` in words."""
    counts = dict.fromkeys(Severity, 0)
    for finding in findings:
        counts[finding.severity] += 1
    parts = [f"{n} {severity}{'s' if n != 1 else ''}" for severity, n in counts.items() if n]
    return ", ".join(parts) or "nothing to remark"


def _lines_of(file: str) -> list[str]:
    try:
        return Path(file).read_text("utf-8", errors="replace").splitlines() if Path(file).is_file() else []
    except OSError:
        return []


def _shown(finding: Diagnostic, lines: Sequence[str], width: int) -> Text:
    file, line, column = finding.place
    style = _STYLE[finding.severity]
    mark = f"{finding.severity}[{finding.code}]"
    text = Text()
    said = _folded(f"{mark}: {finding.what}", width, "  ")
    text.append(said[: len(mark)], style=style)
    text.append(f"{said[len(mark) :]}\n", style="bold")
    gutter = " " * max(1, len(str(line)))
    text.append(f"{gutter}--> ", style="blue")
    text.append(f"{file}:{line}:{column}\n" if line else f"{file}\n")
    if 1 <= line <= len(lines):
        shown, at = _window(lines[line - 1].expandtabs(1), column - 1, min(_WIDEST, width - len(gutter) - 4))
        found = _WORD.match(shown, at)
        marked = max(1, found.end() - at) if found else 1
        text.append(f"{gutter} |\n{line} | ", style="blue")
        text.append(f"{shown}\n")
        text.append(f"{gutter} | ", style="blue")
        text.append(f"{' ' * at}{'^' * marked}\n", style=style)
    if finding.help:
        before = f"{gutter} = "
        cure = _folded(f"{before}help: {finding.help}", width, " " * (len(before) + 6))
        text.append(before, style="blue")
        text.append(f"{cure[len(before) :]}\n")
    return text


def _window(source: str, at: int, width: int) -> tuple[str, int]:
    """Return a line and a place in it; of a long line the part around that place, and where it is in there."""
    start = max(0, min(at - width // 2, len(source) - width)) if len(source) > width else 0
    return source[start : start + width], at - start


def _folded(text: str, width: int, indent: str) -> str:
    return "\n".join(textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False))
