"""From one text that a person (or a model) named to a rule for texts like it: what varies is left open."""

from __future__ import annotations

import re

from btm.support import untrusted

_LONGEST = 300
_LEAST_LETTERS = 6
_VARIES = re.compile(
    r"'[^'\n]{1,120}'|\"[^\"\n]{1,120}\"|`[^`\n]{1,120}`|https?://\S{1,300}|\[\w+\]|(?<![^\W_])[\w.:/-]*\d[\w.:/-]*"
)
"""Quoted pieces, addresses, what was redacted, and all that holds a digit: ids, dates, amounts, numbers."""


def pattern_of(text: str) -> str:
    """Return a regular expression for texts that differ from ``text`` only in ids, numbers, addresses and quotations.

    Secrets are left out of it. Raises ValueError for a text in which too little is left to know it by.
    """
    kept = untrusted.redact(text, _LONGEST).rstrip("…").strip()
    parts = [part.strip() for part in _VARIES.split(kept)]
    if sum(c.isalpha() for part in parts for c in part) < _LEAST_LETTERS:
        raise ValueError(f"too little to know a text by: {kept!r} (at least {_LEAST_LETTERS} letters)")
    words = [r"\s+".join(map(re.escape, part.split())) for part in parts]
    pattern = r".{0,200}?".join(words)
    return f"(?s){pattern}"
