"""A second opinion, beside the rules': a linear model of how answers of failed calls look, and of what failed.

Rules know the forms of what they were written for. Of an answer in a form of its own, words of its field names, short
values, sentences and size say much together. The weights (``data/opinion.json``) are fitted on labelled answers by
``tests/classify/fit_opinion.py``, beside what the rules said of each before they knew it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import Any

import orjson

from btm.classify import carriers, deciding, guessing, words
from btm.classify.body_keys import is_error
from btm.classify.finding import EXACT, STATUS, Finding
from btm.classify.keys import snake
from btm.classify.reading import members
from btm.classify.refusals import says_well
from btm.model import Effect, ErrorKind, ToolCall
from btm.support.untrusted import text_of

FAILED, SUSPECTED, DOUBTED = 0.7, 0.35, 0.3
"""Chances from which an answer that the rules take for a success is a failure, and from which it is suspected; and below
which a failure that the rules read in it is suspected only."""

MARGINS = 0.6, 1.5
"""How much likelier another kind must be than the rules', in logits, where they guess and where they are likely right."""

_LEAVES, _DEEPEST, _WIDEST, _ITEMS = 40, 6, 40, 3
_SHOWN, _WORDS, _FEWEST, _LONG_WORD, _STEM = 260, 32, 3, 6, 5
_FEW, _SENTENCE, _LONG, _PROSE = 8, 200, 40, 400
_SURE, _LIKELY, _TELLING = 0.9, 0.75, 0.3

_VERDICTS = frozenset({"True", "False", "None", "0", "1", "negative", "failing", "fine"})
_WORD = re.compile(r"[^\W\d_]+(?:n't|'s)?|[_0:!?]")
_CAPITALS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NAME = re.compile(r"[A-Za-z]+(?:[_.-][A-Za-z]+)+")
_PARTS = re.compile(r"[_.\s-]+")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,8})?")
_SAID = re.compile(r"[\"'][^\"']*[^\W\d_]{2} [^\W\d_]")
_LETTERS = re.compile(r"[^\W\d_]+")
_LONGEST, _SPELLING, _LONG_NAME = 16, 1.2, 100
_PLAIN_WORD = re.compile(r"[A-Za-z][A-Za-z_.-]*")


def of_answer(value: Any, text: str | None, call: ToolCall, ruled: Finding | None) -> dict[str, float]:
    """Return what an answer shows: of a structure (``value``) its fields, of a plain text (``text``) its words.

    ``ruled`` is what the rules found or, where it is doubtful, suspect; they take the answer for a success otherwise.
    """
    shown = _of_tool(call)
    if ruled is not None and ruled.doubtful:
        shown |= {"suspected": 1.0, "how much": ruled.confidence}
    elif ruled is not None:
        by, sure = ruled.rule.split(":", 1)[0], round(guessing.calibrated(ruled.confidence), 1)
        shown |= {f"found {ruled.kind}": 0.5, f"found by {by}": 1.0, f"found by {by} at {sure}": 0.7}
        shown |= {"found": 2.0, f"found {ruled.rule}": 0.7}
    if text is None:
        _of_fields(value, shown)
    else:
        _of_text(text, shown)
    return shown


def _of_tool(call: ToolCall) -> dict[str, float]:
    verb = snake(call.tool.rsplit("/", 1)[-1][:64]).split("_", 1)[0]
    shown = {f"a tool that {purpose}": 0.5 for purpose in deciding.purposes(call.tool)}
    return shown | {f"verb {verb}": 0.4, "writes" if call.effect is Effect.WRITE else "reads": 0.5}


def _of_fields(value: Any, shown: dict[str, float]) -> None:
    found = [*_leaves(value, "", 0, [_LEAVES])]
    shown[f"leaves {min(8, int(math.log2(1 + len(found)) * 1.5))}"] = 0.7
    shown |= _of_size(len(value) if type(value) is dict else 0)
    sentences, most = 0, -words.LIMIT
    for key, leaf, depth in found:
        kind, near = _kind_of(leaf), "near" if depth <= 1 else "deep"
        for word in _key_words(key):
            shown[f"key {word}"] = 0.5
        shown[f"is {kind} {near}"] = shown.get(f"is {kind} {near}", 0.0) + 0.15
        if kind in _VERDICTS:
            shown[f"{snake(key[:_LONG])} is {kind}"] = 0.7
        if kind in ("word", "id"):
            for word in _key_words(leaf[:_LONG])[:5]:
                shown[f"value {word}"] = 0.7
                shown[f"value {near} {word}"] = 0.5
        elif kind == "sentence":
            sentences += 1
            first = words.first_sentence(leaf)
            most = max(most, words.logit(first))
            if depth <= 2 or len(found) <= _FEW:
                for word in words.words_in(first)[:16]:
                    shown[f"said {word}"] = 0.5
    shown[f"sentences {min(3, sentences)}"] = 0.5
    if sentences:
        shown["worded like a failure"] = most / 3


def _leaves(value: Any, key: str, depth: int, left: list[int]) -> Iterator[tuple[str, Any, int]]:
    """Yield scalars and empty members with the nearest key and how deep they stand, ``left`` of them at most."""
    held: Any = ()
    if isinstance(value, Mapping) and value and depth < _DEEPEST:
        held = [*members(value).items()][:_WIDEST]
    elif isinstance(value, list | tuple) and value and depth < _DEEPEST:
        held = [(key, item) for item in value[:_ITEMS]]
    elif left[0] > 0:
        left[0] -= 1
        yield key, value, depth
    for name, item in held:
        if left[0] > 0:
            yield from _leaves(item, name if isinstance(name, str) else "", depth + 1, left)


def _key_words(key: str) -> list[str]:
    return _words_of_key(key[:_LONG_NAME])


@lru_cache(maxsize=4_096)
def _words_of_key(key: str) -> list[str]:
    return [word for word in snake(key).split("_") if word]


def _kind_of(leaf: Any) -> str:
    if leaf is None or leaf is True or leaf is False:
        return str(leaf)
    if isinstance(leaf, int | float):
        return _size(leaf)
    if not isinstance(leaf, str):
        return "empty"
    text = leaf.strip()
    if not text:
        return "blank"
    if len(text) <= 24 and _NUMBER.fullmatch(text):
        return _size(float(text) if "." in text else int(text))
    if " " in text:
        return "text" if len(text) > _SENTENCE else "sentence"
    if len(text) > _LONG or "/" in text:
        return "long"
    return "word" if _PLAIN_WORD.fullmatch(text) else "id" if any(map(str.isdigit, text)) else "odd"


def _size(number: float) -> str:
    if number in (0, 1):
        return str(int(number))
    if number < 0 or isinstance(number, float):
        return "negative" if number < 0 else "fraction"
    return (
        "failing"
        if 400 <= number < 600
        else "fine"
        if 200 <= number < 300
        else f"{5 if number >= 10_000 else len(str(number))} digits"
    )


def _of_text(text: str, shown: dict[str, float]) -> None:
    head = text[:600].strip()
    first = words.first_sentence(head)
    shown["text"] = 1.0
    shown[f"size {min(9, int(math.log2(1 + len(text))))}"] = 0.6
    shown[f"lines {min(4, head.count(chr(10)))}"] = 0.5
    shown["worded like a failure"] = words.logit(first) / 3
    if carriers.strip(head) is not None:
        shown["layers"] = 1.0
    shown |= dict.fromkeys(_pairs(words.words_in(first)), 0.5)
    later = words.words_in(head[len(first) :])
    shown |= dict.fromkeys([f"later {word}" for word in later], 0.4)
    if later:
        shown["goes on"] = 0.7


def _pairs(found: list[str]) -> Iterator[str]:
    before = "^"
    for word in [*found, "$"]:
        yield f"w {word}"
        yield f"{before} {word}"
        before = word


def of_failure(found: Finding, text: str, sure: float, call: ToolCall) -> dict[str, float]:
    """Return what a failure shows of its kind: its words, the tool's name, and what the rules take it for.

    ``sure`` is the share of such findings that are right.
    """
    head = text[:_SHOWN]
    low = words.made_alike(_CAPITALS.sub(" ", head))
    said = _WORD.findall(low)[:_WORDS]
    shown = dict.fromkeys(_pairs(said), 1.0)
    shown |= {f"begins {word[:_STEM]}": 0.7 for word in said if len(word) > _LONG_WORD}
    shown |= {f"part {part}": 0.5 for name in _NAME.findall(head) for part in _PARTS.split(name.lower())}
    shown |= _of_tool(call)
    by = found.rule.split(":", 1)[0]
    how = "sure" if sure >= _SURE else "likely" if sure >= _LIKELY else "guessed"
    for sign in (
        f"rules {found.kind}",
        f"by {by}",
        f"rules {found.kind} by {by}",
        f"rules {found.kind} {how}",
    ):
        shown[sign] = 1.0
    shown[f"rule {found.rule}"] = 0.7
    if found.status_code is not None:
        shown |= {f"status {found.status_code}": 1.0, f"rules {found.kind} {found.status_code}": 1.0}
    return shown


def spelled(text: str) -> tuple[float, list[str]]:
    """Return the distinct words of what a failure says, for their spelling, and how much each counts."""
    words_of = _LETTERS.findall(_CAPITALS.sub(" ", text[:_SHOWN]).lower())
    said = [*dict.fromkeys(word[:_LONGEST] for word in words_of)]  # sums depend on their order
    return _SPELLING / math.sqrt(max(1, len(said))), said


def pieces_of(word: str) -> list[str]:
    """Return the pieces of a word, three to five letters with its ends (n-grams): inflected and joined words share them."""
    ends = f" {word} "
    return [*dict.fromkeys(ends[at : at + size] for size in (3, 4, 5) for at in range(len(ends) - size + 1))]


@lru_cache(maxsize=4_096)
def _by_spelling(word: str) -> Mapping[str, float]:
    """Return for and against which kinds a word speaks by its spelling."""
    known = _weights()[1]
    total: dict[str, float] = {}
    for piece in pieces_of(word):
        for label, weight in known.get(f"g {piece}", ()):
            total[label] = total.get(label, 0.0) + weight
    return total


Weights = Mapping[str, tuple[tuple[str, float], ...]]
"""For each sign, the labels that it speaks for or against, and how much."""


@cache
def _weights() -> tuple[Weights, Weights]:
    known = orjson.loads((files("btm.classify.data") / "opinion.json").read_bytes())
    return _by_sign({"failed": known["failed"]}), _by_sign(known["kinds"])


def _by_sign(labels: Mapping[str, Mapping[str, str]]) -> Weights:
    found: dict[str, list[tuple[str, float]]] = {}
    for label, groups in labels.items():
        for weight, signs in groups.items():
            for sign in signs.split("|"):
                found.setdefault(sign, []).append((label, float(weight)))
    return {sign: tuple(each) for sign, each in found.items()}


def _summed(shown: Mapping[str, float], known: Weights) -> dict[str, float]:
    total = dict(known[""])
    for sign, much in shown.items():
        for label, weight in known.get(sign, ()):
            total[label] += weight * much
    return total


def has_one(value: Any) -> bool:
    """Whether an answer may look like a failure's at all: many rows never do, most fields by their names do not."""
    if type(value) is dict:
        found = _by_names(tuple([_cut(name) for name in islice(value, _WIDEST + 1)]))
        return found and not says_well(value)
    if type(value) is str:
        return len(value) <= _PROSE and value[:1] != "<"
    return isinstance(value, Mapping | list | tuple) and 0 < len(value) <= _ITEMS


_WORTH = -2.0
"""The least that names say where values say the rest: 2 of 90 answers that look like failures' have less."""


def _cut(name: object) -> str:
    return name[:_LONG_NAME] if type(name) is str else ""


@lru_cache(maxsize=4_096)
def _by_names(names: tuple[str, ...]) -> bool:
    if not names:
        return False
    shown = {f"key {word}": 0.5 for name in names[:_WIDEST] for word in _key_words(name)}
    return _summed(shown | _of_size(len(names)), _weights()[0])["failed"] >= _WORTH


def _of_size(size: int) -> dict[str, float]:
    return {"fields": 1.0, f"top {size}" if 0 < size <= _FEW else "top many": 0.6}


def chance(value: Any, text: str | None, call: ToolCall, ruled: Finding | None) -> float:
    """Return how likely it is that an answer is a failure's; ``ruled`` is what :func:`of_answer` says."""
    logit = _summed(of_answer(value, text, call, ruled), _weights()[0])["failed"]
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))


def doubts(failure: Finding, value: Any, call: ToolCall) -> bool:
    """Whether an answer in which rules read a failure looks like a success as a whole. What stands in a layer does not."""
    if failure.confidence >= STATUS or not failure.rule.startswith(READ_BY) or not has_one(value):
        return False
    text = value if type(value) is str else None
    if text is None:
        if _is_nothing_but_error(value):
            return False
    elif failure.detail or carriers.strip(text) is not None:
        return False  # the end of a run
    said = failure.detail or (text_of(value, _PROSE) if text is None else text)
    return chance(value, text, call, guessing.refined(failure, said, call)) < DOUBTED


def _is_nothing_but_error(value: Any) -> bool:
    return type(value) is dict and len(value) == 1 and is_error(str(next(iter(value))))


READ_BY = ("text:", "plain:", "body:", "guess:", "code:", "type:", "status:", "exit:", "look:")
"""Rules that read words and codes; others check what they say."""

_SPECIAL = frozenset({ErrorKind.SCHEMA_DRIFT, ErrorKind.EMPTY_RESULT})
"""Kinds that texts seldom tell of: who has a wording for them knows what it is."""


def _has_words(found: Finding, text: str) -> bool:
    """Whether a failure says more than that it is one: a sentence, or a code of several words."""
    head = text[:_SHOWN].strip()
    if not found.detail and head[:1] in ("{", "["):
        return _SAID.search(head) is not None
    return " " in head or len(_PARTS.split(head)) >= _FEWEST


def reconsidered(found: Finding, text: str, sure: float, call: ToolCall) -> tuple[Finding, float | None]:
    """Return a failure with its likeliest kind by what the rules say and by its words, its tool and its form.

    And how likely that kind is (None: it is not read from words or has one meaning). ``text`` is what the failure says,
    ``sure`` the share of such findings that are right among those that rules were made with. What has one meaning stays.
    """
    if found.confidence >= EXACT or not found.rule.startswith(READ_BY):
        return found, None
    total = _summed(of_failure(found, text, sure, call), _weights()[1])
    much, said = spelled(text)
    for word in said:
        for label, weight in _by_spelling(word).items():
            total[label] += much * weight
    if found.kind not in total:
        return found, None  # a silent fault: no words tell of it
    best = max(total, key=total.__getitem__)
    kind, ahead = ErrorKind(best), total[best] - total.get(found.kind, -math.inf)
    likely = 1.0 / math.fsum([math.exp(max(-30.0, logit - total[best])) for logit in total.values()])
    stays = likely < _TELLING if found.kind is ErrorKind.UNKNOWN else ahead < MARGINS[sure >= _LIKELY]
    special = found.kind in _SPECIAL and found.rule.startswith("text:")
    if stays or kind is found.kind or special or sure >= STATUS or not _has_words(found, text):
        return found, likely * math.exp(-ahead)
    word = kind.replace("_", " ")
    changed = found._replace(
        kind=kind,
        rule=f"opinion:{found.rule}",
        reason=f"its words and its tool are rather those of {word} ({found.reason})",
        reached=found.reached or kind in guessing.MAY_HAVE_ACTED,
    )
    return changed, likely
