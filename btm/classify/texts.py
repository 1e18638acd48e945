"""An error's text to the kind it tells of. Callers know already that it is an error; `plain` decides whether it is."""

from __future__ import annotations

import re
from functools import cache

from btm.classify import numbers, retry_after, types
from btm.classify.codes import of_code, of_json_rpc
from btm.classify.finding import DEFAULT, WEAK, Finding
from btm.classify.python_errors import of_python_text
from btm.classify.status import of_status, status_in
from btm.classify.wording import EUROPEAN_POSITIONS, PHRASES, asian
from btm.model import ErrorKind as K
from btm.model import ToolCall

HEAD, TAIL = 700, 300
"""Characters of a text that rules look at: its beginning, and its end where a traceback names the error."""

_WORD = re.compile(r"[^\W_]+(?:[-'/._][^\W_]+)*")
_JOINT = re.compile(r"[-'/._]")
_QUOTED = re.compile(
    r"(?<![\w])'[^'\n]{1,120}'(?![\w])|\"[^\"\n]{1,120}\"|\u2018[^\u2019\n]{1,120}\u2019|`[^`'\n]{1,120}[`']"
    r"|https?://[^\s'\")]{1,300}"
)
_CLASS = re.compile(
    r"(?<![\w/])((?:[A-Za-z_]\w{0,40}\.){0,5})([A-Z][A-Za-z]{2,60}(?:Error|Exception|Timeout"
    r"|Expired|Violation|Refused|Exceeded|Denied|Fault|NotFound)|[A-Z][a-z]+Timeout)(?=$"
    r"|[\s:('\")\]])"
)
_CLASS_ENDINGS = (
    "Error",
    "Exception",
    "Timeout",
    "Expired",
    "Violation",
    "Refused",
    "Exceeded",
    "Denied",
    "Fault",
    "NotFound",
)
_EXIT = re.compile(
    r"(?:exit(?:ed with)?(?: code| status)?|return(?:ed)?(?: non-zero exit status| code)?"
    r"|rc)[ =:]{0,3}(-?\d{1,3})\b",
    re.IGNORECASE,
)
_MYSQL_ARGS = re.compile(r"\((\d{4}), ?[\"']")
_MYSQL = re.compile(r"\berror (\d{4}) \(\w{5}\)", re.IGNORECASE)
_RPC = re.compile(r"(?:mcp|json-?rpc|rpc)? ?error:? ?\(?(-32\d{3})\b", re.IGNORECASE)
_CODES = (  # each with a piece of text that it needs: most texts have none
    (") when calling", re.compile(r"\((\w{4,60})\) when calling")),
    ("from server (", re.compile(r"Error from server \((\w+)\)")),
    ("code E", re.compile(r"code (E[A-Z]{3,20})\b")),
    ("StatusCode.", re.compile(r"StatusCode\.(\w+)")),
    ("_", re.compile(r"(?<![A-Z_])([A-Z]{4,20}(?:_[A-Z]{2,20}){1,4})(?![A-Z_a-z])")),
    (" E", re.compile(r" (E[A-Z]{5,15})(?![A-Za-z_])")),
    (": ", re.compile(r"(?<![A-Za-z])(E[A-Z]{4,15}):")),
)
_BRACKET_ERRNO = re.compile(
    r"\[(?:Win)?Err(?:no|or) (-?\d{1,3})\]|\berrno[ =:]{1,3}(-?\d{1,3})\b", re.IGNORECASE
)
_PYTHON = re.compile(
    r"(?:^|\n)(?:[\w.]{1,60}: )?(KeyError|IndexError|AttributeError|TypeError|NameError"
    r"|ModuleNotFoundError|ImportError): ([^\n]{1,300})"
)
_PER_MINUTE = re.compile(r"(?:per|/) ?(?:\d+ )?(?:second|minute|hour|min|sec)\b")
_PREFIX = re.compile(
    r"error (?:executing|invoking|calling|running|in) (?:tool |function |command |action "
    r"|query )?[\w./'\"-]{1,60}:\s*",
    re.IGNORECASE,
)


def _index() -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for position, phrase in enumerate(PHRASES):
        for word in phrase.triggers.split():
            found.setdefault(word, []).append(position)
    return {word: tuple(positions) for word, positions in found.items()}


_BY_WORD = _index()
_TRIGGERS = frozenset(_BY_WORD)


@cache
def _pattern(position: int) -> re.Pattern[str]:
    # Compiled at first use: most texts need few of them, and an import should not pay for all.
    return re.compile(PHRASES[position].pattern)


def trim(text: str) -> str:
    """Return the part of a text that rules look at, at most ``HEAD + TAIL`` characters."""
    return text if len(text) <= HEAD + TAIL else text[:HEAD] + "\n" + text[-TAIL:]


def _words(low: str) -> set[str]:
    words = set(_WORD.findall(low))
    if _JOINT.search(low):
        for word in [w for w in words if not w.isalnum()]:
            words.update(_JOINT.split(word))
    return words


def phrase_in(low: str) -> Finding | None:
    """Return what the first phrase (in the order of the table) in a lower-cased text says."""
    return _first_of(sorted(_candidates(low)), low)


def european_phrase_in(low: str) -> Finding | None:
    """Return what the first German, French or Spanish phrase in a lower-cased text says."""
    return _first_of(sorted(p for p in _candidates(low) if p in EUROPEAN_POSITIONS), low)


def _candidates(low: str) -> set[int]:
    positions: set[int] = set()
    for word in _TRIGGERS.intersection(_words(low)):
        positions.update(_BY_WORD[word])
    return positions


def _first_of(positions: list[int], low: str) -> Finding | None:
    for position in positions:
        if _pattern(position).search(low):
            phrase = PHRASES[position]
            word = phrase.triggers.split(" ", 1)[0]
            return Finding(
                phrase.kind, f"text:{phrase.kind}:{word}", f"the text speaks of {phrase.kind.replace('_', ' ')} ({word})",
                phrase.confidence, reached=phrase.reached,
            )  # fmt: skip
    return None


def unquoted(text: str) -> str:
    """Return ``text`` without quoted pieces and addresses: what a caller passed is not what went wrong."""
    return _QUOTED.sub(" ", text)


def _in_words(text: str, status: int | None) -> Finding | None:
    if asian.has_ideographs(text):
        said = asian.in_asian_text(text)
        if said is not None:
            return said
    low = text.lower()
    bare = unquoted(low)
    found = phrase_in(bare)
    if found is not None and found.kind is K.QUOTA_EXHAUSTED and _PER_MINUTE.search(low):
        return found._replace(kind=K.RATE_LIMIT, reason="a quota of requests per second, minute or hour")
    quoted = bare != low and (status is None or "{" in text)
    if quoted and (found is None or found.confidence <= WEAK):
        # Nothing but the quoted piece tells. Where there is a status and no body, that tells enough.
        return phrase_in(low) or found
    return found


def _in_classes(text: str) -> Finding | None:
    """An exception's class named in a text: ``ReadTimeout('timed out')``, ``(psycopg2.errors.UniqueViolation)``."""
    if not any(ending in text for ending in _CLASS_ENDINGS):
        return None
    best: Finding | None = None
    for count, match in enumerate(_CLASS.finditer(text)):
        if count == 4:
            break
        root = match.group(1).split(".", 1)[0]
        known = types.known_type(match.group(2), root)
        if match.group(2) == "SyntaxError":  # JavaScript says so of JSON, too
            continue
        if known is None or known.kind is K.UNKNOWN:
            continue
        finding = Finding(
            known.kind, f"type:{match.group(2)}", f"the text names {match.group(2)}",
            known.sure - 0.08 if known.sure > DEFAULT else DEFAULT, reached=known.reached,
        )  # fmt: skip
        if best is None or finding.confidence > best.confidence:
            best = finding
    return best


def _in_numbers(text: str) -> Finding | None:
    """Codes with a fixed form: errno, MySQL's numbers, and the names that AWS, gRPC, Node and Google use."""
    if "rrno" in text or "inError" in text:
        found = _BRACKET_ERRNO.search(text)
        if found:
            return numbers.of_errno(int(found.group(1) or found.group(2)))
    if "rror 1" in text or "ROR 1" in text:
        mysql = _MYSQL.search(text)
        if mysql:
            return numbers.of_mysql(int(mysql.group(1)))
    if text[:1] == "(":
        mysql = _MYSQL_ARGS.match(text)
        if mysql:
            return numbers.of_mysql(int(mysql.group(1)))
    for cue, pattern in _CODES:
        if cue not in text:
            continue
        for match in pattern.finditer(text):
            known = of_code(match.group(1))
            if known is not None and known.kind is not K.UNKNOWN:
                return known
    return None


def exit_code_in(text: str) -> int | None:
    """Return the exit code that a text names ("exit code 126", "returned non-zero exit status 1"), if any."""
    found = _EXIT.search(text[:300])
    return int(found.group(1)) if found else None


def of_error_text(text: str) -> Finding | None:
    """Return what an error text tells, or None when it only says that something failed.

    A status in the text and its words are read together; a fixed code outranks both unless it is broad.
    """
    text = trim(text)
    more = text.find("\nFor ")
    if more > 0:  # where to read on: a page about errors in general
        text = text[:more]
    python = _PYTHON.search(text)
    if python is not None:
        said = of_python_text(python.group(1), python.group(2), ToolCall(""), None)
        if said is not None:
            return said
    prefix = _PREFIX.match(text)
    if prefix is not None and prefix.end() < len(text):
        text = text[prefix.end() :]
    status = status_in(text)
    words = _in_words(text, status)
    named = _in_classes(text)
    fixed = _in_numbers(text)
    best = words
    for other in (named, fixed):
        if other is not None and (best is None or other.confidence > best.confidence):
            best = other
    if status is not None:
        best = of_status(status, best)
    if best is None or best.confidence <= WEAK:
        best = _weak_numbers(text, best)
    if best is None:
        return None
    wait = retry_after.in_text(text)
    return best if wait is None else rate_or_quota(best._replace(retry_after_s=wait))


def rate_or_quota(found: Finding) -> Finding:
    """A quota that is free again within the hour is a rate limit."""
    if found.kind is K.QUOTA_EXHAUSTED and found.retry_after_s is not None and found.retry_after_s < 3_600:
        return found._replace(
            kind=K.RATE_LIMIT, reason=f"{found.reason}, free again in {found.retry_after_s:g} s"
        )
    return found


def _weak_numbers(text: str, best: Finding | None) -> Finding | None:
    rpc = _RPC.search(text)
    if rpc:
        known = of_json_rpc(int(rpc.group(1)))
        if known and (best is None or known.confidence > best.confidence):
            best = known
    code = exit_code_in(text)
    if code:
        known = numbers.of_exit_code(code)
        if known and (best is None or known.confidence > best.confidence):
            best = known
    return best
