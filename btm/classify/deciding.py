"""Result or error text? An explicit decision, with the evidence for both sides and a measured confidence.

Documents, logs and notes talk about errors, too. What decides is where the words stand, what else the text is, and
what the tool is for: signs with measured weights (``data/decision.toml``), summed as logits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from btm.classify import languages, rules, texts
from btm.classify.carriers import Carried
from btm.classify.finding import Finding
from btm.classify.keys import snake
from btm.model import ErrorKind as K

READ = 420
"""Characters of a text that signs are looked for in."""

LINE = 200
_LENGTHS = ((40, "very short"), (120, "short"), (300, "middling"), (1_000, "long"))
_FIRST = re.compile(r"(?<=[^\d\s.]{3})[.!?](?=\s+[A-Z\"'*])|\n")
_ERROR_LINE = re.compile(
    r"^(?:fatal|error|npm err!|e|err!)(?::| code | \w+ )|^conflict \(|^\s?! \[(?:remote )?rejected\]",
    re.MULTILINE,
)
_LEADING = re.compile(r"[\s\W]{0,8}")


class Sign(NamedTuple):
    """One sign, where it is looked for, and its weight in logits (above 0: an error text)."""

    name: str
    where: str
    pattern: re.Pattern[str]
    weight: float


class Weighed(NamedTuple):
    """How likely a text is an error text, and the names of the signs that were found."""

    chance: float
    signs: tuple[str, ...]


@cache
def signs() -> tuple[Sign, ...]:
    """Return the signs that are looked for with a pattern."""
    return tuple(
        Sign(
            entry["name"],
            entry["where"],
            re.compile(entry["pattern"]),
            entry["weight"],
        )
        for entry in rules.table("decision")["sign"]
        if "pattern" in entry
    )


@cache
def _parts() -> tuple[tuple[tuple[Sign, re.Pattern[str]], ...], rules.Index]:
    """Return the alternatives of each sign of a text, and the index that says which a text can show at all."""
    found, stems = [], []
    known = {sign.name: sign for sign in signs()}
    for entry in rules.table("decision")["sign"]:
        if "pattern" in entry and entry["where"] != "tool":
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


def judge(text: str, tool: str, carried: Carried | None, found: Finding | None, *, writes: bool) -> Weighed:
    """Weigh the signs of a text; ``carried`` is it without its layers, ``found`` what its words say of a kind."""
    names = evidence(text, tool, carried, found, writes=writes)
    known = weights()
    logit = rules.table("decision")["bias"] + sum(known.get(name, 0.0) for name in names)
    return Weighed(1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit)))), names)


def evidence(
    text: str, tool: str, carried: Carried | None, found: Finding | None, *, writes: bool
) -> tuple[str, ...]:
    """Return the names of the signs that a text shows."""
    head = text[:READ].strip()
    low = head.lower()
    first = _FIRST.split(head, maxsplit=1)[0]
    bare = _LEADING.sub("", texts.unquoted(first.lower()), count=1).strip()
    places = {"text": low, "bare": bare, "cased": head}
    named = _matching(places, low, carried)
    if writes and low.isascii():
        named.append("a write that says so" if says_done(low, tool) else "a write that does not say so")
    of_tool = _of_tool(snake(tool.rsplit("/", 1)[-1][:64]))
    named += of_tool
    if "a tool that reads files" in of_tool and (len(text) > LINE or "\n" in head):
        named.append("what a file holds")
    named += _of_form(text, head, low, first)
    named.append(_of_carrier(carried))
    if "a tool that runs commands" in of_tool and _ERROR_LINE.search(low):
        named.append("a command's error line")
    if found is not None and _is_own_word(found, tool, low):
        named.append("its word is the tool's own")
    if found is not None and ('"' in low or "'" in low) and _only_quoted(found, low):
        named.append("its words stand in quotes")
    # A text of one sentence holds its kind where it begins.
    if found is None and carried is not None:
        named.append("a layer, and no kind")
    else:
        named += _of_kind(found, bare if len(first) + 2 < len(head) else "")
    if (
        found is not None
        and found.kind is K.PRECONDITION_FAILED
        and not writes
        and not _refusal().search(low)
    ):
        named.append("a state told by a read")
    if found is not None and languages.is_foreign(found):
        named.append("foreign words of failure")
    elif not low.isascii():
        named.append("foreign words")
    return tuple(named)


@lru_cache(maxsize=1_024)
def _of_tool(name: str) -> tuple[str, ...]:
    return tuple(s.name for s in signs() if s.where == "tool" and s.pattern.match(name))


def quotes(tool: str) -> bool:
    """Whether a tool's name says that its results quote errors: logs, tests, documents, searches."""
    return not _QUOTES.isdisjoint(_of_tool(snake(tool.rsplit("/", 1)[-1][:64])))


def judges(tool: str) -> bool:
    """Whether a tool's name says that its results are verdicts, bad ones too."""
    return "a tool that gives a verdict" in _of_tool(snake(tool.rsplit("/", 1)[-1][:64]))


_QUOTES = frozenset({"a tool that quotes errors", "a tool that reads files", "a tool that runs commands"})


def _of_form(text: str, head: str, low: str, first: str) -> list[str]:
    size = len(text)
    named = [next((name for most, name in _LENGTHS if size <= most), "very long")]
    lines = head.count("\n")
    if lines >= 3:
        named.append("many lines")
    elif lines:
        named.append("two or three lines")
    elif len(first) + 2 < len(head):
        named.append("several sentences")
    if low[:1].isdigit():
        named.append("begins with a number")
    return named


def _of_carrier(carried: Carried | None) -> str:
    if carried is None:
        return "no layer"
    return "a sure layer" if carried.sure >= 0.96 else "a layer" if carried.sure >= 0.92 else "a mark"


def _is_own_word(found: Finding, tool: str, low: str) -> bool:
    """Whether the word that tells of a failure is in the tool's name, or means what it does (``block``, ``revoke``)."""
    name = snake(tool.rsplit("/", 1)[-1][:64])
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
    name = snake(tool.rsplit("/", 1)[-1][:64])
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


def _only_quoted(found: Finding, low: str) -> bool:
    return found.rule.startswith("text:") and texts.phrase_in(texts.unquoted(low)) is None


def _of_kind(found: Finding | None, bare: str) -> list[str]:
    if found is None:
        return ["no kind"]
    if found.kind is K.UNKNOWN:
        return ["says only that it failed"]
    named = [
        "a sure kind"
        if found.confidence > 0.8
        else "a likely kind"
        if found.confidence > 0.58
        else "a vague kind"
    ]
    if (
        found.rule.startswith("text:")
        and bare
        and not languages.is_foreign(found)
        and texts.phrase_in(bare) is None
    ):
        named.append("the kind stands further on")
    return named
