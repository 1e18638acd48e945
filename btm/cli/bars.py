"""A chance and its interval as a small bar of text."""

from __future__ import annotations

WIDTH = 20
ORDINALS = {1: "1st", 2: "2nd", 3: "3rd+"}


def interval_bar(low: float, mean: float, high: float, width: int = WIDTH) -> str:
    """Return ``····━━━●━━····``: the 95 % interval from 0 to 1, with the mean marked."""

    def cell(value: float) -> int:
        return min(int(value * width), width - 1)

    cells = ["·"] * width
    for index in range(cell(low), cell(high) + 1):
        cells[index] = "━"
    cells[cell(mean)] = "●"
    return "".join(cells)
