"""What an answer is known by: the same for answers that differ in numbers, dates, addresses and long ids only.

Whole answers are compared, and what tells how a call went stays as it is: words, states, flags, whether a number is zero,
and numbers that a word such as ``code`` or ``status`` stands before. So what is said of one answer never holds for another
that only begins like it, or holds the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from btm.classify import bodies, body_keys, frameworks, parsing
from btm.classify.keys import snake
from btm.classify.reading import members, tamed
from btm.support import untrusted

_LONGEST, _MOST_LEAVES, _DEEPEST = 4_000, 200, 8
_TOKEN = re.compile(r"https?://\S++|[\w.:/+-]++")
_DIGITS = re.compile(r"\d")
_NUMBER = re.compile(r"[+-]?\d[\d.,:/-]*+")
_CODED = re.compile(
    r"(?:\b(?:cod|cód|kod|код)\w*|code|cd|statu\w*|state|stato|estado|état|exit|errno|err\w*|fehler\w*|hata|result\w*|retour"
    r"|rc|http|sqlstate|signal|代码|代碼|状态|狀態|错误|コード|エラー|코드|오류)\W{0,4}\Z",
    re.IGNORECASE,
)
"""What stands before a number that tells how a call went."""
_SHARE = re.compile(
    r"(?<!\d)(\d{1,9})( ?/ ?| (?:out )?of | von | sur | de | di | из )(\d{1,9})(?!\d)", re.IGNORECASE
)

_OPEN, _LONG, _REDACTED = "#", 12, "[number]"

_APART = "\x1f"
"""What no text holds once it is cleaned, so that none can pose as the fields of an answer."""
RAISED, FLAGGED_RESULT = f"raised{_APART}", f"flagged{_APART}"
FLAGGED = (RAISED, FLAGGED_RESULT)
"""What the likeness of an exception begins with, and of what a framework flags as an error."""


def likeness_of(answer: Any) -> str:
    """Return what an answer, or an exception, is known by.

    An exception and what a framework flags as an error are known apart from plain results. Raises ValueError where
    there is nothing to know it by, or too much, or what cannot be read.
    """
    try:
        if isinstance(answer, BaseException):
            name = type(answer).__qualname__[:80]
            return f"{RAISED}{name}{_APART}{_worded(_of_text(untrusted.text_of(answer, _LONGEST + 1)))}"
        bare = frameworks.unwrap(answer)
        told = _of_value(bare.value)
    except ValueError:
        raise
    except Exception as problem:  # a tool's object may raise anything
        raise ValueError(f"it cannot be read: {type(problem).__name__}") from problem
    return FLAGGED_RESULT + told if bare.is_error else told


def _of_value(value: Any) -> str:
    if isinstance(value, list | tuple) and bodies.is_content(value):
        value = bodies.content_text(value)
    if isinstance(value, str):
        read = parsing.parsed(value) if len(value) <= _LONGEST and value.lstrip()[:1] in ("{", "[") else None
        value = value if read is None else read
    if not isinstance(value, Mapping | list | tuple):
        return _worded(_of_text(untrusted.text_of(value, _LONGEST + 1)))
    leaves = [*_leaves(tamed(value), "", "", 0, [_MOST_LEAVES])]
    _worded("".join(f"{path}{leaf}" for path, leaf in leaves))
    return _APART + _APART.join(f"{path!r} = {leaf}" for path, leaf in leaves)


def _worded(text: str) -> str:
    if not any(c.isalpha() for c in text):
        raise ValueError("there are no words to know it by")
    if len(text) > _LONGEST:
        raise ValueError(f"it is too long to know it again: at most {_LONGEST:,} characters")
    return text


def _of_text(text: str) -> str:
    if len(text) > _LONGEST:
        raise ValueError(f"it is too long to know it again: at most {_LONGEST:,} characters")
    clean = _SHARE.sub(_share, untrusted.redact(text, _LONGEST))
    told = _TOKEN.sub(lambda token: _kept(token[0], clean[max(0, token.start() - 14) : token.start()]), clean)
    return told.replace(_REDACTED, _OPEN).replace(_OPEN * 2, _OPEN)


def _share(found: re.Match[str]) -> str:
    """Return of a share whether it is nothing, a part or all."""
    part, whole = int(found[1]), int(found[3])
    return f"{'none' if part == 0 else 'all' if part == whole else 'part'}{found[2]}{_OPEN}"


def _kept(token: str, before: str) -> str:
    """Return a word as it is, and what varies as a sign."""
    if token.startswith(("http://", "https://")):
        return _OPEN
    if not _DIGITS.search(token):
        return token
    if _NUMBER.fullmatch(token.rstrip(".:,/-")) is None:
        return _OPEN if len(token) > _LONG else token  # a code such as ORA-00942, or an id
    number = token.rstrip(".:,/-")
    if not number.strip("0+-.,:/"):
        return "0"
    coded = _CODED.search(before) or (len(number) == 3 and "1" <= number[0] <= "5")
    if coded and number.lstrip("+-").isdigit():
        return number
    return f"-{_OPEN}" if number[0] == "-" else _OPEN


def _leaves(value: Any, path: str, name: str, depth: int, left: list[int]) -> Iterator[tuple[str, str]]:
    left[0] -= 1
    if left[0] < 0 or depth > _DEEPEST:
        raise ValueError(f"it has too many parts to know it again: at most {_MOST_LEAVES}")
    if isinstance(value, Mapping):
        for key in sorted(members(value), key=str):
            yield from _leaves(value[key], f"{path}.{key}" if path else str(key), str(key), depth + 1, left)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item, f"{path}[]", name, depth + 1, left)
    elif isinstance(value, str):
        yield path, _of_text(value)
    elif isinstance(value, bool) or value is None:
        yield path, str(value)
    else:
        told = body_keys.fields_of({name: None}).telling or _CODED.search(snake(name))
        yield path, untrusted.text_of(value, 40) if told else _OPEN if value else "0"
