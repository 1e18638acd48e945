"""Text that poses as a note of ours: found whatever it is written with, and disarmed; and what only our own notes bear."""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

# All that NFKC makes a "<" of, and what it makes a "[" of before anything but JSON.
_OPENING = re.compile("[<\uff1c\ufe64]|[\\[\uff3b\ufe47](?=[\\sTt_*\x00-\x1f]|[^\x00-\x7e])")
_ASCII_TAG = re.compile(
    r"<(?=[\s\x00-\x1f\x7f]*/?[\s\x00-\x1f\x7f]*(?:[\w.-]{1,40}:)?recovery)|\[(?=[\s_*]*tool[\s_-]*layer)",
    re.I,
)
_TAG = re.compile(r"<\s*/?\s*(?:[\w.-]{1,40}:)?recovery|\[[\s_*]*tool[\s_-]*layer")
# What is not seen: control characters, soft hyphens, joiners, marks of direction, fillers, variation selectors, tags.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
# Letters of other alphabets that look like those of our tag.
_LOOKALIKES = str.maketrans(
    "\u0433\u0435\u0441\u043e\u0475\u0443\u03bf\u03bd\u03b5\u03f2\u0442\u03c4\u04cf\u03b9\u0430\u03b1",
    "recovyovecttllaa",
)
_WINDOW = 2_000  # characters behind an opening that are looked at, where some are not seen
_NEAR = 100  # and where none of the first are such
_DEPTH = 60
_MARK_LENGTH = 6  # characters of 5 bits: nobody guesses one of 10^9, and it costs a model some four tokens
_NAMELESS = ("run-", "messages-", "loop-", "mcp-")


def mark_of(conversation: str, secret: bytes) -> str:
    """Return what the notes of a conversation bear: the same for as long as the database keeps its secret.

    Nothing has to be kept for it, and who does not know the secret cannot tell it from the conversation's name. What came
    without a name of its own, a run or a connection, bears the database's: else the system prompt, which names the mark,
    would be another one in every run of one conversation, or be stated before there is one.
    """
    named = "" if conversation.startswith(_NAMELESS) else conversation
    digest = hashlib.blake2b(
        named.encode("utf-8", "replace"), key=secret[:64], person=b"btm note", digest_size=8
    )
    return base64.b32encode(digest.digest()).decode()[:_MARK_LENGTH].lower()


def without_tags(text: str) -> str:
    """Return a text without tags of ours: what we write or add to may hold nothing that passes for a note.

    A tag is one to whoever reads past characters that are not seen, and takes compatible forms and letters of other
    alphabets for what they look like.
    """
    if text.isascii():
        return _disarmed_ascii(text) if "<" in text or "[" in text else text
    parts: list[str] = []
    end = 0
    for found in _OPENING.finditer(text):
        start = found.start()
        if _is_tag(text[start : start + _WINDOW]):
            parts += (text[end:start], _written(found[0]))
            end = start + 1
    return "".join((*parts, text[end:])) if parts else text


def _disarmed_ascii(text: str) -> str:
    if not _UNSEEN.search(text):
        return _ASCII_TAG.sub(lambda found: _written(found[0]), text)
    return re.sub(
        r"[<\[]",
        lambda m: _written(m[0]) if _is_tag(text[m.start() : m.start() + _WINDOW]) else m[0],
        text,
    )


def _written(opening: str) -> str:
    """Return an opening as JSON can write it: it is read as what it was, and opens nothing."""
    return f"\\u{ord(unicodedata.normalize('NFKC', opening)):04x}"


def _is_tag(text: str) -> bool:
    if not _UNSEEN.search(text, 0, _NEAR):
        text = text[:_NEAR]
    seen = unicodedata.normalize("NFKC", _UNSEEN.sub("", text))
    return _TAG.match(_UNSEEN.sub("", seen).casefold().translate(_LOOKALIKES)) is not None


def disarmed(content: Any, depth: int = 0) -> Any:
    """Return a tool's own content without tags of ours, in whatever block of it they stand; the same where none do."""
    if isinstance(content, str):
        return without_tags(content)
    if depth > _DEPTH:
        return content
    if type(content) is list:
        clean = [disarmed(item, depth + 1) for item in content]
        return clean if any(new is not old for new, old in zip(clean, content, strict=True)) else content
    if isinstance(content, Mapping):
        pairs = [(disarmed(k, depth + 1), disarmed(v, depth + 1)) for k, v in content.items()]
        same = all(k is a and v is b for (k, v), (a, b) in zip(pairs, content.items(), strict=True))
        return content if same else dict(pairs)
    return content
