"""YAML scalars by the 1.2 core schema: ``on`` and ``no`` are words, ``12:30`` and ``2024-05-01`` are text."""

from __future__ import annotations

import math
import re
from typing import Any

CORE_TAG = "tag:yaml.org,2002:"

Scalar = str | int | float | bool | None

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_MAX_DIGITS = 18  # what fits every JSON reader's integers


class NotPlainError(ValueError):
    """A scalar that an authored file may not hold; becomes an AuthoredFileError with its place."""

    def __init__(self, what: str, expected: str) -> None:
        self.what = what
        self.expected = expected
        super().__init__(what)


def read_scalar(event: Any) -> Scalar:
    """Return the value of a parser's scalar event; raises NotPlainError for tags, huge numbers and half characters."""
    text: str = event.value
    if event.tag is None and event.implicit[0]:
        return _resolve(text)
    if event.tag in (None, "!", CORE_TAG + "str"):
        return _text(text)
    raise NotPlainError(f"the tag {event.tag!r} is not allowed", "plain YAML without tags")


def _resolve(text: str) -> Scalar:
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if not (text[0].isdigit() or text[0] in "+-."):
        return _text(text)
    if _INT.match(text):
        if len(text.lstrip("+-")) > _MAX_DIGITS:
            raise NotPlainError(
                "this number is too large", f"at most {_MAX_DIGITS} digits, or text in quotes"
            )
        return int(text)
    if _FLOAT.match(text):
        number = float(text)
        if not math.isfinite(number):
            raise NotPlainError("this number is too large", "a finite number")
        return number
    return _text(text)


def _text(text: str) -> str:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise NotPlainError("this text holds half of a character (a lone surrogate)", "whole characters")
    return text
