"""Rules as data: the TOML files of `btm.classify.data`, read once, and the test that says which rules can match.

A rule is one entry: ``kind``, ``pattern`` (a regular expression for lower-cased text), and the examples that its own
test runs, ``names`` (a text that it must name) and ``near`` (one that it must leave alone). Order is rank: the first
rule that matches decides, so that the specific stands before the general.

Which words make a rule worth trying (``stems``) is derived from its pattern by ``tests/classify/derive_stems.py``.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from btm.classify.finding import WORDS, Finding
from btm.model import ErrorKind as K

_REACHED = frozenset({K.TIMEOUT, K.SERVER_ERROR, K.MALFORMED, K.SCHEMA_DRIFT, K.EMPTY_RESULT, K.UNKNOWN})
"""Kinds after which a write may have happened, where a rule does not say."""

STEM, OPEN = 6, 4
"""Characters of a word by which rules are looked up: ``confli`` for conflict, conflicts and conflicting; the first four
where a pattern leaves open how a shorter beginning goes on."""

_SPACES = {ord(c): " " for c in string.punctuation + "\n\t\r\u2018\u2019\u201c\u201d"}


@cache
def table(name: str) -> Mapping[str, Any]:
    """Return the data file ``name`` (without its ending), parsed once in a process."""
    return tomllib.loads((files("btm.classify.data") / f"{name}.toml").read_text(encoding="utf-8"))


def form(module: str, name: str) -> re.Pattern[str]:
    """Return a pattern of ``data/forms.toml``: one of the code's own that is data."""
    forms = table("forms")[module]
    return re.compile(filled(forms[name], forms))


def listed(module: str, name: str) -> frozenset[str]:
    """Return a set of words, or of phrases between bars, of ``data/forms.toml``."""
    text: str = table("forms")[module][name]
    return frozenset(text.split(" | ") if " | " in text else text.split())


def filled(pattern: str, pieces: Mapping[str, str]) -> str:
    """Return a pattern with the pieces that it names in angle brackets (``<deeds>``)."""
    return _PIECE.sub(lambda found: pieces.get(found[1], found[0]), pattern)


_PIECE = re.compile(r"(?<!\?P)<([a-z_]{2,20})>")


class Wording(NamedTuple):
    """One wording: the kind that it means, how sure it is, and where it comes from."""

    kind: K
    pattern: str
    sure: float = WORDS
    reached: bool = True
    stems: str | None = None
    language: str = "en"
    source: str = ""
    names: str = ""
    near: str = ""


@cache
def _finding_of(rule: Wording) -> Finding:
    word = re.search(r"[a-z]{3,}", re.sub(r"\\.|\[[^]]*\]|\(\?\w?:?", " ", rule.pattern))
    key = f"text:{rule.kind}:{word[0] if word else 'sign'}"
    reason = f"the text speaks of {rule.kind.replace('_', ' ')} ({key.rpartition(':')[2]})"
    return Finding(rule.kind, key, reason, rule.sure, reached=rule.reached)


class Index:
    """Which of a list of patterns a text can match at all, by the beginnings of its words and by pieces of text."""

    def __init__(self, entries: Iterable[tuple[frozenset[str], tuple[str, ...]]]) -> None:
        """``entries``: for each pattern the stems of which a match holds one, and pieces of which it holds one."""
        self._by_stem: dict[str, list[int]] = {}
        self._always: list[int] = []
        self._by_pieces: dict[tuple[str, ...], list[int]] = {}
        for position, (stems, pieces) in enumerate(entries):
            if pieces:
                self._by_pieces.setdefault(pieces, []).append(position)
            elif not stems:
                self._always.append(position)
            for stem in () if pieces else stems:
                self._by_stem.setdefault(stem, []).append(position)
        self.stems = frozenset(self._by_stem)

    def candidates(self, low: str) -> list[int]:
        """Return the positions of the patterns that a lower-cased text can match, in their order."""
        found = [*self._always]
        for stem in self.stems.intersection(stems_of_text(low)):
            found += self._by_stem[stem]
        for pieces, positions in self._by_pieces.items():
            if any(piece in low for piece in pieces):
                found += positions
        return sorted({*found})


class Wordings:
    """Wordings in their order, with the index that says which of their alternatives a text can match at all.

    A rule's alternatives are looked up and compiled one by one: a text meets few of them, and each is short.
    """

    def __init__(self, rules: Iterable[Wording]) -> None:
        self.rules = tuple(rules)
        self._parts = [
            (position, part, stems)
            for position, rule in enumerate(self.rules)
            for part, stems in zip(
                alternatives(rule.pattern), stems_of_parts(rule.pattern, rule.stems), strict=True
            )
        ]
        self._index = Index((stems, ()) for _, _, stems in self._parts)
        self.stems = self._index.stems
        self._compiled: dict[int, re.Pattern[str]] = {}

    def first(self, low: str) -> Finding | None:
        """Return what the first rule that matches a lower-cased text says."""
        rule = next(self.matching(low), None)
        return None if rule is None else _finding_of(rule)

    def matching(self, low: str) -> Iterator[Wording]:
        """Yield the rules that match a lower-cased text, the first first."""
        found = -1
        for part in self._index.candidates(low):
            position, pattern, _ = self._parts[part]
            if position == found:
                continue
            # Compiled at first use: most texts need few of them, and an import should not pay for all.
            compiled = self._compiled.get(part)
            if compiled is None:
                compiled = self._compiled[part] = re.compile(pattern)
            if compiled.search(low):
                found = position
                yield self.rules[position]


def stems_of_parts(pattern: str, recorded: str | None) -> list[frozenset[str]]:
    """Return the recorded stems of each alternative of a pattern (between bars); without them, each is always tried."""
    parts = alternatives(pattern)
    stems = [frozenset(listed.split()) for listed in (recorded or "").split("|")]
    return stems if recorded is not None and len(stems) == len(parts) else [frozenset()] * len(parts)


def alternatives(pattern: str) -> list[str]:
    """Return the alternatives of a pattern: what stands between the bars that no bracket encloses, or one around all."""
    parts = _between_bars(pattern)
    if len(parts) == 1 and pattern.startswith("(?:") and pattern.endswith(")"):
        inner = _between_bars(pattern[3:-1])
        if all(_is_whole(part) for part in inner):
            return inner
    return parts


def _is_whole(part: str) -> bool:
    try:
        re.compile(part)
    except re.error:
        return False
    return True


_MARK = re.compile(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]|[(|)]", re.DOTALL)
"""An escaped letter, a set of letters, a bracket or a bar."""


def _between_bars(pattern: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for mark in _MARK.finditer(pattern):
        if mark[0] == "|" and not depth:
            parts.append(pattern[start : mark.start()])
            start = mark.end()
        depth += (mark[0] == "(") - (mark[0] == ")")
    return [*parts, pattern[start:]]


@cache
def wording() -> Wordings:
    """Return the wordings of English error texts."""
    return Wordings(_rules(table("wording")["rule"]))


def _rules(entries: Iterable[Mapping[str, Any]]) -> Iterator[Wording]:
    for entry in entries:
        kind = K(entry["kind"])
        yield Wording(**{**entry, "kind": kind, "reached": entry.get("reached", kind in _REACHED)})


def index_of(entries: Iterable[Mapping[str, Any]]) -> Index:
    """Return the index of a data file's entries by their recorded stems or cues."""
    return Index(
        (
            frozenset(entry.get("stems", "").replace("|", " ").split()),
            tuple(entry["cues"].split("|" if "|" in entry["cues"] else None)) if "cues" in entry else (),
        )
        for entry in entries
    )


def stems_of(entries: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the beginnings of words of which a text that one of ``entries`` matches holds one."""
    return frozenset().union(
        *(stems for e in entries for stems in stems_of_parts(e["pattern"], e.get("stems")))
    )


@lru_cache(maxsize=16)
def stems_of_text(low: str) -> frozenset[str]:
    """Return the beginnings of a lower-cased text's words; one text is asked for several times in a row."""
    words = words_of(low)
    return frozenset([word[:STEM] for word in words] + [word[:OPEN] for word in words])


def words_of(low: str) -> list[str]:
    """Return the words of a lower-cased text."""
    return low.translate(_SPACES).split()
