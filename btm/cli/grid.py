"""``btm eval --grid``: the heterogeneous profile over contrast, budget and passes, as a table, a document, a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from btm.cli.output import check_writable, console, counted, emit_json, paragraph, progress, table, write_file
from btm.errors import EvaluationError
from btm.lab.names import comma_separated

if TYPE_CHECKING:
    from btm.lab.grid import Cell
    from btm.lab.request import Request


def read_contrasts(value: str) -> tuple[float, ...]:
    """Read ``--contrast``: numbers in [0, 1], separated by commas. Raises EvaluationError for anything else."""
    found = tuple(_number(part, "--contrast") for part in comma_separated(value))
    if not found or not all(0.0 <= number <= 1.0 for number in found):
        raise EvaluationError(f"--contrast is one or more numbers from 0 to 1, not {value!r}")
    return found


def read_allowances(value: str) -> tuple[tuple[float, float], ...]:
    """Read ``--allowance``: ranges such as ``1.5-2.5``, separated by commas. Raises EvaluationError for anything else."""
    found: list[tuple[float, float]] = []
    for part in comma_separated(value):
        low, _, high = part.partition("-")
        bounds = _number(low, "--allowance"), _number(high or low, "--allowance")
        if not 0.0 <= bounds[0] <= bounds[1]:
            raise EvaluationError(f"--allowance goes from a smaller number to a larger one, not {part!r}")
        found.append(bounds)
    if not found:
        raise EvaluationError(f"--allowance is one or more ranges such as 1.5-2.5, not {value!r}")
    return tuple(found)


def read_passes(value: str) -> tuple[int, ...]:
    """Read ``--passes``: whole numbers from 1, separated by commas. Raises EvaluationError for anything else."""
    parts = comma_separated(value)
    if not parts or not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise EvaluationError(f"--passes is one or more whole numbers from 1, not {value!r}")
    return tuple(int(part) for part in parts)


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise EvaluationError(f"{option} is made of numbers, not {text!r}") from None


def show_grid(
    request: Request,
    contrasts: Sequence[float],
    allowances: Sequence[tuple[float, float]],
    passes: Sequence[int],
    *,
    picture: str | None,
    html: str | None,
    as_json: bool,
) -> None:
    """Run a grid, and print it; ``picture`` is the SVG file to draw it into, ``html`` a page with that and the numbers."""
    from btm.lab.grid import run_grid  # noqa: PLC0415 - only this command needs it
    from btm.lab.grid_picture import draw_grid, grid_page  # noqa: PLC0415
    from btm.lab.jsonvalue import rounded  # noqa: PLC0415

    if picture is not None:
        check_writable(picture)
    with progress("evaluating", "episodes") as tell:
        cells = run_grid(request, contrasts, allowances, passes, progress=tell)
    subject = f"{request.domain}, seed {request.faults.seed}"
    if picture is not None:
        write_file(picture, draw_grid(cells, subject))
    if html is not None:
        write_file(html, grid_page(cells, subject, request))
    if as_json:
        emit_json(
            {
                "domain": request.domain,
                "seed": request.faults.seed,
                "cells": [rounded(asdict(c)) for c in cells],
            }
        )
    else:
        _print(request, cells)


def _print(request: Request, cells: Sequence[Cell]) -> None:
    out = console()
    paragraph(
        out,
        f"{request.domain}, seeds {request.faults.seed} to {request.faults.seed + request.worlds - 1}: points that btm "
        f"solves more than the best fixed order in hindsight, on {counted(cells[0].episodes, 'episode')} a cell, with 95 % "
        f"over {counted(request.worlds, 'world')} and their tasks.",
    )
    out.print()
    columns = ("passes", "contrast", "budget", "btm", "best", "ahead", "95 %", "told", "shuffled")
    rows = (
        (
            cell.passes,
            f"{cell.contrast:g}",
            "{:g}-{:g}".format(*cell.allowance),
            _percent(cell.solved["btm"]),
            _percent(cell.solved[cell.best]),
            f"{cell.against_best.difference * 100:+.1f}",
            f"{cell.against_best.low * 100:+.0f} to {cell.against_best.high * 100:+.0f}",
            _percent(cell.solved["btm:informed"]),
            _percent(cell.solved["btm:shuffled"]),
            cell.best.removeprefix("order:"),
        )
        for cell in cells
    )
    out.print(table(*(f">{name}" for name in columns), "best order", rows=rows))
    out.print()
    paragraph(
        out, "told: btm told the true chances. shuffled: btm with its evidence dealt out to other keys."
    )
    _print_kinds(cells)
    behind = [cell for cell in cells if cell.against_best.difference < 0]
    paragraph(out, f"btm is behind in {len(behind)} of {counted(len(cells), 'cell')}.")


def _print_kinds(cells: Sequence[Cell]) -> None:
    """Print what was solved by kind of fault, over all cells: an episode counts under each kind on its path."""
    out = console()
    rows = table("fault", ">episodes", ">btm", ">best order", ">shuffled", ">told")
    for kind in dict.fromkeys(row.kind for cell in cells for row in cell.by_kind):
        found = [row for cell in cells for row in cell.by_kind if row.kind == kind]
        number = sum(row.episodes for row in found)
        rates = (
            _percent(sum(getattr(row, name) * row.episodes for row in found) / number)
            for name in ("btm", "best", "shuffled", "informed")
        )
        rows.add_row(kind, str(number), *rates)
    out.print()
    out.print(rows)
    out.print()


def _percent(rate: float) -> str:
    return f"{rate * 100:.1f}"
