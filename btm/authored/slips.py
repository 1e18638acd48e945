"""What somebody slipped on where a text is no YAML: tabs, indentation, a missing colon, what was not closed.

YAML's own parser says what it was doing; its writer wants to know which character to change.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Slip(NamedTuple):
    """What is wrong, what was expected there, and where: ``line`` and ``column`` count from 1."""

    what: str
    expected: str
    line: int
    column: int


_KEY = re.compile(r"\s*(?:- )?[\w.\-]+\s*$")
_GLUED = re.compile(r"\s*([a-z_]{2,30})(?::| )(?!\s|/)([^:\n]{1,60})\Z")


def slip_of(text: str, line: int, column: int, said: str) -> Slip | None:
    """Return the slip behind what YAML's parser ``said`` of a place; None where nothing simple explains it."""
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return None
    here = lines[line - 1]
    if "\t" in here[: len(here) - len(here.lstrip())]:
        return Slip("a tab indents this line", "spaces: YAML takes no tabs there", line, here.index("\t") + 1)
    if "mapping values are not allowed" in said or "could not find expected ':'" in said:
        return _colon(lines, line)
    if "did not find expected key" in said or "did not find expected '-' indicator" in said:
        return _indent(lines, line)
    if here[column - 1 : column] in ("[", "{"):
        return Slip("this bracket is not YAML: it is never closed", "its closing bracket", line, column)
    if "did not find expected ',' or" in said:
        what = (
            "a bracket or brace before this is not closed"
            if ":" in here
            else "something is missing before this"
        )
        at = column if here[column - 1 : column] != ":" else len(here) - len(here.lstrip()) + 1
        return Slip(f"this is not YAML: {what}", "',' or the closing bracket", line, at)
    if "quoted scalar" in said:
        return Slip(
            "a quoted text that begins here is not closed", "the same quote at its end", line, _quote(here)
        )
    return None


def _colon(lines: list[str], line: int) -> Slip:
    """A key without its colon stands on the line above, or a text on this one holds one."""
    for number in range(line - 1, 0, -1):
        before = lines[number - 1]
        if before.strip() and not before.lstrip().startswith("#"):
            if _KEY.match(before):
                name = before.strip().removeprefix("- ")
                return Slip(f"{name!r} has no colon", f"{name}:", number, len(before.rstrip()) + 1)
            break
    here = lines[line - 1]
    place = here.find(": ", here.find(":") + 1)
    return Slip(
        "there is a second ': ' in this line", "a text with ': ' in it in quotes", line, max(place, 0) + 1
    )


def _indent(lines: list[str], line: int) -> Slip:
    """Its indentation is that of no block that it could belong to."""
    here = lines[line - 1]
    depth = len(here) - len(here.lstrip(" "))
    outer = sorted(
        {
            len(b) - len(b.lstrip(" "))
            for b in lines[: line - 1]
            if b.strip() and not b.lstrip().startswith("#")
        }
    )
    near = [str(one) for one in outer if abs(one - depth) <= 3 and one != depth]
    wanted = f"{' or '.join(near)} spaces" if near else "the indentation of a line above"
    return Slip(
        f"this line is indented by {depth} spaces, which no line above it is", wanted, line, depth + 1
    )


def _quote(here: str) -> int:
    places = [here.find(mark) for mark in ("'", '"') if mark in here]
    return min(places) + 1 if places else 1


def colon_meant(text: str) -> str:
    """Return what a text such as ``effect:read`` or ``effect read`` was to be, ``""`` where it looks like neither."""
    found = _GLUED.match(text)
    return f"{found.group(1)}: {found.group(2).strip()}" if found else ""
