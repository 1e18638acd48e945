"""Result or error text? An explicit decision, with the evidence for both sides and a measured confidence.

Documents, logs and notes talk about errors, too. What decides is how the first sentence is worded, what else the text
is, and what the tool is for: signs with measured weights (``data/decision.toml``), summed as logits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from btm.classify import body_keys, languages, rules, texts, words
from btm.classify.carriers import Carried
from btm.classify.finding import Finding
from btm.classify.keys import snake
from btm.model import ErrorKind as K

READ = 420
"""Characters of a text that signs are looked for in."""

LINE = 200
ONE_LINE = 240
"""Characters up to which a text without line breaks is a sentence whose wording counts."""

WORDED = "worded like a failure"
_SENTENCE = 2
"""Spaces of a text that can be a sentence: a word or two is an answer."""

_MIDDLING, _LONG, _VERY_LONG = 120, 300, 1_000
_LEADING = re.compile(r"[\s\W]{0,8}")


class Sign(NamedTuple):
    """One sign, and where it is looked for."""

    name: str
    where: str
    pattern: re.Pattern[str]


class Weighed(NamedTuple):
    """How likely a text is an error text, and the names of the signs that were found."""

    chance: float
    signs: tuple[str, ...]


@cache
def signs() -> tuple[Sign, ...]:
    """Return the signs that are looked for with a pattern."""
    return tuple(
        Sign(entry["name"], entry["where"], re.compile(entry["pattern"]))
        for entry in rules.table("decision")["sign"]
        if "pattern" in entry
    )


@cache
def _parts() -> tuple[tuple[tuple[Sign, re.Pattern[str]], ...], rules.Index]:
    """Return the alternatives of each sign of a text, and the index that says which a text can show at all."""
    found, stems = [], []
    known = {sign.name: sign for sign in signs()}
    for entry in rules.table("decision")["sign"]:
        if "pattern" in entry:
            parts = rules.alternatives(entry["pattern"])
            found += [(known[entry["name"]], re.compile(part)) for part in parts]
            stems += rules.stems_of_parts(entry["pattern"], entry.get("stems"))
    return tuple(found), rules.Index((each, ()) for each in stems)


@cache
def weights() -> Mapping[str, float]:
    """Return the weight of every sign by its name, those without a pattern included."""
    return {entry["name"]: entry["weight"] for entry in rules.table("decision")["sign"]}


@cache
def stems() -> frozenset[str]:
    """Return the beginnings of words of the signs that make an error text."""
    signs = rules.table("decision")["sign"]
    return rules.stems_of(s for s in signs if s.get("where") == "bare" and s["says"] == "error")


@cache
def _refusal() -> re.Pattern[str]:
    return re.compile(rules.table("decision")["refusal"])


def judge(
    text: str, size: int, tool: str, carried: Carried | None, found: Finding | None, *, writes: bool
) -> Weighed:
    """Weigh the signs of a text of ``size`` characters, given by its beginning.

    ``carried`` is it without its layers, ``found`` what its words say of a kind.
    """
    named = evidence(text, size, tool, carried, found, writes=writes)
    known = weights()
    logit = rules.table("decision")["bias"] + sum(known.get(name, 0.0) * much for name, much in named.items())
    return Weighed(1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit)))), tuple(named))


def evidence(
    text: str, size: int, tool: str, carried: Carried | None, found: Finding | None, *, writes: bool
) -> dict[str, float]:
    """Return the signs that a text shows by their names, and how much of each: 1, or the logit of its wording."""
    head = text[:READ].strip()
    low = head.lower()
    first = words.first_sentence(head)
    bare = _LEADING.sub("", texts.unquoted(first.lower()), count=1).strip()
    named = _matching({"text": low, "bare": bare}, low, carried)
    if writes and low.isascii():
        named.append("a write that says so" if says_done(low, tool) else "a write that does not say so")
    if _is_for("quotes", tool):
        named.append("a tool that quotes errors")
    if _is_for("tells", tool):
        named.append("a tool that brings prose")
    lines = head.count("\n")
    if (size > LINE or lines) and _is_for("reads", tool):
        named.append("what a file holds")
    named += _of_form(size, low, lines)
    if carried is None:
        named.append("no layer" if found is not None else "no layer, no kind")
    if found is not None:
        named += _of_kind(found, tool, low, writes=writes)
    shown = dict.fromkeys(named, 1.0)
    if not lines and size <= ONE_LINE and first.count(" ") >= _SENTENCE:
        shown[WORDED] = words.logit(first)
        if carried is not None:
            shown[WORDED] = max(shown[WORDED], words.logit(words.first_sentence(carried.inner)))
    return shown


@cache
def _purposes() -> Mapping[str, re.Pattern[str]]:
    decision = rules.table("decision")
    return {
        n: re.compile(rules.filled(pattern, decision["pieces"])) for n, pattern in decision["tools"].items()
    }


def _is_for(purpose: str, tool: str) -> bool:
    return _is_named_for(purpose, tool[-_LONG_NAME:])


_LONG_NAME = 200


@lru_cache(maxsize=1_024)
def _is_named_for(purpose: str, tool: str) -> bool:
    return _purposes()[purpose].match(_name_of(tool)) is not None


def purposes(tool: str) -> list[str]:
    """Return what a tool's name says that its results are (``quotes``, ``tells``, ``judges``, ...)."""
    return [purpose for purpose in _purposes() if _is_for(purpose, tool)]


def _name_of(tool: str) -> str:
    return snake(tool.rsplit("/", 1)[-1][:64])


def quotes(tool: str) -> bool:
    """Whether a tool's name says that its results quote errors, files and commands included."""
    return any(_is_for(purpose, tool) for purpose in ("quotes", "reads", "runs"))


def runs(tool: str) -> bool:
    """Whether a tool's name says that it runs a program, and nothing else of what its results are."""
    return purposes(tool) == ["runs"]


def is_about_errors(tool: str) -> bool:
    """Whether what a tool brings may well be an error of something else: pages, logs, verdicts, explanations."""
    return quotes(tool) or tells(tool) or judges(tool) or body_keys.CODE_TOOL.search(tool[:80]) is not None


def tells(tool: str) -> bool:
    """Whether a tool's name says that its results are prose: songs, pages, rules and the like."""
    return _is_for("tells", tool)


def judges(tool: str) -> bool:
    """Whether a tool's name says that its results are verdicts, bad ones too."""
    return _is_for("judges", tool)


def explains(low: str) -> bool:
    """Whether a lower-cased text explains something (``error 404 means``)."""
    return next(sign for sign in signs() if sign.name == "explains").pattern.search(low) is not None


def _of_form(size: int, low: str, lines: int) -> list[str]:
    named = []
    if size > _VERY_LONG:
        named.append("very long")
    elif _MIDDLING < size <= _LONG:
        named.append("middling")
    if lines:
        named.append("many lines" if lines >= 3 else "two or three lines")
    if low[:1].isdigit():
        named.append("begins with a number")
    return named


_VERDICTS = frozenset({K.INVALID_ARGUMENTS, K.AUTH_ERROR, K.NOT_FOUND, K.UNKNOWN})
"""What may be wrong with something that was to be checked."""


_CODED = ("code:", "errno:", "type:", "sqlstate:", "status:", "mysql:")


def _of_kind(found: Finding, tool: str, low: str, *, writes: bool) -> list[str]:
    named = []
    if _is_own_word(found, tool, low):
        named.append("its word is the tool's own")
    if not writes and not _refusal().search(low):
        if found.kind is K.PRECONDITION_FAILED:
            named.append("a state told by a read")
        elif found.kind in _VERDICTS and judges(tool):
            named.append("a verdict")
    if found.rule.startswith(_CODED):
        named.append("names a code")
    if languages.is_foreign(found):
        named.append("foreign words of failure")
    return named


def _is_own_word(found: Finding, tool: str, low: str) -> bool:
    """Whether the word that tells of a failure is in the tool's name, or means what it does (``block``, ``revoke``)."""
    name = _name_of(tool)
    own = _OWN.search(name)
    if own is None:
        return found.kind is K.NOT_FOUND and _DELETES.search(name) is not None and "no longer" in low
    return own.group() in low or found.kind is K.AUTH_ERROR


_DELETES = re.compile(r"delet|remov|purge|drop")
_OWN = re.compile(
    r"timeout|expir|error|fail|block|ban(?=_|$)|den[iy]|reject|revok|invalid|missing|exception|limit|quota|conflict|lock"
    r"|refus|declin|mute|suspend|disabl"
)


def _matching(places: Mapping[str, str], low: str, carried: Carried | None) -> list[str]:
    """Return the names of the signs whose patterns match, each once."""
    parts, index = _parts()
    found: dict[str, None] = {}
    for position in index.candidates(low):
        sign, pattern = parts[position]
        if sign.name not in found and pattern.search(places[sign.where]):
            found[sign.name] = None
    if carried is not None:  # figures in an error's words
        found.pop("lists figures", None)
    return [*found]


def says_done(low: str, tool: str) -> bool:
    """Whether the answer of a write says that something was done: by the tool's own verb, or by another."""
    name = _name_of(tool)
    if _FAILS.match(low):
        return False
    verb = name.split("_", 1)[0]
    own = _IRREGULAR.get(verb, verb[:4])
    for found in _DEEDS.finditer(low):
        if not _UNDONE.search(low, max(0, found.start() - 24), found.start()):
            return True
    start = low.find(own) if len(own) > 2 else -1
    return (
        start >= 0 and not _UNDONE.search(low, max(0, start - 40), start) and not _NEGATED.search(low, start)
    )


_FAILS = re.compile(r"\W*(?:failed|failure|error|could not|couldn't|cannot|can't|unable|sorry)\b")
_IRREGULAR = {
    "send": "sent",
    "set": "set",
    "make": "made",
    "pay": "paid",
    "put": "put",
    "buy": "bought",
    "run": "ran",
}
_DEED = (
    r"(?!failed|denied|rejected|refused|declined|expired|exceeded|required|expected|timed|unsupported|limited|need|allowed"
    r"|accepted|closed|locked|blocked|unexpected|speed|feed|seed|used|named|based|supposed|permitted|supported|requested"
    r"|specified|provided|defined|reserved|occupied|shipped|given|related|consented)[a-z]{3,}ed\b"
)
_DEEDS = re.compile(
    r"\b(?:ok|okay|done|success\w*|succeeded|now|sent|made|paid|built|update|insert|delete)\b"
    rf"|\b(?:was|were|been|is|are) {_DEED}|^\W*{_DEED}"
    rf"|\b{_DEED}(?=\W*$|[.,;:!]| (?:to|for|with|as|in|into|at|on|by|from|and|successfully)\b)"
)
_UNDONE = re.compile(
    r"\b(?:not|cannot|no|never|must|only|unable|failed|could|can't|won't|before|unless|if|to)\b|n't\b"
)
_NEGATED = re.compile(r"\b(?:not|cannot|failed|unable|rejected|denied)\b")
