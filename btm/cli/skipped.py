"""What the commands that read logs say of the pieces that could not be read."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from btm.traces.conversation import Skipped

_SHOWN = 12


def skipped_rows(skipped: Sequence[Skipped]) -> list[dict[str, str | int]]:
    """Return skipped pieces as JSON values."""
    return [{"file": s.file, "line": s.line, "reason": s.reason} for s in skipped]


def print_skipped(skipped: Sequence[Skipped], count: int, out: Console) -> None:
    """Print the first of ``count`` skipped pieces, and how many more there are."""
    for item in skipped[:_SHOWN]:
        out.print(f"skipped {item}", style="yellow", markup=False)
    if count > _SHOWN:
        out.print(f"skipped {count - _SHOWN:,} more", style="yellow")
