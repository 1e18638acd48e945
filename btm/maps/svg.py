"""A picture of a map as SVG, stroke by stroke: reads, writes, coverage as line weight, dead ends in colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise

from btm.errors import MissingExtraError
from btm.maps.layout import LABEL_CHARACTER, Placed, Point, Size, components, layered
from btm.maps.picture import COLOURS, DEAD_END, Box, Look, Picture, PictureEdge
from btm.maps.strokes import INK, SOFT, svg_document, svg_text

_CHARACTER = 7.3  # the width of one character at 13 px, a little generous
_MARGIN = 28.0
_GROUP_GAP = 40.0
_GRID_WIDTH = 1_000.0
_OFF = tuple(
    15.0 * step * side for step in range(12) for side in (-1, 1)
)  # how far off its line a label may stand


def draw_svg(picture: Picture) -> str:
    """Return the picture as an SVG document of its own size."""
    sizes = {box.key: _size(box) for box in picture.boxes}
    linked = [box for box in picture.boxes if box.key in picture.linked]
    alone = [box for box in picture.boxes if box.key not in picture.linked]
    body: list[str] = []
    y, width = 76.0, 560.0
    for members in components(linked, picture.lines):
        keys = {box.key for box in members}
        lines = [line for line in picture.lines if line.source in keys]
        placed = layered(members, lines, sizes)
        body.extend(_group(members, lines, placed, sizes, (_MARGIN, y)))
        y += placed.height + _GROUP_GAP
        width = max(width, placed.width)
    for title, members in _sections(alone):
        if members:
            drawn, height, wide = _grid(title, members, sizes, y)
            body.extend(drawn)
            y, width = y + height + _GROUP_GAP * 0.6, max(width, wide)
    body.extend(_legend(y))
    title = f"Fallback map: {picture.domain}"
    head = [
        svg_text(_MARGIN, 36, title, 20, INK, weight="bold"),
        svg_text(_MARGIN, 56, _summary(picture), 12),
    ]
    return svg_document(width + 2 * _MARGIN, y + 50, title, [*head, *body])


def _sections(alone: Sequence[Box]) -> tuple[tuple[str, list[Box]], ...]:
    dead = "Dead ends: nothing stands in for these, and they stand in for nothing"
    return (
        (dead, [box for box in alone if box.dead_end]),
        ("Others", [box for box in alone if not box.dead_end]),
    )


def to_png(svg: str) -> bytes:
    """Return an SVG document as PNG. Raises MissingExtraError without the package cairosvg."""
    try:
        cairosvg = import_module("cairosvg")
    except (ImportError, OSError) as problem:  # OSError: the package is there, its system library is not
        raise MissingExtraError("cairosvg", "draw", "a PNG picture of a map") from problem
    made: bytes = cairosvg.svg2png(bytestring=svg.encode(), scale=1.5)
    return made


def _summary(picture: Picture) -> str:
    tools = [box for box in picture.boxes if box.look is not Look.COMPOSITION]
    dead = sum(1 for box in tools if box.dead_end)
    return f"{len(tools)} tools, {len(picture.lines)} stand-ins, {dead} without a way round"


def _size(box: Box) -> tuple[float, float]:
    title = len(box.title) * _CHARACTER
    note = len(box.note) * _CHARACTER * 0.8
    return max(title, note) + 24, 44.0 if box.note else 30.0


def _group(
    boxes: Sequence[Box],
    lines: Sequence[PictureEdge],
    placed: Placed,
    sizes: Mapping[str, tuple[float, float]],
    at: Point,
) -> list[str]:
    dx, dy = at
    drawn: list[str] = []
    labels: list[str] = []
    # Where no label may stand: on another one, given by its centre and half its size, or on a box.
    taken = [
        (x + dx + sizes[key][0] / 2, y + dy + sizes[key][1] / 2, sizes[key][0] / 2, sizes[key][1] / 2)
        for key, (x, y) in placed.corners.items()
    ]
    for line in sorted(lines, key=lambda one: one.coverage):
        stroke = stroke_of(line, placed, sizes, at)
        shade = "#2d3748" if line.coverage >= 0.995 else "#718096"
        dashes = " stroke-dasharray='7 4'" if line.only_for else ""
        drawn.append(
            f"<path d='{stroke.path}' fill='none' stroke='{shade}' stroke-width='{0.8 + 3.2 * line.coverage:.1f}'"
            f" stroke-opacity='0.75'{dashes}/>"
        )
        drawn.append(_arrow(stroke, shade))
        labels.append(_label(stroke, line.label, taken, (dy - 8.0, dy + placed.height + 8.0)))
    boxed = [
        _box(box, placed.corners[box.key][0] + dx, placed.corners[box.key][1] + dy, sizes[box.key])
        for box in boxes
    ]
    return [*drawn, *boxed, *labels]


def _arrow(stroke: Stroke, shade: str) -> str:
    (x, y), direction = stroke.end, stroke.arrow
    return f"<path d='M{x:.1f},{y:.1f} l{9 * direction},-4.5 l0,9 z' fill='{shade}'/>"


def _label(
    stroke: Stroke, text: str, taken: list[tuple[float, float, float, float]], between: tuple[float, float]
) -> str:
    """A label on the line, moved along it, then off it, until it lies on no other label and on no box."""
    width = len(text) * LABEL_CHARACTER + 6
    beside = ((x, y + off) for off in _OFF for x, y in stroke.spots)
    free = (
        (x, y)
        for x, y in beside
        if between[0] <= y <= between[1]
        and all(abs(x - a) > width / 2 + w + 1 or abs(y - b) > 7 + h for a, b, w, h in taken)
    )
    x, y = next(free, stroke.spots[0])
    taken.append((x, y, width / 2, 7.0))
    return (
        f"<rect x='{x - width / 2:.1f}' y='{y - 7:.1f}' width='{width:.1f}' height='14' rx='3' fill='#ffffff'"
        f" fill-opacity='0.9'/>" + svg_text(x, y + 3.5, text, 10, "#2d3748", anchor="middle")
    )


def _box(box: Box, x: float, y: float, size: tuple[float, float]) -> str:
    fill, stroke = COLOURS[box.look]
    width, height = size
    edge, weight = (DEAD_END, 2.2) if box.dead_end else (stroke, 1.2)
    dashes = " stroke-dasharray='3 3'" if box.look is Look.COMPOSITION else ""
    parts = [
        f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' rx='6' fill='{fill}'"
        f" stroke='{edge}' stroke-width='{weight}'{dashes}/>",
        svg_text(x + width / 2, y + 19.5, box.title, 13, INK, anchor="middle"),
    ]
    if box.note:
        parts.append(svg_text(x + width / 2, y + 36, box.note, 10.5, SOFT, anchor="middle"))
    return "".join(parts)


def _grid(
    title: str, boxes: Sequence[Box], sizes: Mapping[str, tuple[float, float]], top: float
) -> tuple[list[str], float, float]:
    drawn = [svg_text(_MARGIN, top + 4, title, 13, SOFT, weight="bold")]
    x, y, row, widest = 0.0, top + 18, 0.0, 0.0
    for box in boxes:
        width, height = sizes[box.key]
        if x and x + width > _GRID_WIDTH:
            x, y, row = 0.0, y + row + 12, 0.0
        drawn.append(_box(box, x + _MARGIN, y, (width, height)))
        x, row, widest = x + width + 12, max(row, height), max(widest, x + width)
    return drawn, y + row - top, widest


def _legend(y: float) -> list[str]:
    drawn = []
    x = _MARGIN
    entries = [
        Box("", "read", Look.READ), Box("", "write", Look.WRITE), Box("", "no way round", Look.READ, dead_end=True),
        Box("", "calls in a row", Look.COMPOSITION),
    ]  # fmt: skip
    for box in entries:
        width = len(box.title) * _CHARACTER + 16
        drawn.append(_box(box, x, y, (width, 28)))
        x += width + 10
    for name, weight, dashes in (
        ("partial", 2.7, ""),
        ("full", 4.0, ""),
        ("for some errors", 2.7, " stroke-dasharray='7 4'"),
    ):
        drawn.append(
            f"<path d='M{x + 8:.0f},{y + 14:.0f} h34' stroke='#4a5568' stroke-width='{weight}'{dashes}/>"
            + svg_text(x + 48, y + 18, name, 12)
        )
        x += 58 + len(name) * 6.6
    return drawn


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
