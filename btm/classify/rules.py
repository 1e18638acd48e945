"""Rules as data: the TOML files of `btm.classify.data`, read once, and the test that says which rules can match.

A rule is one entry: ``kind``, ``pattern`` (a regular expression for lower-cased text), and the examples that its own
test runs, ``names`` (a text that it must name) and ``near`` (one that it must leave alone). Order is rank: the first
rule that matches decides, so that the specific stands before the general.

Nothing else has to be edited for a new wording: which words make a rule worth trying is derived from its pattern.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from re import _parser as parser  # type: ignore[attr-defined]  # the only reader of patterns there is
from typing import Any, NamedTuple

from btm.classify.finding import WORDS, Finding, names
from btm.model import ErrorKind as K

_REACHED = frozenset({K.TIMEOUT, K.SERVER_ERROR, K.MALFORMED, K.SCHEMA_DRIFT, K.EMPTY_RESULT, K.UNKNOWN})
"""Kinds after which a write may have happened, where a rule does not say."""

STEM, OPEN = 6, 4
"""Characters of a word by which rules are looked up: ``confli`` for conflict, conflicts and conflicting; the first four
where a pattern leaves open how a shorter beginning goes on."""

_SPACES = {ord(c): " " for c in string.punctuation + "\n\t\r\u2018\u2019\u201c\u201d"}
_ANYTHING: frozenset[str] = frozenset()


@cache
def table(name: str) -> Mapping[str, Any]:
    """Return the data file ``name`` (without its ending), parsed once in a process."""
    return tomllib.loads((files("btm.classify.data") / f"{name}.toml").read_text(encoding="utf-8"))


def form(module: str, name: str) -> re.Pattern[str]:
    """Return a pattern of ``data/forms.toml``: one of the code's own that is data."""
    return re.compile(table("forms")[module][name])


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

    @property
    def key(self) -> str:
        """The rule's name in outcomes: its kind and its first word."""
        return _key_of(self.kind, self.pattern)


@cache
def _finding_of(rule: Wording) -> Finding:
    word = rule.key.rsplit(":", 1)[-1]
    reason = f"the text speaks of {rule.kind.replace('_', ' ')} ({word})"
    return Finding(rule.kind, rule.key, reason, rule.sure, reached=rule.reached)


@cache
def _key_of(kind: K, pattern: str) -> str:
    word = re.search(r"[a-z]{3,}", re.sub(r"\\.|\[[^]]*\]|\(\?\w?:?", " ", pattern))
    return f"text:{kind}:{word.group() if word else 'sign'}"


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
            for piece in pieces:
                if piece in low:
                    found += positions
                    break
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
    """Return the stems of each alternative of a pattern, as recorded (between bars) or derived."""
    parts = alternatives(pattern)
    listed = recorded.split("|") if recorded is not None else []
    if len(listed) == len(parts):
        return [frozenset(stems.split()) for stems in listed]
    return [stems_of_pattern(part) for part in parts]


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


def _between_bars(pattern: str) -> list[str]:
    parts, depth, in_set, start, position = [], 0, False, 0, 0
    while position < len(pattern):
        letter = pattern[position]
        if letter == "\\":
            position += 1
        elif in_set:
            in_set = letter != "]"
        elif letter == "[":
            in_set = True
            position += pattern[position + 1 : position + 2] in ("]", "^")
        elif letter == "|" and not depth:
            parts.append(pattern[start:position])
            start = position + 1
        else:
            depth += (letter == "(") - (letter == ")")
        position += 1
    return [*parts, pattern[start:]]


@cache
def wording() -> Wordings:
    """Return the wordings of English error texts."""
    return Wordings(_rules(table("wording")["rule"]))


def _rules(entries: Iterable[Mapping[str, Any]]) -> Iterator[Wording]:
    for entry in entries:
        kind = K(entry["kind"])
        yield Wording(
            kind,
            entry["pattern"],
            entry.get("sure", WORDS),
            entry.get("reached", kind in _REACHED),
            entry.get("stems"),
            entry.get("language", "en"),
            entry.get("source", ""),
            entry.get("names", ""),
            entry.get("near", ""),
        )


def index_of(entries: Iterable[Mapping[str, Any]]) -> Index:
    """Return the index of a data file's entries: by their recorded stems, or derived from their patterns."""
    return Index(
        (
            frozenset(entry["stems"].replace("|", " ").split())
            if "stems" in entry
            else stems_of_pattern(entry["pattern"]),
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


def stems_of_pattern(pattern: str) -> frozenset[str]:
    """Return beginnings of words of which every match of ``pattern`` holds one; empty where none can be told.

    A pattern is taken to begin with a whole word.
    """
    return _of_sequence(parser.parse(pattern), fresh=True)


_MOST = 60
"""Spellings of one stretch of a pattern that are written out; beyond, what follows is a stretch of its own."""

_EDGE = " "


def _of_sequence(parts: Any, *, fresh: bool) -> frozenset[str]:
    """The best stretch of a sequence: the one with the fewest, longest stems. ``fresh``: a word begins here."""
    best, run = _ANYTHING, {_EDGE if fresh else "x"}
    for part in parts:
        spelled = _spellings(part)
        if spelled is not None and len(run) * len(spelled) <= _MOST:
            run = {before + after for before in run for after in spelled}
            continue
        best = _better(best, _of_run(run))
        if spelled is None:
            begins = all(not text[-1:].isalnum() for text in run)
            best = _better(best, _inside(part, fresh=begins))
            run = {_EDGE if _ends_fresh(part) else "x"}
        else:
            run = {text[-1:] + after for text in run for after in spelled}
            run = {text for text in run if text}
    return _better(best, _of_run(run))


def _spellings(part: Any) -> set[str] | None:
    """Every text that a part of a pattern can match, where these are few; edges of words are spelled as spaces."""
    op, value = str(part[0]), part[1]
    if op == "LITERAL":
        return {chr(value)}
    if op in ("AT", "ASSERT", "ASSERT_NOT"):
        return {_EDGE} if op == "AT" else {""}
    if op == "IN":
        letters = {chr(v) for o, v in value if str(o) == "LITERAL"}
        return letters if len(letters) == len(value) <= 6 else None
    if op in ("MAX_REPEAT", "MIN_REPEAT") and value[0] in (0, 1) and value[1] == 1:
        inner = _spelled_sequence(value[2])
        return inner if inner is None or value[0] else inner | {""}
    if op == "SUBPATTERN":
        return _spelled_sequence(value[-1])
    if op == "BRANCH":
        found = [_spelled_sequence(branch) for branch in value[1]]
        whole = set().union(*(f for f in found if f is not None))
        return whole if all(f is not None for f in found) and len(whole) <= _MOST else None
    return None


def _spelled_sequence(parts: Any) -> set[str] | None:
    run = {""}
    for part in parts:
        spelled = _spellings(part)
        if spelled is None or len(run) * len(spelled) > _MOST:
            return None
        run = {before + after for before in run for after in spelled}
    return run


def _inside(part: Any, *, fresh: bool) -> frozenset[str]:
    op, value = str(part[0]), part[1]
    if op == "SUBPATTERN":
        return _of_sequence(value[-1], fresh=fresh)
    if op == "BRANCH":
        found = [_of_sequence(branch, fresh=fresh) for branch in value[1]]
        return frozenset().union(*found) if all(found) else _ANYTHING
    if op in ("MAX_REPEAT", "MIN_REPEAT") and value[0] > 0:
        return _of_sequence(value[2], fresh=fresh)
    return _ANYTHING


def _of_run(run: set[str]) -> frozenset[str]:
    found = [_of_text(text) for text in run]
    return frozenset(stem for stem in found if stem) if all(found) else _ANYTHING


def _of_text(text: str) -> str:
    """The longest stem that a text holding ``text`` must hold; words cut at either end count as far as they go."""
    usable: list[str] = []
    for found in re.finditer(r"[^\W_]+", text.lower()):
        word, ends = found.group(), found.end() < len(text)
        if found.start() == 0:
            continue  # the end of a longer word
        if ends or len(word) >= STEM:
            usable.append(word[:STEM])
        elif len(word) >= OPEN:
            usable.append(word[:OPEN])
    return max(usable, key=lambda stem: (stem not in _COMMON, len(stem)), default="")


def _ends_fresh(part: Any) -> bool:
    """Whether what follows a part begins a word: the part ends in no letter."""
    op, value = str(part[0]), part[1]
    if op == "LITERAL":
        return not chr(value).isalnum()
    if op == "IN":
        return all(str(o) == "LITERAL" and not chr(v).isalnum() for o, v in value)
    if op in ("SUBPATTERN", "MAX_REPEAT", "MIN_REPEAT"):
        inner = list(value[-1])
        return bool(inner) and _ends_fresh(inner[-1])
    if op == "BRANCH":
        return all(bool(branch) and _ends_fresh(list(branch)[-1]) for branch in value[1])
    return op == "AT"


_COMMON = names(
    """the a an is are was were be been has have had do does did on in at of to for from with by and or you your
    it this that all any new one user file name item items order orders date time list result value account
    page data messag mail email number id as our reques server tool first last more only some such when while
    will can may been into than then there call code set see room tables ticket seat work run open use long
    check status state above below under look make named own see seem size states target edit health paper remain section
    appear extern openin beyond instan"""
)
"""Beginnings of words that stand in every other result: the last choice for telling a failure by."""


def _better(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    if not one or not other:
        return one or other
    return min(
        one,
        other,
        key=lambda stems: (
            len(_COMMON & stems),
            -min(map(len, stems), default=0) if _COMMON & stems else 0,
            len(stems),
        ),
    )
