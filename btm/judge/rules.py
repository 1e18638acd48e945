"""A judge without a model: dates, ids and echoed arguments, where the intent names them. It never guesses.

Where nothing can be told it is satisfied with a low confidence, so that it agrees with a model that finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from btm.fallback.values import plain
from btm.judge.question import Question
from btm.judge.verdict import ErrorCategory, JudgeReply

SURE, UNSURE = 0.9, 0.5
_DATE = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_ID = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9][\w-]{2,40}(?![\w-])")
_ALL = re.compile(r"\b(all|every|complete|entire)\b", re.IGNORECASE)
_MORE = frozenset({"has_more", "hasmore", "next_page", "nextpage", "next_cursor", "truncated", "next_token"})
_DEPTH = 6


def rule_reply(question: Question) -> JudgeReply:
    """Return what the rules say of a call."""
    arguments, result = dict(question.call.arguments), plain(question.result)
    for find in (_temporal, _params, _echo, _scope):
        found = find(question.intent, arguments, result)
        if found is not None:
            category, gap = found
            return JudgeReply(
                satisfied=False,
                gap_description=gap,
                error_category=category,
                confidence=SURE,
                reasoning="by rule",
            )
    return JudgeReply(satisfied=True, confidence=UNSURE, reasoning="no rule finds a gap")


_Finding = tuple[ErrorCategory, str] | None


def _temporal(intent: str, arguments: Mapping[str, Any], result: Any) -> _Finding:
    """A day was asked for, and another one was called for or answered."""
    wanted = _dates(intent)
    if not wanted:
        return None
    called = set().union(*(_dates(str(value)) for _, value in _leaves(arguments)))
    if called and not called & wanted:
        return ErrorCategory.TEMPORAL_ERROR, f"asked for {_few(wanted)}, called for {_few(called)}"
    names = {name for name, value in _leaves(arguments) if _dates(str(value))} | {"date", "day", "as_of_date"}
    told = [(name, _dates(str(value))) for name, value in _leaves(result) if name in names]
    answered = set().union(*(dates for _, dates in told)) if told else set()
    if answered and not answered & wanted:
        return ErrorCategory.TEMPORAL_ERROR, f"asked for {_few(wanted)}, answered for {_few(answered)}"
    return None


def _params(intent: str, arguments: Mapping[str, Any], result: Any) -> _Finding:  # noqa: ARG001 - the rules are alike
    """One thing was named, and another one of its sort was called for."""
    wanted = {found.upper() for found in _ID.findall(intent) if not _dates(found)}
    for name, value in _leaves(arguments):
        if not (isinstance(value, str) and _ID.fullmatch(value.strip("#"))):
            continue
        alike = {one for one in wanted if _shape(one) == _shape(value.strip("#").upper())}
        if len(alike) == 1 and value.strip("#").upper() not in alike:
            return ErrorCategory.SEMANTIC_PARAM_ERROR, f"{name} is not the one that was named"
    return None


def _echo(intent: str, arguments: Mapping[str, Any], result: Any) -> _Finding:  # noqa: ARG001 - the rules are alike
    """The answer is about another thing than was called for."""
    if not isinstance(result, Mapping):
        return None
    for name, value in arguments.items():
        told = result.get(name)
        ids = isinstance(value, str) and isinstance(told, str) and _ID.fullmatch(value.strip("#"))
        if ids and str(told).strip("#").casefold() != str(value).strip("#").casefold():
            return ErrorCategory.SEMANTIC_RESULT_MISMATCH, f"{name} in the answer is not the one asked for"
    return None


def _scope(intent: str, arguments: Mapping[str, Any], result: Any) -> _Finding:  # noqa: ARG001 - the rules are alike
    """All was wanted, and the answer says that there is more."""
    more = any(name.lower() in _MORE and value not in (None, False, "", 0) for name, value in _leaves(result))
    return (
        (ErrorCategory.SCOPE_ERROR, "the answer is a part of all") if more and _ALL.search(intent) else None
    )


def _dates(text: str) -> set[str]:
    return {"-".join(found) for found in _DATE.findall(text)}


def _shape(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def _few(values: set[str]) -> str:
    return ", ".join(sorted(values)[:3])


def _leaves(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > _DEPTH:
        return
    if isinstance(value, Mapping):
        for key, inner in list(value.items())[:200]:
            yield from _leaves(inner, str(key), depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value[:200]:
            yield from _leaves(inner, name, depth + 1)
    else:
        yield name, value
