"""Text that poses as a note of ours: found whatever it is written with, and disarmed; and what only our own notes bear."""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

_OPENING = re.compile("[<\uff1c\ufe64]")  # all that NFKC makes a "<" of
_ASCII_TAG = re.compile(r"<(?=[\s\x00-\x1f\x7f]*/?[\s\x00-\x1f\x7f]*(?:[\w.-]{1,40}:)?recovery)", re.I)
_TAG = re.compile(r"<\s*/?\s*(?:[\w.-]{1,40}:)?recovery")
# What is not seen: control characters, soft hyphens, joiners, marks of direction, fillers, variation selectors, tags.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
# Letters of other alphabets that look like those of our tag.
_LOOKALIKES = str.maketrans("\u0433\u0435\u0441\u043e\u0475\u0443\u03bf\u03bd\u03b5\u03f2", "recovyovec")
_WINDOW = 2_000  # characters behind a "<" that are looked at
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
        return _disarmed_ascii(text) if "<" in text else text
    parts: list[str] = []
    end = 0
    for found in _OPENING.finditer(text):
        start = found.start()
        if _is_tag(text[start : start + _WINDOW]):
            parts += (text[end:start], "\\u003c")
            end = start + 1
    return "".join((*parts, text[end:])) if parts else text


def _disarmed_ascii(text: str) -> str:
    if not _UNSEEN.search(text):
        return _ASCII_TAG.sub(r"\\u003c", text)
    return re.sub("<", lambda m: "\\u003c" if _is_tag(text[m.start() : m.start() + _WINDOW]) else "<", text)


def _is_tag(text: str) -> bool:
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
