"""Values as languages print them: Python, PHP, Ruby, Elixir, Perl, JavaScript, Lua, Go, Java, Kotlin, Rust, Swift.

They differ in brackets and in what stands between a name and its value, and are read by one grammar that allows all of it: a
bracket, perhaps with a name before it, around items, each a value or a name with one. What does not close is no value.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl

LONGEST = 4_000
"""Characters of a text that are read as a value."""

_DEEPEST, _MOST = 12, 2_000
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_OPENING = re.compile(
    r"(?:\$VAR1 = |[%&#]|->)*"
    r"(?:(?P<name>[A-Za-z_][\w.$:\\]{0,80}?)(?:\(\d+\))?(?: Object)?(?:@[0-9a-f]+)?(?: = )?(?:[^\S\n]*|\s*(?=\()))?"
    r"(?P<bracket>[{\[(])"
)
"""A bracket, and what may stand before it: a sign (``%{``, ``&{``), a name (``array(``, ``map[``, ``Error {``)."""

_STRING = re.compile(
    r"(?:[bBuUrR@]|string\(\d+\) |[a-z]+\(\d+\) )?(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|`([^`]*)`)",
    re.DOTALL,
)
_NAMED = (
    r":?\"(?P<{0}double>[^\"\n]{{1,100}})\"|'(?P<{0}single>[^'\n]{{1,100}})'"
    r"|[:@]?(?P<{0}bare>[A-Za-z_$][\w$.-]{{0,60}}\??|\d{{1,9}})"
)
_KEY = re.compile(
    rf"(?:\[(?:{_NAMED.format('in_')})(?::[^\]\n]{{0,60}})?\]|(?:{_NAMED.format('')}))"
    r"\s*(?:=>|:(?!:)|=(?!=))[^\S\n]*"
    r"|:(?P<edn>[a-z][\w.*+!?-]{0,60}) (?=[^\s=,}])"
)
"""A name and what follows it: ``'a' =>``, ``a:``, ``:a =>``, ``["a"] =``, ``[a:protected] =>``, ``:a`` of Clojure."""

_LOOSE = re.compile(r"map\[|&?\{(?:\w+:\S|:[\w-]+ )")
"""How begins what puts no more than a space between its entries: values of Go and Clojure."""

_GAP = re.compile(r"\s*")
_BETWEEN = re.compile(r"\s*[,;]?\s*")
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,12})?(?=[LMnfdu]?$)")
_TYPED = re.compile(r"(?:int|float|bool|Int|Some|Decimal|Integer)\(([\w.-]{1,30})\)")
_WORDS = {
    **dict.fromkeys(("true", "True", "TRUE", "YES"), True),
    **dict.fromkeys(("false", "False", "FALSE", "NO"), False),
    **dict.fromkeys(("null", "nil", "None", "NULL", "undefined", "undef", "<nil>", "<null>", "NaN"), None),
}
_FAILED = re.compile(
    r"(?:\w+[.:\\]+)*(?:err|left|fail|\w*(?:error|exception|fault|failure|failed|notfound|denied))",
    re.IGNORECASE,
)
_FORM = re.compile(r"[\w.%\[\]-]{1,80}=[^&\s=]*(?:&[\w.%\[\]-]{1,80}=[^&\s]*)+")
_LINES = re.compile(r"(?:[A-Za-z][\w.-]{0,60} ?= ?[^\n]{0,400}(?:\n|\Z)){2,40}")
_TELLS = re.compile(r"^(?:status|result|error|response|ack)\w* ?=", re.IGNORECASE | re.MULTILINE)


def value_of(text: str) -> Any:
    """Return the value that a whole text prints, or None where it prints none (or nothing but a scalar)."""
    text = text.strip()
    if len(text) > LONGEST:
        return None
    if "&" in text and _FORM.fullmatch(text):
        return dict(parse_qsl(text, keep_blank_values=True))
    if "\n" in text and _LINES.fullmatch(text) and _TELLS.search(text):
        pairs = (line.partition("=") for line in text.splitlines())
        return {name.strip(): value.strip() for name, _, value in pairs}
    text = text.rstrip(";").rstrip()
    if text[-1:] not in ("}", "]", ")"):
        return None
    try:
        value, end = _PrintedValue(text).container(0, 0)
    except (_NoValueError, IndexError):
        return None
    return value if end == len(text) and _has_names(value) else None


def _has_names(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(map(_has_names, value))
    )


def is_failures_name(name: str) -> bool:
    """Whether what is called so is an error (``ApiError``, ``QuotaException``)."""
    return _FAILED.fullmatch(name) is not None


class _NoValueError(Exception):
    """The text is no printed value."""


class _PrintedValue:
    """Reads one text; every method takes a place in it and returns what stands there and where that ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.read = 0

    def container(self, at: int, depth: int) -> tuple[Any, int]:
        opening = _OPENING.match(self.text, at)
        self.read += 1
        if opening is None or depth > _DEEPEST or self.read > _MOST:
            raise _NoValueError
        name, bracket = opening["name"] or "", opening["bracket"]
        fields: dict[str, Any] = {}
        items: list[Any] = []
        at = self._over(_GAP, opening.end())
        loose = _LOOSE.match(self.text, opening.start()) is not None
        while self.text[at] != _CLOSING[bracket]:
            key = _KEY.match(self.text, at)
            if key is not None:
                value, at = self.value(self._over_line_end(key.end()), depth, bracket, loose=loose)
                fields[next(filter(None, key.groups()))] = value
            else:
                value, at = self.value(at, depth, bracket, loose=loose)
                items.append(value)
            at = self._over(_BETWEEN, at)
        return _made(name, bracket, fields, items), at + 1

    def value(self, at: int, depth: int, inside: str, *, loose: bool) -> tuple[Any, int]:
        said = _STRING.match(self.text, at)
        if said is not None:
            return "".join(said.groups("")), said.end()
        number = _TYPED.match(self.text, at)
        if number is not None:
            return _scalar(number[1]), number.end()
        if _OPENING.match(self.text, at):
            return self.container(at, depth + 1)
        if self.text[at] in "\"'`":
            raise _NoValueError  # what is quoted ends nowhere
        end = self._end_of_bare(at, _CLOSING[inside], loose=loose)
        return _scalar(self.text[at:end].strip()), end

    def _over(self, between: re.Pattern[str], at: int) -> int:
        found = between.match(self.text, at)
        return at if found is None else found.end()

    def _over_line_end(self, at: int) -> int:
        """Return where a value begins that stands on the line below its name; what stands there may be the next name."""
        if self.text[at] != "\n":
            return at
        below = self._over(_GAP, at)
        return at if self.text[below] in ")]}" or _KEY.match(self.text, below) else below

    def _end_of_bare(self, at: int, closing: str, *, loose: bool) -> int:
        """Find where an unquoted value ends: before its container does, or before the next name."""
        depth = 0
        for place in range(at, len(self.text)):
            sign = self.text[place]
            if sign == closing and depth == 0:
                return place
            if sign in "([{":
                depth += 1
            elif sign in ")]}":
                depth -= 1
            elif depth == 0 and (
                sign == "\n"
                or (sign in ",;" and not _goes_on(self.text, place))
                or (loose and sign == " " and _KEY.match(self.text, place + 1))
            ):
                return place
        raise _NoValueError


def _goes_on(text: str, comma: int) -> bool:
    """Whether a sentence goes on behind its comma, and no other item begins there."""
    return _SENTENCE.match(text[comma + 1 : comma + 40]) is not None


_SENTENCE = re.compile(r" [a-z]+ [a-z]")


def _scalar(bare: str) -> Any:
    if bare in _WORDS:
        return _WORDS[bare]
    number = _NUMBER.fullmatch(bare)
    if number is not None:
        return float(number[0]) if "." in number[0] else int(number[0])
    return bare.removeprefix(":")


_WRAPPERS = frozenset({"Optional", "Some", "Ok", "Right", "Just"})


def _made(name: str, bracket: str, fields: dict[str, Any], items: list[Any]) -> Any:
    """Return what a container holds: fields, or items. One whose name is an error's is the ``error`` of what holds it."""
    if fields and all(field.isdigit() for field in fields):
        fields, items = {}, [*fields.values()]
    if fields or (bracket == "{" and not items):
        value: Any = {**fields, "items": items} if items else fields
    elif len(items) == 1 and (name in _WRAPPERS or _FAILED.fullmatch(name)):
        value = items[0]
    elif len(items) == 2 and items[0] in ("error", "err") and bracket in "{(":
        value = {"error": items[1]}  # {:error, reason} of Erlang and Elixir
    else:
        value = items
    return {"error": value} if _FAILED.fullmatch(name) else value
