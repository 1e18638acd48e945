"""The signature of a failure: what stays the same when the same thing goes wrong again, with other numbers and names."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from btm.model import ErrorKind, Family
from btm.support.untrusted import redact

_LIMIT = 160
_READ = 300
# In this order: what is longer and surer first. A number is not part of a word.
_PARTS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("<ID>", r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"),
        (
            "<ID>",
            r"[0-9a-fA-F-]*\[number\][0-9a-fA-F-]*",
        ),  # of an id, what looked like a card's number is redacted
        ("<DATE>", r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b"),
        ("<DATE>", r"\b\d\d?:\d\d:\d\d(?:[.,]\d+)?\b"),
        ("<URL>", r"\b[a-z][a-z0-9+.-]{1,12}://[^\s\"'<>)\]]{1,400}"),
        ("<STR>", r"\"[^\"\n]{0,200}\"|'[^'\n]{2,200}'(?!\w)|`[^`\n]{1,200}`"),
        ("<PATH>", r"(?<![\w<])(?:[A-Za-z]:)?(?:[/\\][\w.@~+-]{1,80}){2,20}[/\\]?"),
        ("<HEX>", r"\b(?:0x[0-9a-fA-F]+|(?=[0-9a-fA-F]*\d)(?=[0-9]*[a-fA-F])[0-9a-fA-F]{8,})\b"),
        # After a noun capitals with digits name a thing (flight HAT088); else they are the error's own code (E7741:).
        ("<ID>", r"(?<=[a-z] )(?<!code )(?<!error )(?<!rule )(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z\d]{4,}\b(?!:)"),
        ("<ID>", r"#[A-Z]{0,3}\d{3,}\b"),
        ("<N>", r"(?<![A-Za-z_\d])[+-]?\d+(?:[.,]\d+)*(?=[a-z%]{0,3}\b)"),
        ("<N>", r"(?<=[A-Za-z][-_])\d{2,}\b"),
    )
)

_SILENT = frozenset(str(kind) for kind in ErrorKind if kind.family is Family.SILENT)


class FailureSignature(NamedTuple):
    """A tool's way to fail: two failures with equal signatures are the same one, as far as their texts tell."""

    tool: str
    kind: str
    rule: str
    template: str

    @property
    def digest(self) -> str:
        """A short name of it (BLAKE2b, 64 bits, in hex)."""
        return blake2b("\0".join(self).encode("utf-8", "replace"), digest_size=8).hexdigest()


@lru_cache(4_096)
def template(detail: str) -> str:
    """Return an error's text with what differs from case to case replaced: numbers, ids, dates, names in quotes, paths."""
    text = redact(detail[:_READ], _READ)
    for name, pattern in _PARTS:
        text = pattern.sub(name, text)
    return " ".join(text.split())[:_LIMIT]


def signature(tool: str, kind: str, rule: str, detail: str) -> FailureSignature:
    """Return the signature of a failure. One that only the answer shows has no text: what an answer holds is data."""
    return FailureSignature(tool, str(kind), rule, "" if str(kind) in _SILENT else template(detail))
