"""Reading a recovery context as a model would: what it says to do next and then, from its text alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from btm.model import Action


@dataclass(frozen=True, slots=True)
class Instruction:
    """What a context says to do next. ``arguments`` is None where it names none.

    ``missing`` are arguments the context leaves to the agent; ``wait_s`` is how long to wait before. ``again`` is
    the tool to call again after a repair.
    """

    action: Action
    tool: str = ""
    arguments: Mapping[str, Any] | None = None
    missing: tuple[str, ...] = ()
    wait_s: float = 0.0
    again: str = ""


_VERBS: Mapping[str, Action] = {
    **{action.value: action for action in Action},
    "stop": Action.ABANDON,
    "call": Action.REVISE,
}
_LINE = re.compile(
    r"^[\s>*_`#-]*(?:next|then)[\s*_`]*:[\s*_`]*(?:do something else first; )?"
    r"(?P<verb>[a-z]+)(?P<rest>.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_TOOL = re.compile(
    r"^\W*(?:(?:to|with|using|by|calling|the|arguments|of)\b\W*)*(?P<tool>[A-Za-z_](?:[\w./-]*\w)?)"
)
_ABOUT = re.compile(r"^[\s>*_`#-]*about[\s*_`]*:[\s*_`]*(?P<tool>[\w./-]+)(?P<rest>.*)$", re.MULTILINE)
_HELD = re.compile(r"^next: verify with .* what .* gave$", re.MULTILINE)
_CHECK = re.compile(
    r"^(?:check|next): (?P<before>before you change anything, )?verify(?P<rest> with .* what .* gave)$",
    re.MULTILINE,
)
_DOWN = re.compile(r"^down: (?P<tool>[\w./-]+) .*?Instead, switch(?P<rest> to .*)$", re.MULTILINE)
_BLANK = re.compile(r"\{[\w./:-]+\}")
_AGAIN = re.compile(r"\bthen retry (?P<tool>[\w./-]*\w)")
_WAY_OUT = re.compile(r"^escalate: with (?P<tool>[\w./-]*\w), if you cannot go on", re.MULTILINE)
_GO_ON = re.compile(r"^next: go on with what (?P<tool>[\w./-]+) gave", re.MULTILINE)
_WAIT = re.compile(r"(?:\bafter\s+|\()(?P<seconds>\d+(?:\.\d+)?)\s*s\b", re.IGNORECASE)
_MISSING = re.compile(r"\bfill in\s+(?P<names>[\w./-]+(?:,\s+(?!then\b)[\w./-]+)*)", re.IGNORECASE)


def instructions(text: str) -> tuple[Instruction, ...]:
    """Return what a context's ``next: ...`` and ``then: ...`` lines say, in order; other lines say nothing to do."""
    read = (_read(found["verb"].lower(), found["rest"]) for found in _LINE.finditer(text))
    return tuple(said for said in read if said is not None)


def standing(text: str, tool: str, *, writes: bool) -> tuple[Instruction, ...]:
    """Return what notices say to do before (or instead of) a call of ``tool``: checks to make, or what to call instead.

    ``writes`` says whether the tool changes something.
    """
    checks = (line for line in _CHECK.finditer(text) if line["before"] is None or writes)
    down = (line for line in _DOWN.finditer(text) if line["tool"] == tool)
    read = [
        *(_read("verify", line["rest"]) for line in checks),
        *(_read("switch", line["rest"]) for line in down),
    ]
    return tuple(said for said in read if said is not None)


def filled_in(said: Instruction, mine: Mapping[str, Any]) -> Instruction | None:
    """Return an instruction whose blanks, such as ``{email}``, are filled from arguments; None where one is not there."""
    blanks = {f"{{{name}}}": value for name, value in mine.items()}
    try:
        return replace(said, arguments=_filled(said.arguments, blanks))
    except KeyError:
        return None


def _filled(value: Any, blanks: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: _filled(inner, blanks) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, blanks) for inner in value]
    if not isinstance(value, str):
        return value
    if value in blanks:
        return blanks[value]
    return _BLANK.sub(lambda found: str(blanks[found[0]]), value)


def held_back(text: str) -> bool:
    """Whether a call was not made because what it rests on is to be checked first; it is to be made again after that."""
    return _HELD.search(text) is not None


def goes_on_with(text: str) -> str:
    """Return the tool whose doubtful answer is to be gone on with, or ``""``."""
    found = _GO_ON.search(text)
    return found["tool"] if found else ""


def way_out(text: str) -> str:
    """Return the tool that hands over to a human if one cannot go on with a doubtful answer, or ``""``."""
    found = _WAY_OUT.search(text)
    return found["tool"] if found else ""


def about(text: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the earlier call that a context is about, or None when it is about the call just made."""
    found = _ABOUT.search(text)
    return (found["tool"], _split(found["rest"])[1] or {}) if found else None


def _read(verb: str, rest: str) -> Instruction | None:
    action = _VERBS.get(verb)
    if action is None:
        return None
    before, arguments, after = _split(rest)
    tool, wait, missing = _TOOL.match(before), _WAIT.search(after), _MISSING.search(after)
    again = _AGAIN.search(after)
    return Instruction(
        action,
        tool["tool"] if tool else "",
        arguments,
        tuple(missing["names"].replace(" ", "").split(",")) if missing else (),
        float(wait["seconds"]) if wait else 0.0,
        again["tool"] if again else "",
    )


def _split(rest: str) -> tuple[str, Mapping[str, Any] | None, str]:
    """Split a line at its first JSON object: the text before, the object (None if it is cut), the text after."""
    start = rest.find("{")
    if start < 0:
        return rest, None, rest
    try:
        value, length = json.JSONDecoder().raw_decode(rest[start:])
    except ValueError:
        return rest[:start], None, rest[start:]
    return rest[:start], value, rest[start + length :]
