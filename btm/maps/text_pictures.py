"""A picture of a map as text: Mermaid and DOT for other programs, a tree for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text
from rich.tree import Tree

from btm.maps.picture import COLOURS, DEAD_END, Box, Look, Picture, PictureEdge

_STYLE = {
    Look.READ: "cyan",
    Look.WRITE: "yellow",
    Look.ESCALATION: "magenta",
    Look.REPAIR: "green",
    Look.COMPOSITION: "dim",
}


def draw_mermaid(picture: Picture) -> str:
    """Return the picture as a Mermaid flowchart."""
    ids = {box.key: f"n{index}" for index, box in enumerate(picture.boxes)}
    out = ["flowchart LR"]
    for box in picture.boxes:
        text = _quoted(box.title) + (f"<br/><small>{_quoted(box.note)}</small>" if box.note else "")
        out.append(f'  {ids[box.key]}["{text}"]:::{"dead" if box.dead_end else box.look.value}')
    for line in picture.lines:
        arrow = "-.->" if line.only_for else "==>" if line.coverage >= 0.995 else "-->"
        out.append(f'  {ids[line.source]} {arrow}|"{_quoted(line.label)}"| {ids[line.target]}')
    for look, (fill, stroke) in COLOURS.items():
        dashes = ",stroke-dasharray:3 3" if look is Look.COMPOSITION else ""
        out.append(f"  classDef {look.value} fill:{fill},stroke:{stroke},color:#1a202c{dashes}")
    out.append(f"  classDef dead fill:#fff5f5,stroke:{DEAD_END},stroke-width:2px,color:#1a202c")
    return "\n".join(out) + "\n"


def draw_dot(picture: Picture) -> str:
    """Return the picture in Graphviz' DOT language."""
    out = [
        "digraph fallbacks {",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded,filled", fontname="Helvetica"];',
    ]
    for box in picture.boxes:
        label = _dot(box.title) + (f"\\n{_dot(box.note)}" if box.note else "")
        edge = f', color="{DEAD_END}", penwidth=2' if box.dead_end else ""
        fill, _ = COLOURS[box.look]
        out.append(f'  "{_dot(box.key)}" [label="{label}", fillcolor="{fill}"{edge}];')
    for line in picture.lines:
        style = ", style=dashed" if line.only_for else ""
        out.append(
            f'  "{_dot(line.source)}" -> "{_dot(line.target)}"'
            f' [label="{_dot(line.label)}", penwidth={0.8 + 3.2 * line.coverage:.1f}{style}];'
        )
    return "\n".join([*out, "}"]) + "\n"


def draw_tree(picture: Picture) -> Tree:
    """Return the picture as a tree for the terminal: each tool, and under it what stands in for it."""
    boxes = {box.key: box for box in picture.boxes}
    outgoing: dict[str, list[PictureEdge]] = {}
    for line in picture.lines:
        outgoing.setdefault(line.source, []).append(line)
    tree = Tree(Text(f"fallback map: {picture.domain}", style="bold"))
    for box in picture.boxes:
        if box.look is not Look.COMPOSITION:
            branch = tree.add(_named(box))
            for line in sorted(outgoing.get(box.key, []), key=lambda one: -one.coverage):
                branch.add(_stand_in(line, boxes))
    return tree


def _named(box: Box) -> Text:
    text = Text(box.title, style=_STYLE[box.look])
    text.append(f"  {box.look.value}", style="dim")
    if box.note and box.note != box.look.value:
        text.append(f"  {box.note}", style="dim")
    if box.dead_end:
        text.append("  no way round", style="red")
    return text


def _stand_in(line: PictureEdge, boxes: Mapping[str, Box]) -> Text:
    bar = "━" * max(1, round(line.coverage * 5))
    text = Text(f"{bar:<5} ", style="green" if line.coverage >= 0.995 else "dim")
    text.append(boxes[line.target].title)
    text.append(f"  {line.label}", style="dim")
    if line.only_for:
        text.append(f"  only for {', '.join(line.only_for)}", style="dim")
    return text


def _quoted(text: str) -> str:
    cleaned = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return cleaned.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "#quot;")


def _dot(text: str) -> str:
    cleaned = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return cleaned.replace("\\", "\\\\").replace('"', '\\"')
