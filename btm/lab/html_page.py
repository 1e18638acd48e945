"""Self-contained pages of HTML: they need no script, no network and no other file.

Nothing is told by colour alone, all foreign text is escaped, and what would steer a reader's screen (control characters,
marks that turn the direction of writing) is replaced.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

import btm

_WORD = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Chance:
    """A chance with its interval and the evidence behind it, to be drawn."""

    label: str
    mean: float
    low: float
    high: float
    n: float


@dataclass(frozen=True)
class Section:
    """A part of a page: a heading, a picture (SVG of our own making), chances, and a table."""

    heading: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    chances: Sequence[Chance] = ()
    picture: str = ""

    @property
    def words(self) -> frozenset[int]:
        """The columns of words, by number: they stand left, and are broken into lines."""
        return frozenset(n for n in range(len(self.columns)) if any(_WORD.match(row[n]) for row in self.rows))


def versions() -> str:
    """Return what a page was made with."""
    return f"btm {btm.__version__}, Python {platform.python_version()}"


def table_page(title: str, about: str, sections: Sequence[Section], facts: Mapping[str, str]) -> str:
    """Return a page of tables and chances."""
    made = {**facts, "versions": versions()}
    return render_page("table_page.html", title=title, about=about, sections=sections, facts=made)


def render_page(template: str, **values: Any) -> str:
    """Return a page from one of the templates beside this module."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
        loader=jinja2.FunctionLoader(lambda name: (files("btm.lab") / name).read_text("utf-8")),
    )
    made.filters["percent"] = lambda rate: f"{rate * 100:.0f} %"
    made.filters["points"] = lambda rate: f"{rate * 100:+.0f}"
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup) and not value.isprintable():
        return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in value)
    return value
