"""The grid of an evaluation as one picture (SVG): a square a cell, coloured by how far btm is ahead or behind."""

from __future__ import annotations

from collections.abc import Sequence

from btm.lab.grid import Cell
from btm.lab.html_page import Section, table_page
from btm.lab.metrics import Paired
from btm.lab.request import Request
from btm.maps.strokes import INK, SOFT, svg_document, svg_text

_WIDTH, _HEIGHT, _GAP = 178.0, 92.0, 8.0
_LEFT, _TOP = 108.0, 92.0
_STRONGEST = 0.2  # the difference from which a colour is at its fullest
_AHEAD, _BEHIND = (43, 108, 176), (192, 86, 33)


def draw_grid(cells: Sequence[Cell], subject: str) -> str:
    """Return the picture; cells that were learned in other numbers of passes stand in blocks of their own."""
    blocks = list(dict.fromkeys(cell.passes for cell in cells))
    rows = list(dict.fromkeys(cell.contrast for cell in cells))
    columns = list(dict.fromkeys(cell.allowance for cell in cells))
    block_height = len(rows) * (_HEIGHT + _GAP) + 46.0
    body: list[str] = []
    for number, passes in enumerate(blocks):
        top = _TOP + number * block_height
        named = f"learned in {passes} {'pass' if passes == 1 else 'passes'}"
        body.append(svg_text(24, top - 8, named, 12, SOFT, weight="bold"))
        for place, allowance in enumerate(columns):
            budget = "budget +{:g} to {:g}".format(*allowance)
            body.append(svg_text(_LEFT + place * (_WIDTH + _GAP), top - 8, budget, 12, SOFT))
        for place, contrast in enumerate(rows):
            y = top + place * (_HEIGHT + _GAP)
            body.append(svg_text(24, y + _HEIGHT / 2, f"contrast {contrast:g}", 12, SOFT))
        for cell in (cell for cell in cells if cell.passes == passes):
            x = _LEFT + columns.index(cell.allowance) * (_WIDTH + _GAP)
            body += _square(cell, x, top + rows.index(cell.contrast) * (_HEIGHT + _GAP))
    width = _LEFT + len(columns) * (_WIDTH + _GAP) + 16
    height = _TOP + len(blocks) * block_height
    title = f"btm against the best fixed order in hindsight, {subject}"
    head = [svg_text(24, 30, title, 16, INK, weight="bold"), svg_text(24, 50, _legend(cells), 12)]
    return svg_document(width, height, title, [*head, *body])


def grid_page(cells: Sequence[Cell], subject: str, request: Request) -> str:
    """Return the picture and its numbers as one page."""
    rows = [
        (
            f"contrast {c.contrast:g}, budget +{c.allowance[0]:g} to {c.allowance[1]:g}, passes {c.passes}",
            f"{c.solved['btm'] * 100:.1f} %",
            f"{c.best.removeprefix('order:')}: {c.solved[c.best] * 100:.1f} %",
            *map(_points, (c.against_best, c.against_shuffled, c.informed_against_best)),
        )
        for c in cells
    ]
    columns = (
        "cell",
        "btm",
        "best order in hindsight",
        "btm - best",
        "right - shuffled",
        "told the chances - best",
    )
    about = "Where learning pays: how far tools differ, how tight budgets are and how much was learned, cell by cell."
    facts = {"worlds": str(request.worlds), "domain": request.domain, "seed": str(request.faults.seed)}
    section = Section(
        "Points more, with 95 % over worlds and tasks", columns, rows, picture=draw_grid(cells, subject)
    )
    return table_page(f"Sensitivity: {subject}", about, [section], facts)


def _points(found: Paired) -> str:
    return f"{found.difference * 100:+.1f} ({found.low * 100:+.1f} to {found.high * 100:+.1f})"


def _legend(cells: Sequence[Cell]) -> str:
    first = cells[0]
    return (
        f"Points that btm solves more (95 % over {first.worlds} worlds and their tasks; {first.episodes} episodes a cell). "
        "Blue: ahead; brown: behind."
    )


def _square(cell: Cell, x: float, y: float) -> list[str]:
    found = cell.against_best
    full = min(abs(found.difference) / _STRONGEST, 1.0)
    red, green, blue = (
        round(255 - (255 - c) * 0.75 * full) for c in (_AHEAD if found.difference >= 0 else _BEHIND)
    )
    dark = full > 0.6
    ink, soft = ("#ffffff", "#edf2f7") if dark else (INK, SOFT)
    headline = f"{found.difference * 100:+.1f}  ({found.low * 100:+.1f} to {found.high * 100:+.1f})"
    informed = cell.informed_against_best.difference * 100
    shuffled = cell.against_shuffled
    return [
        f"<rect x='{x:.0f}' y='{y:.0f}' width='{_WIDTH:.0f}' height='{_HEIGHT:.0f}' rx='6' "
        f"fill='rgb({red},{green},{blue})' stroke='#cbd5e0'/>",
        svg_text(x + 10, y + 22, headline, 14, ink, weight="bold"),
        svg_text(x + 10, y + 40, f"btm {cell.solved['btm'] * 100:.1f} %", 11, soft),
        svg_text(
            x + 10,
            y + 54,
            f"{cell.best.removeprefix('order:')} {cell.solved[cell.best] * 100:.1f} %",
            11,
            soft,
        ),
        svg_text(x + 10, y + 68, f"told the chances {informed:+.1f}", 11, soft),
        svg_text(
            x + 10,
            y + 82,
            f"right - shuffled {shuffled.difference * 100:+.1f} ({shuffled.low * 100:+.0f} to {shuffled.high * 100:+.0f})",
            11,
            soft,
        ),
    ]
