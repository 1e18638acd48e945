"""A reliability diagram: of what was foretold with 70 %, did 70 % happen? As bins, and as a picture (SVG)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from btm.lab.calibration import Calibration
from btm.lab.forecasts import Method
from btm.lab.intervals import Interval, wilson
from btm.maps.strokes import INK, SOFT, svg_document, svg_text
from btm.support.untrusted import cut

BINS = 10

_SIZE = 400.0  # of the square, in pixels
_LEFT, _TOP = 68.0, 96.0
_STRIP = 64.0  # height of the bars that count attempts
_WIDTH = _LEFT + _SIZE + 36.0
_GRID = "#e2e8f0"
_POOLED, _RAW = "#2b6cb0", "#c05621"


@dataclass(frozen=True, slots=True)
class Bin:
    """Attempts foretold with about the same chance: how many, the mean forecast, and the share that worked.

    The interval is Wilson's, which takes attempts for independent; those of one conversation are not quite.
    """

    n: int
    foretold: float
    happened: float
    interval: Interval


def bins(forecasts: NDArray[np.float64], outcomes: NDArray[np.float64], count: int = BINS) -> tuple[Bin, ...]:
    """Return the bins of equal width that hold any attempt, lowest chance first."""
    places = np.minimum((forecasts * count).astype(int), count - 1)
    found = []
    for place in np.unique(places):
        here = places == place
        n, worked = int(here.sum()), round(float(outcomes[here].sum()))
        found.append(Bin(n, float(forecasts[here].mean()), worked / n, wilson(worked, n)))
    return tuple(found)


def calibration_error(found: Sequence[Bin]) -> float:
    """Return the expected calibration error: the mean distance of forecast and share, weighted by attempts."""
    total = sum(b.n for b in found)
    return sum(b.n * abs(b.foretold - b.happened) for b in found) / total if total else 0.0


def draw(calibration: Calibration, subject: str = "") -> str:
    """Return the diagram of the pooled posterior, with the raw rates beside it, as an SVG document."""
    pooled = bins(calibration.forecasts[Method.POOLED], calibration.outcomes)
    raw = bins(calibration.forecasts[Method.RAW], calibration.outcomes)
    attempts = len(calibration.outcomes)
    height = _TOP + _SIZE + 46 + _STRIP + 96
    largest = max(math.sqrt(b.n) for b in (*pooled, *raw))
    title = "What was foretold, and what happened"
    errors = f"pooled {calibration_error(pooled):.3f}, raw rate {calibration_error(raw):.3f}"
    body = [
        svg_text(_LEFT, 32, title, 17, INK, weight="bold"),
        svg_text(
            _LEFT, 54, cut(f"{attempts:,} held-out attempts{f', {subject}' if subject else ''}", 68), 12
        ),
        svg_text(_LEFT, 72, f"expected calibration error: {errors}", 12),
        *_grid(),
        *(_mark(b, largest, round_=False) for b in raw),
        *(_whisker(b) for b in pooled),
        *(_mark(b, largest, round_=True) for b in pooled),
        *_strip(pooled),
        *_legend(_TOP + _SIZE + 46 + _STRIP + 44),
    ]
    return svg_document(_WIDTH, height, title, body)


def _x(value: float) -> float:
    return _LEFT + value * _SIZE


def _y(value: float) -> float:
    return _TOP + (1.0 - value) * _SIZE


def _grid() -> list[str]:
    drawn = []
    for step in range(6):
        value = step / 5
        drawn += [
            f"<line x1='{_x(value):.1f}' y1='{_y(0):.1f}' x2='{_x(value):.1f}' y2='{_y(1):.1f}' stroke='{_GRID}'/>",
            f"<line x1='{_x(0):.1f}' y1='{_y(value):.1f}' x2='{_x(1):.1f}' y2='{_y(value):.1f}' stroke='{_GRID}'/>",
            svg_text(_x(value), _y(0) + 18, f"{value:.1f}", 12, anchor="middle"),
            svg_text(_x(0) - 10, _y(value) + 4, f"{value:.1f}", 12, anchor="end"),
        ]
    middle = _y(0.5)
    return [
        *drawn,
        f"<line x1='{_x(0):.1f}' y1='{_y(0):.1f}' x2='{_x(1):.1f}' y2='{_y(1):.1f}' "
        f"stroke='{SOFT}' stroke-dasharray='5 5'/>",
        f"<g transform='rotate(-90 22 {middle:.1f})'>"
        + svg_text(22, middle, "share that worked", 13, INK, anchor="middle")
        + "</g>",
    ]


def _mark(b: Bin, largest: float, *, round_: bool) -> str:
    x, y, size = _x(b.foretold), _y(b.happened), 3.0 + 9.0 * math.sqrt(b.n) / largest
    if round_:
        return (
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{size:.1f}' fill='{_POOLED}' fill-opacity='0.85'>"
            f"<title>{b.n} attempts: foretold {b.foretold:.3f}, happened {b.happened:.3f}</title></circle>"
        )
    return (
        f"<rect x='{x - size:.1f}' y='{y - size:.1f}' width='{2 * size:.1f}' height='{2 * size:.1f}' fill='none' "
        f"stroke='{_RAW}' stroke-width='1.5'>"
        f"<title>{b.n} attempts: foretold {b.foretold:.3f}, happened {b.happened:.3f}</title></rect>"
    )


def _whisker(b: Bin) -> str:
    x = _x(b.foretold)
    return (
        f"<line x1='{x:.1f}' y1='{_y(b.interval.low):.1f}' x2='{x:.1f}' y2='{_y(b.interval.high):.1f}' "
        f"stroke='{_POOLED}' stroke-width='2'/>"
    )


def _strip(found: Sequence[Bin]) -> list[str]:
    """Draw how many attempts each chance was foretold for, below the square and on the same axis."""
    bottom = _y(0) + 46 + _STRIP
    most = max(b.n for b in found)
    drawn = [f"<line x1='{_x(0):.1f}' y1='{bottom:.1f}' x2='{_x(1):.1f}' y2='{bottom:.1f}' stroke='{SOFT}'/>"]
    width = _SIZE / BINS
    for b in found:
        left = _x(min(int(b.foretold * BINS), BINS - 1) / BINS)
        tall = (_STRIP - 16) * b.n / most
        drawn += [
            f"<rect x='{left + 2:.1f}' y='{bottom - tall:.1f}' width='{width - 4:.1f}' height='{tall:.1f}' "
            f"fill='{_POOLED}' fill-opacity='0.35'/>",
            svg_text(left + width / 2, bottom - tall - 4, f"{b.n:,}", 11, anchor="middle"),
        ]
    return [
        *drawn,
        svg_text(
            _x(0.5), bottom + 18, "foretold chance, and attempts foretold with it", 13, INK, anchor="middle"
        ),
    ]


def _legend(y: float) -> list[str]:
    return [
        f"<circle cx='{_LEFT + 7:.1f}' cy='{y - 4:.1f}' r='7' fill='{_POOLED}' fill-opacity='0.85'/>",
        svg_text(_LEFT + 22, y, "pooled posterior, with the 95 % interval of the share", 12),
        f"<rect x='{_LEFT + 1:.1f}' y='{y + 12:.1f}' width='12' height='12' fill='none' stroke='{_RAW}' "
        "stroke-width='1.5'/>",
        svg_text(_LEFT + 22, y + 22, "raw rate of the key; larger marks stand for more attempts", 12),
    ]
