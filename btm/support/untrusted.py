"""Handling of untrusted data: cut it, redact it, name it without keeping it.

Everything a tool returns or raises passes through here before btm stores or shows it. Every function is total:
cyclic objects, objects whose ``__str__`` raises, lone surrogates and huge texts give a short answer, not an
exception.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, ParamSpec, TypeVar, cast

import orjson

from btm.support import argument_identity
from btm.support.redaction import without_secrets

P = ParamSpec("P")
T = TypeVar("T")

DETAIL_LIMIT = 300
"""Characters of an error's text that are kept, at most."""

HUGE = 1_000_000
"""Characters from which a text is huge."""

ARGUMENTS_LIMIT = 600
"""Characters that the arguments of a call take in a context, at most."""

_LOOKED_AT, _MEMBERS = 200, 50
_DEEPEST, _FIRST = 4, 100
_MARGIN = 400
_TOOL_NAME_LIMIT = 80
_NOT_IN_NAMES = re.compile(r"[^\w\-./:]")
_MAX_DEPTH = 12
_ORJSON = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS

# Colours and cursor moves of terminal programs would stand between a name and its secret.
_ANSI = re.compile(r"\x1b\[[0-?]{0,20}[ -/]{0,5}[@-~]")
# So would characters that have no width: soft hyphens, joiners, direction marks, variation selectors, tags.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)


class UnanswerableError(Exception):
    """An object raised what ends a program (KeyboardInterrupt, SystemExit) when it was asked about itself."""


def ask(question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a function finds that asks objects of somebody else's, and changes nothing: it may be asked twice.

    Raises UnanswerableError in place of what is no Exception and was the objects' own doing. A person's Ctrl-C, which
    comes while they are asked and not again, is raised as it is.
    """
    try:
        return question(*args, **kwargs)
    except Exception:
        raise
    except BaseException as raised:
        try:
            question(*args, **kwargs)
        except type(raised) as again:
            raise UnanswerableError(type(again).__name__) from None
        raise


def text_of(value: object, limit: int = DETAIL_LIMIT) -> str:
    """Return at most ``limit`` characters of ``value`` as text; never raises, never renders a huge object whole."""
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return bounded_json(value, limit)
    try:
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value[:limit]).decode("utf-8", "replace")
        return (value if type(value) is str else ask(str, value))[:limit]
    except Exception:  # noqa: BLE001 - a tool's object may raise anything from __str__; its type is what we know
        return f"<{type(value).__name__} without text>"


def cut(text: str, limit: int) -> str:
    """Return ``text``, shortened to ``limit`` characters and marked so when it is longer."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def redact(text: str, limit: int = DETAIL_LIMIT) -> str:
    """Return ``text`` on one line of ``limit`` characters, with keys, tokens, addresses and card numbers replaced."""
    # A margin beyond the limit is read, so that a secret across the cut is still recognised; the word at the end of
    # what was read may be the beginning of one that is not, and is left out.
    read = text[: limit + _MARGIN]
    whole = len(read) == len(text)
    if "\x1b" in read:
        read = _ANSI.sub("", read)
    if read.isascii():
        kept = without_secrets(printable(read))
    else:
        kept = printable(without_secrets(printable(_UNSEEN.sub("", read))))
    if not whole and kept and not kept[-1].isspace() and not kept.endswith("]"):
        begins = len(kept.rstrip()) - len(kept.split()[-1])
        kept = kept[: max(begins, len(kept) - _MARGIN)]
    kept = _one_line(kept)
    if whole and len(kept) <= limit:
        return kept
    return kept[: limit - 1] + "…"


def _one_line(text: str) -> str:
    if text.isprintable() and "  " not in text:
        return text.strip(" ")
    return " ".join(text.split())


def printable(text: str) -> str:
    """Return ``text`` with control characters and lone surrogates replaced by spaces and U+FFFD."""
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        "\ufffd" if "\ud800" <= c <= "\udfff" else c if c.isprintable() or c in "\n\t" else " " for c in text
    )


def harmless(text: str) -> str:
    """Return ``text`` on one line with ``<`` and ``>`` escaped: it can neither close a tag of ours nor begin a line."""
    line = printable(text).replace("\n", " ").replace("\t", " ")
    return line.replace("<", "\\u003c").replace(">", "\\u003e")


def tool_name(name: str) -> str:
    """Return a tool's name as it may stand in our own lines: a model can invent any name."""
    return _NOT_IN_NAMES.sub("_", name[:_TOOL_NAME_LIMIT]) or "?"


def bounded_json(value: object, limit: int) -> str:
    """Return about ``limit`` characters of ``value`` as JSON-like text, visiting no more of it than that needs."""
    parts: list[str] = []
    try:
        ask(_write, value, limit, parts)
    except Exception:  # noqa: BLE001 - a tool's own mapping may raise anything, or change while it is read
        parts.append("…")
    return "".join(parts)[:limit]


def _write(value: object, limit: int, parts: list[str]) -> None:
    parts.clear()
    size = 0
    for piece in _pieces(value, set(), 0):
        parts.append(piece)
        size += len(piece)
        if size >= limit:
            return


def _pieces(value: object, seen: set[int], depth: int) -> Iterator[str]:
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        if id(value) in seen or depth > _MAX_DEPTH:
            yield "…"
            return
        seen = seen | {id(value)}
        is_mapping = isinstance(value, Mapping)
        yield "{" if is_mapping else "["
        for index, item in enumerate(value):
            if index:
                yield ", "
            if isinstance(value, Mapping):
                yield f"{_json_text(text_of(item, 200))}: "
                yield from _pieces(value[item], seen, depth + 1)
            else:
                yield from _pieces(item, seen, depth + 1)
        yield "}" if is_mapping else "]"
    elif value is None or isinstance(value, bool):
        yield {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, int | float):
        yield text_of(value, 2_000)
    else:
        yield _json_text(text_of(value, 2_000))


def _json_text(text: str) -> str:
    # Quoted as JSON has it: whatever a text holds, it cannot end its own quotes.
    return orjson.dumps(_utf8(text)).decode()


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """Return arguments as JSON on one line, with ``<`` and ``>`` escaped; huge ones are cut and marked so."""
    if holds_huge_text(arguments):
        return harmless(cut(bounded_json(arguments, ARGUMENTS_LIMIT + 1), ARGUMENTS_LIMIT))
    try:
        text = orjson.dumps(dict(arguments), default=_shortly, option=orjson.OPT_NON_STR_KEYS).decode()
    except Exception:  # noqa: BLE001 - cycles, huge numbers, or a mapping that raises when it is read
        text = bounded_json(arguments, ARGUMENTS_LIMIT)
    return harmless(cut(text, ARGUMENTS_LIMIT))


def _shortly(value: object) -> str:
    return text_of(value, ARGUMENTS_LIMIT)


def scalars(value: object, depth: int = 0) -> Iterator[str | int | float]:
    """Yield the texts and numbers inside of arguments: to a depth of four, and of each list or mapping the first hundred."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping | list | tuple):
        inside = value.values() if isinstance(value, Mapping) else value
        for inner in islice(inside, _FIRST):
            yield from scalars(inner, depth + 1)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value


def holds_huge_text(value: object) -> bool:
    """Whether a value is, or holds near its top, a huge text: the content of a file, a picture as base64.

    A JSON writer reserves several times the size of a text, so huge ones are cut, or go by a name.
    """
    queue: list[object] = [value]
    for node in queue:  # it grows while it is gone through
        kind = type(node)
        if kind is str:
            if len(node) > HUGE:  # type: ignore[arg-type]
                return True
        elif len(queue) < _LOOKED_AT:
            if kind is dict:
                queue += islice(node.values(), _MEMBERS)  # type: ignore[attr-defined]
            elif kind is list:
                queue += node[:_MEMBERS]  # type: ignore[index]
    return False


def _huge_named(value: Any, depth: int = 3) -> Any:
    """Return a value with its huge texts near the top replaced by their hashes."""
    kind = type(value)
    if kind is str and len(value) > HUGE:
        return {"huge text": len(value), "blake2b": _digest(value)}
    if depth and kind is dict:
        return {key: _huge_named(member, depth - 1) for key, member in value.items()}
    if depth and kind is list:
        return [_huge_named(member, depth - 1) for member in value]
    return value


def _digest(text: str) -> str:
    found = hashlib.blake2b(digest_size=16)
    for start in range(0, len(text), HUGE):
        found.update(text[start : start + HUGE].encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def canonical(arguments: object) -> bytes:
    """Return JSON that is equal for equal arguments, whatever the order of their keys, and differs for others.

    JSON values take the fast path; anything else (arrays, sets, models, cycles, huge numbers) is described, within the
    bounds that :mod:`btm.support.argument_identity` states.
    """
    if holds_huge_text(arguments):
        arguments = _huge_named(arguments)
    try:
        return orjson.dumps(arguments, option=_ORJSON)
    except (TypeError, ValueError, RecursionError):
        return _described(arguments)


def _described(arguments: object) -> bytes:
    try:
        return orjson.dumps(ask(argument_identity.described, arguments), option=_ORJSON)
    except Exception:  # noqa: BLE001 - a caller's own object may raise anything; which one it is is what we know
        return orjson.dumps(argument_identity.identity(arguments))


def _utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def fingerprint(tool: str, arguments: object, key: bytes = b"") -> str:
    """Return a keyed hash (32 hex digits, BLAKE2b) that names a call without keeping its arguments.

    With a secret ``key`` the hash cannot be reversed by trying likely arguments. The object that a method is called on
    is part of which call it is (:class:`~btm.support.argument_identity.Addressed`).
    """
    name = tool.encode("utf-8", "replace")
    text = canonical(arguments) if type(arguments) is dict else _of_call(arguments)
    return hashlib.blake2b(name + b"\0" + text, digest_size=16, key=key[:64]).hexdigest()


def _of_call(arguments: object) -> bytes:
    """Return :func:`canonical` of arguments that may come from code: with their receiver, and numbers JSON lacks."""
    text = canonical(arguments)
    if not issubclass(type(arguments), argument_identity.Addressed):
        return text
    given = cast(argument_identity.Addressed, arguments)
    # JSON writes infinity as null.
    if b"null" in text and any(isinstance(v, float) and not math.isfinite(v) for v in given.values()):
        text = _described(given)
    return given.receiver.encode() + text
