"""The course of one line of a picture: a smooth path, where its arrow ends, and where its label may stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from btm.maps.layout import Placed, Point, Size
from btm.maps.picture import PictureEdge

_SHARES = (0.5, 0.38, 0.62, 0.28, 0.72, 0.2, 0.8)


@dataclass(frozen=True, slots=True)
class Stroke:
    """An SVG path; ``arrow`` is -1 when it enters its end from the left, +1 from the right."""

    path: str
    end: Point
    arrow: int
    spots: tuple[Point, ...]


def stroke_of(line: PictureEdge, placed: Placed, sizes: Mapping[str, Size], by: Point) -> Stroke:
    """Return a line's course, moved by ``by``.

    Lines to the right run over their joints; lines back to the left stay lower on both boxes, so that they do not
    lie on the line forward; within one layer a line is an arc on the right.
    """
    (sx, sy), (tx, ty) = _moved(placed.corners[line.source], by), _moved(placed.corners[line.target], by)
    (sw, sh), (tw, th) = sizes[line.source], sizes[line.target]
    if sx + sw <= tx:
        joints = [_moved(joint, by) for joint in placed.joints.get((line.source, line.target), [])]
        return _along([(sx + sw, sy + sh / 2 - 5), *joints, (tx, ty + th / 2 - 5)])
    if tx + tw <= sx:
        return _along([(sx, sy + sh / 2 + 6), (tx + tw, ty + th / 2 + 6)])
    down = 1 if sy < ty else -1
    return _arc(
        (sx + sw, sy + sh / 2 + 4 * down), (tx + tw, ty + th / 2 - 4 * down), 45.0 if down > 0 else 75.0
    )


def _moved(point: Point, by: Point) -> Point:
    return point[0] + by[0], point[1] + by[1]


def _along(points: Sequence[Point]) -> Stroke:
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x1, y1), (x2, y2) in pairwise(points):
        middle = (x1 + x2) / 2
        path += f" C{middle:.1f},{y1:.1f} {middle:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"
    (x1, y1), (x2, y2) = points[0], points[1]
    # The height of such a curve at a share of its width is close to this polynomial.
    spots = tuple((x1 + (x2 - x1) * t, y1 + (y2 - y1) * t * t * (3 - 2 * t)) for t in _SHARES)
    return Stroke(path, points[-1], -1 if points[-2][0] < points[-1][0] else 1, spots)


def _arc(start: Point, end: Point, reach: float) -> Stroke:
    (x1, y1), (x2, y2) = start, end
    side = max(x1, x2) + reach
    path = f"M{x1:.1f},{y1:.1f} C{side:.1f},{y1:.1f} {side:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"
    spots = tuple(
        (
            x1 * (1 - t) ** 3 + 3 * side * t * (1 - t) + x2 * t**3,
            y1 * ((1 - t) ** 3 + 3 * t * (1 - t) ** 2) + y2 * (t**3 + 3 * t * t * (1 - t)),
        )
        for t in _SHARES
    )
    return Stroke(path, end, 1, spots)
