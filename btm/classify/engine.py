"""The whole way from a result or an exception to an outcome: user rules, explicit failures, silent ones."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from btm.classify import (
    bodies,
    confidence,
    deciding,
    exceptions,
    explicit,
    frameworks,
    guessing,
    opinion,
    pages,
    plain,
    refusals,
    silent,
    telling,
)
from btm.classify.ambiguity import is_ambiguous
from btm.classify.echoes import without_echoed_fields, without_echoes
from btm.classify.expectations import ErrorRule, Expectations
from btm.classify.finding import NONE, STATUS, WORDS, Finding
from btm.classify.reading import TEXT_LIMIT, tamed
from btm.classify.shape import ShapeProfile
from btm.model import SUCCESS, Effect, ErrorKind, Family, Outcome, ToolCall
from btm.support import untrusted
from btm.support.process_state import kept
from btm.support.readable import readable
from btm.support.untrusted import ask

UserRule = ErrorRule | Callable[[ToolCall, Any, BaseException | None], Outcome | ErrorKind | None]
_log = logging.getLogger("btm")
_ABSENT: Any = object()
_SHOWN = 1_200
"""Characters of a failure's text from which the one line of its detail is made."""

_BOILERPLATE = re.compile(r"\s*For (?:more|further|troubleshooting)[^\n]{0,80}https?://[^\s]{1,200}")
"""What libraries append to every message."""

_OPENERS = frozenset(["", "{", "[", "<", " ", "\n", "\t", "\r", "m"])


def classify(
    call: ToolCall,
    result: Any = _ABSENT,
    error: BaseException | None = None,
    *,
    history: Sequence[Outcome] | None = None,
    expectations: Expectations | None = None,
    rules: Sequence[UserRule] = (),
    shape: ShapeProfile | None = None,
    now: float | None = None,
) -> Outcome:
    """Name what came of ``call``. Total: whatever is passed in, an outcome comes out; nothing is imported or fetched.

    Give ``error`` for an exception, else ``result``. ``history`` are earlier outcomes of the same tool, newest last;
    ``expectations`` are what the fallback map says of a good result; ``rules`` are the user's own and go first;
    ``shape`` is what earlier successes looked like, and asks for a walk over the whole result. ``now`` is the time
    in epoch seconds that ages and Retry-After dates are measured from (default: ``call.at``, and 0 is no time).
    """
    try:
        return ask(_classify, call, result, error, history, expectations, rules, shape, now)
    except Exception as problem:  # noqa: BLE001 - the promise is that classification never breaks the agent
        _warn_once(f"classification failed: {type(problem).__name__}")
        if error is not None:
            return Outcome(
                ErrorKind.UNKNOWN,
                ambiguous=call.effect is Effect.WRITE,
                confidence=NONE,
                reason="its classification failed",
                rule="internal",
            )
        return _by_what_it_says(call, result, now)


def renamed(outcome: Outcome, kind: ErrorKind, call: ToolCall, answer: Any, rule: str) -> Outcome:
    """Return what came of a call as a failure of ``kind``, for ``rule`` says so; what the answer tells besides stays."""
    detail = outcome.detail or untrusted.text_of(frameworks.unwrap(answer).value, TEXT_LIMIT)
    made = _outcome(Finding(kind, rule, "it was taught so", 1.0, outcome.status_code, detail=detail), call)
    return replace(made, kind=kind, retry_after_s=outcome.retry_after_s or made.retry_after_s)


def _by_what_it_says(call: ToolCall, result: Any, now: float | None) -> Outcome:
    """Return what came of a result that could not be walked (a cycle, an object that raises): by its text, or nothing."""
    if result is not _ABSENT and type(result) is not str:
        try:
            return ask(
                _classify, call, untrusted.text_of(result, TEXT_LIMIT), None, None, None, (), None, now
            )
        except Exception as problem:  # noqa: BLE001 - see above
            _log.debug("nor could its text be read: %s", type(problem).__name__)
    return Outcome(confidence=NONE, reason="its classification failed", rule="internal")


def _classify(
    call: ToolCall,
    result: Any,
    error: BaseException | None,
    history: Sequence[Outcome] | None,
    expectations: Expectations | None,
    rules: Sequence[UserRule],
    shape: ShapeProfile | None,
    now: float | None,
) -> Outcome:
    moment = now if now is not None else call.at or None
    value = None if result is _ABSENT else result
    if rules:
        ruled = _by_rules(call, value, error, rules)
        if ruled is not None:
            return ruled
    if error is not None:
        thrown = exceptions.of_exception(error, call, moment)
        return _outcome(_with_history(thrown, history), call, raised=True)
    plain_success = expectations is None and shape is None
    if type(value) is str:
        if plain_success and _is_plainly_fine(value, call):
            found = silent.computed(value, call) if call.arguments else None
            return confidence.success() if found is None else _outcome(found, call, value)
    elif type(value) not in explicit.BARE and not (type(value) is dict and frameworks.is_bare(value)):
        bare = frameworks.unwrap(value)
        value = bare.value
        if bare.is_error:
            found = bodies.of_failed_value(tamed(value), call, moment)
            return _outcome(_with_history(found, history), call, value)
    parsed, failure = explicit.read(value, call, moment)
    if failure is not None and not failure.doubtful:
        if call.effect is not Effect.WRITE and opinion.doubts(failure, parsed, call):
            return _doubtful(failure._replace(confidence=opinion.SUSPECTED))
        return _outcome(_with_history(failure, history), call, value)
    quiet = silent.find(parsed, call, expectations, shape, moment)
    if quiet is not None:
        return _outcome(quiet, call, value)
    return _second_opinion(value, parsed, call, failure)


def _second_opinion(value: Any, parsed: Any, call: ToolCall, doubt: Finding | None) -> Outcome:
    """What an answer is that the rules take for a success, or doubt: by its look as a whole."""
    text = parsed if type(parsed) is str else None
    ruled = doubt is not None and not doubt.rule.startswith(opinion.READ_BY)
    if ruled or not opinion.has_one(parsed) or (type(value) is str and without_echoes(value, call) != value):
        # what an answer says in the caller's own words, it confirms
        return confidence.success() if doubt is None else _doubtful(doubt)
    if type(parsed) is dict:
        parsed = without_echoed_fields(parsed, call)
        if doubt is None and (refusals.is_confirmed(parsed) or telling.is_entry(parsed, call)):
            return confidence.success()
    chance = opinion.chance(parsed, text, call, doubt)
    if chance < opinion.SUSPECTED:
        return confidence.success(round(chance, 2)) if doubt is None else _doubtful(doubt)
    found = doubt or bodies.of_failed_value(parsed, call)
    if chance >= opinion.FAILED and not deciding.is_about_errors(call.tool):
        sure = min(chance if doubt else found.confidence, WORDS)
        return _outcome(
            found._replace(doubtful=False, confidence=sure, rule=f"look:{found.rule}"), call, value
        )
    return _doubtful(found._replace(confidence=chance))


def _doubtful(failure: Finding) -> Outcome:
    """A success that may be an error text: never evidence of a failure, for it counts as none."""
    return Outcome(
        confidence=confidence.of_doubt(failure.confidence),
        reason=f"may tell of {failure.kind.replace('_', ' ')}: {_clean(failure.reason)}",
        rule=f"suspected:{failure.rule}",
        suspected=failure.kind,
    )


def _is_plainly_fine(text: str, call: ToolCall) -> bool:
    """Whether a text holds no word of failure, and is neither blank nor JSON or markup, nor short and from a page."""
    if text[:1] in _OPENERS or plain.any_in(text):
        return False
    return pages.of_text(text, call.tool) is None


def _outcome(found: Finding, call: ToolCall, value: Any = None, *, raised: bool = False) -> Outcome:
    detail = found.detail or _text_of(value)
    found = guessing.refined(found, detail, call)
    shown = _BOILERPLATE.sub("", detail, 3) if "For " in detail else detail
    shown = readable(_end_cut(shown), _sent(call))
    ruled, sure = found, guessing.calibrated(found.confidence)
    likely = None  # what a raised exception's status or class says is told as it is, and not weighed again
    if not (raised and confidence.is_as_sure_as_its_rule(found) and sure >= STATUS):
        found, likely = opinion.reconsidered(found, shown, sure, call)
    said = detail if found.detail else detail[:600]
    return Outcome(
        kind=found.kind,
        detail=untrusted.redact(shown),
        status_code=found.status_code,
        retry_after_s=found.retry_after_s,
        silent=found.kind.family is Family.SILENT or found.rule.startswith("shape:"),
        ambiguous=is_ambiguous(found, call, said)
        or (found is not ruled and is_ambiguous(_unsure(ruled), call, said)),
        confidence=confidence.of_failure(found, likely, raised=raised),
        reason=_clean(found.reason),
        rule=found.rule,
        missing=found.missing,
    )


def _unsure(ruled: Finding) -> Finding:
    """What the rules said, of which a doubt stays whatever kind is likelier; a failure without a kind raises none."""
    return ruled._replace(reached=False) if ruled.kind is ErrorKind.UNKNOWN else ruled


def _end_cut(text: str) -> str:
    """Return the beginning of a long plain text; bodies, pages and tracebacks are read as a whole."""
    plain_text = text[:1] not in ("{", "[", "<") and "Traceback" not in text[:_SHOWN]
    return text[:_SHOWN] if plain_text and len(text) > _SHOWN else text


def _text_of(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list) and bodies.is_content(value):
        return bodies.content_text(value)
    return untrusted.text_of(value, TEXT_LIMIT)


def _sent(call: ToolCall) -> str:
    return " ".join(untrusted.text_of(value, 500) for value in [*call.arguments.values()][:20])


@lru_cache(maxsize=64)
def _clean(reason: str) -> str:
    # Reasons are few; those that name a field or a code of the answer hold untrusted text.
    return untrusted.redact(reason, 200)


def _with_history(found: Finding, history: Sequence[Outcome] | None) -> Finding:
    """An answer that could not be read three times in a row is not an accident of the line: the service changed."""
    if history is None or found.kind is not ErrorKind.MALFORMED or len(history) < 3:
        return found
    if all(o.kind in (ErrorKind.MALFORMED, ErrorKind.SCHEMA_DRIFT) for o in history[-3:]):
        return found._replace(
            kind=ErrorKind.SCHEMA_DRIFT,
            confidence=min(found.confidence, 0.7),
            reason=f"the fourth answer in a row that cannot be read: {found.reason}",
            rule=f"history:{found.rule}",
        )
    return found


def _by_rules(
    call: ToolCall, value: Any, error: BaseException | None, rules: Sequence[UserRule]
) -> Outcome | None:
    text = ""
    for rule in rules:
        name = rule.match[:60] if isinstance(rule, ErrorRule) else getattr(rule, "__name__", "callable")
        if isinstance(rule, ErrorRule):
            text = text or untrusted.text_of(value if error is None else error, TEXT_LIMIT)
            said = _matched(
                rule, text, flagged=error is not None or frameworks.unwrap(value).is_error is True
            )
        else:
            said = _asked(rule, name, call, value, error)
        if isinstance(said, Outcome):
            return said
        if isinstance(said, ErrorKind):
            detail = untrusted.text_of(value if error is None else error, TEXT_LIMIT)
            reason = "a rule of the user's own says so"
            return _outcome(Finding(said, f"user:{name}", reason, 1.0, detail=detail), call)
    return None


def _matched(rule: ErrorRule, text: str, *, flagged: bool) -> Outcome | ErrorKind | None:
    """What a user's pattern says of a text; what a framework flags (or an exception) stays an error."""
    pattern = _compiled(rule.match)
    if pattern is None or not pattern.search(text):
        return None
    if rule.kind is None and not flagged:
        return replace(SUCCESS, reason="a rule says that it is no error", rule=f"user:{rule.match[:60]}")
    return rule.kind


def _asked(
    rule: Callable[..., Outcome | ErrorKind | None],
    name: str,
    call: ToolCall,
    value: Any,
    error: BaseException | None,
) -> Outcome | ErrorKind | None:
    try:
        return rule(call, value, error)
    except Exception as problem:  # noqa: BLE001 - a user's rule that fails must not break the agent
        _warn_once(f"the rule {name!r} raised {type(problem).__name__} and is skipped")
        return None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error:
        _warn_once(f"the pattern {pattern[:80]!r} of a rule is not a regular expression and is skipped")
        return None


_MOST_WARNED = 1_000
_warned: set[str] = kept(__name__, set(), most=_MOST_WARNED)


def _warn_once(text: str) -> None:
    if text not in _warned and len(_warned) < _MOST_WARNED:
        _warned.add(text)
        _log.warning("%s", text)
