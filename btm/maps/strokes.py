"""What every drawing is made of: a document, and lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

INK, SOFT = "#1a202c", "#4a5568"


def svg_document(width: float, height: float, title: str, body: Sequence[str]) -> str:
    """Return an SVG document of its parts, on white."""
    head = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0f}' height='{height:.0f}' "
        f"viewBox='0 0 {width:.0f} {height:.0f}'>",
        f"<title>{escape(title)}</title>",
        "<rect width='100%' height='100%' fill='#ffffff'/>",
    ]
    return "\n".join([*head, *body, "</svg>", ""])


def svg_text(
    x: float,
    y: float,
    text: str,
    size: float,
    fill: str = SOFT,
    *,
    anchor: str = "start",
    weight: str = "normal",
) -> str:
    """Return a line of text; ``anchor`` says which end of it stands at ``x``: start, middle or end."""
    shown = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-family='Helvetica, Arial, sans-serif' font-size='{size}'"
        f" font-weight='{weight}' fill='{fill}' text-anchor='{anchor}'>{escape(shown)}</text>"
    )
