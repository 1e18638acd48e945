"""The pictures of a map: what it offers, for people."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from btm.errors import MissingExtraError
from btm.fallback import FallbackMap
from btm.maps.layout import components, layered
from btm.maps.picture import Box, Look, PictureEdge, picture_of
from btm.maps.svg import draw_svg, to_png
from btm.maps.text_pictures import draw_dot, draw_mermaid, draw_tree
from btm.model import Action, ErrorKind, EvidenceKey

MAP = FallbackMap.from_text("""
version: 1
domain: "<shop> & co"
tools:
  a:
    effect: read
    fallbacks:
      - {tool: b, coverage: 0.9, lacks: [x], gives: [z]}
      - {tool: c, coverage: 0.5, only_for: [timeout]}
      - {via: [c, {tool: d, arguments: {}}], coverage: 0.8, cost: 3}
  b: {effect: read, fallbacks: [{tool: c, coverage: 0.8, lacks: [y], gives: [x, z]}]}
  c: {effect: read, fallbacks: [{tool: a, coverage: full}]}
  d: {effect: read}
  "w<&\\">": {effect: write, irreversible: true, verify: {tool: a}}
  mend: {role: repair}
  human: {role: escalation}
""")
ROWS = [(EvidenceKey("a", ErrorKind.TIMEOUT, Action.SWITCH, "b", 1), 3.0, 1.0)]


def test_the_svg_is_well_formed_and_shows_every_tool() -> None:
    svg = draw_svg(picture_of(MAP, ROWS))
    root = ET.fromstring(svg)
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {*MAP.tools, "Fallback map: <shop> & co", "c → d", "90% · worked 3 of 4"} <= texts
    assert "7 tools, 5 stand-ins" in " ".join(t or "" for t in texts)


def test_the_picture_is_the_same_every_time() -> None:
    assert draw_svg(picture_of(MAP)) == draw_svg(picture_of(MAP))


def test_dead_ends_stand_out() -> None:
    boxes = {box.key: box for box in picture_of(MAP).boxes}
    assert {key for key, box in boxes.items() if box.dead_end} == {"d", 'w<&">'}
    assert boxes["mend"].look is Look.REPAIR


def test_mermaid_and_dot_name_every_line() -> None:
    mermaid, dot = draw_mermaid(picture_of(MAP)), draw_dot(picture_of(MAP))
    assert len(re.findall(r"n\d+ (?:-->|==>|-\.->)\|", mermaid)) == 5
    assert "w&lt;&amp;#quot;&gt;" in mermaid
    assert dot.count(" -> ") == 5
    assert '"w<&\\""' not in dot
    assert '"w<&\\">"' in dot


def test_the_tree_shows_what_stands_in_for_what() -> None:
    console = Console(width=100, color_system=None)
    with console.capture() as captured:
        console.print(draw_tree(picture_of(MAP)))
    shown = captured.get()
    assert "only for timeout" in shown
    assert "no way round" in shown
    assert shown.index("b  90%") < shown.index("c → d  80%")


def test_png_needs_its_package_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("btm.maps.svg.import_module", absent)
    with pytest.raises(MissingExtraError, match="cairosvg"):
        to_png("<svg/>")


@settings(max_examples=30)
@given(st.integers(2, 40).flatmap(lambda n: st.tuples(st.just(n), st.sets(
    st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1]), max_size=60
))))  # fmt: skip
def test_no_two_boxes_lie_on_each_other(drawn: tuple[int, set[tuple[int, int]]]) -> None:
    count, edges = drawn
    boxes = [Box(f"t{i}", f"t{i}", Look.READ) for i in range(count)]
    lines = [PictureEdge(f"t{a}", f"t{b}", 1.0, "") for a, b in sorted(edges)]
    sizes = {box.key: (60.0 + 10 * (i % 7), 30.0) for i, box in enumerate(boxes)}
    groups = components(boxes, lines)
    assert sorted(box.key for group in groups for box in group) == sorted(box.key for box in boxes)
    for group in groups:
        keys = {box.key for box in group}
        placed = layered(group, [line for line in lines if line.source in keys], sizes)
        assert set(placed.corners) == keys
        for a, b in combinations(sorted(keys), 2):
            (ax, ay), (bx, by) = placed.corners[a], placed.corners[b]
            (aw, ah), (bw, bh) = sizes[a], sizes[b]
            assert ax + aw <= bx or bx + bw <= ax or ay + ah <= by or by + bh <= ay
        assert all(x >= 0 and y >= 0 for x, y in placed.corners.values())


def test_no_label_of_a_picture_lies_on_a_box() -> None:
    tools = "".join(
        f"  get_thing_{n}:\n    effect: read\n    fallbacks:\n"
        + "".join(f"      - {{tool: find_thing_{m}, coverage: 0.{m + 3}}}\n" for m in range(3))
        for n in range(4)
    )
    others = "".join(f"  find_thing_{m}: {{effect: read}}\n" for m in range(3))
    model = FallbackMap.from_text(f"version: 1\ndomain: d\ntools:\n{tools}{others}")
    rows = [
        (EvidenceKey(f"get_thing_{n}", ErrorKind.TIMEOUT, Action.SWITCH, f"find_thing_{m}", 1), 30.0, 11.0)
        for n in range(4)
        for m in range(3)
    ]
    svg = draw_svg(picture_of(model, rows))
    rects = re.findall(r"<rect x='([\d.-]+)' y='([\d.-]+)' width='([\d.]+)' height='([\d.]+)' rx='(\d)'", svg)
    places = [(rx, *map(float, (x, y, w, h))) for x, y, w, h, rx in rects]
    boxes = [one[1:] for one in places if one[0] == "6"]
    labels = [one[1:] for one in places if one[0] == "3"]
    assert len(labels) == 12
    for x, y, w, h in labels:
        assert not any(x < a + c and a < x + w and y < b + d and b < y + h for a, b, c, d in boxes)
