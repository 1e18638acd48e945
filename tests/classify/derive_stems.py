"""Writes into the rule files the beginnings of words by which rules are looked up, derived from their patterns.

    python tests/classify/derive_stems.py

A rule works without its ``stems``: it is then tried on every text, which takes time.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from re import _parser as parser  # type: ignore[attr-defined]  # the only reader of patterns there is
from typing import Any

from btm.classify import rules
from btm.classify.finding import names
from btm.classify.rules import OPEN, STEM

DATA = Path(rules.__file__).with_name("data")
FILES = {"wording": "rule", "carriers": "carrier", "decision": "sign"}


def derived(text: str, table: str) -> str:
    """Return a rule file's text with the stems of each of its entries."""
    parts = re.split(rf"(?=^\[\[{table}\]\])", text, flags=re.M)
    return "".join(_with_stems(part, table) if part.startswith("[[") else part for part in parts)


def _with_stems(part: str, table: str) -> str:
    entry = tomllib.loads(part)[table][0]
    part = re.sub(r"^stems = .*\n", "", part, flags=re.M)
    if "pattern" not in entry or "cues" in entry or entry.get("where") == "tool":
        return part
    parts = rules.alternatives(entry["pattern"]) if table != "carrier" else [entry["pattern"]]
    stems = " | ".join(" ".join(sorted(stems_of_pattern(part))) for part in parts)
    return re.sub(r"^pattern = ", f'stems = "{stems}"\npattern = ', part, count=1, flags=re.M)


_ANYTHING: frozenset[str] = frozenset()


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


if __name__ == "__main__":
    for name, table in FILES.items():
        path = DATA / f"{name}.toml"
        path.write_text(derived(path.read_text(encoding="utf-8"), table), encoding="utf-8")
