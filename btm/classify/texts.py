"""An error's text to the kind it tells of. Callers know already that it is an error; `plain` decides whether it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from btm.classify import carriers, codes, languages, retry_after, types
from btm.classify.carriers import Carried
from btm.classify.codes import of_code, of_status, status_in
from btm.classify.finding import DEFAULT, WEAK, Finding, surest
from btm.classify.rules import form, wording
from btm.model import ErrorKind as K

HEAD, TAIL = 420, 230
"""Characters of a text that rules look at: its beginning, and its end where a traceback names the error."""

_QUOTED = form("texts", "quoted")
_QUOTES = ("'", '"', "`", "\u2018", "http")  # with which all that it finds begins
_MYSQL_ARGS = re.compile(r"\((\d{4}), ?[\"']")
_QUOTED_CODE = form("texts", "quoted_code")
_CODES = (  # each with a piece of text that it needs: most texts have none
    (") when calling", re.compile(r"\((\w{4,60})\) when calling")),
    ("from server (", re.compile(r"Error from server \((\w+)\)")),
    ("code E", re.compile(r"code (E[A-Z]{3,20})\b")),
    ("StatusCode.", re.compile(r"StatusCode\.(\w+)")),
    ("_", re.compile(r"(?<![A-Z_])([A-Z]{4,20}(?:_[A-Z]{2,20}){1,4})(?![A-Z_a-z])")),
    (" E", re.compile(r" (E[A-Z]{5,15})(?![A-Za-z_])")),
    (": ", re.compile(r"(?<![A-Za-z])(E[A-Z]{4,15}):")),
    ("': '", _QUOTED_CODE),
    ('": "', _QUOTED_CODE),
    ('":"', re.compile(_QUOTED_CODE.pattern.replace(": ?", ":"))),
    ("_", re.compile(r": ([a-z]{2,20}(?:_[a-z]{2,20}){1,4})\W*$")),
    (" - ", re.compile(r" - ([a-z]{3,20}(?:[A-Z][a-z]{2,20}){1,4})\b")),
)
_ASIDE = re.compile(r"\s\([^()]{8,200}\)\W*$")
"""What stands in brackets at the end adds to what was said before."""

_CLOSES = (")", ").", ")!")
_PER_MINUTE = re.compile(r"(?:per|/) ?(?:\d+ )?(?:second|minute|hour|min|sec)\b")


def trim(text: str) -> str:
    """Return the part of a text that rules look at, at most ``HEAD + TAIL`` characters."""
    return text if len(text) <= HEAD + TAIL else text[:HEAD] + "\n" + text[-TAIL:]


def phrase_in(low: str) -> Finding | None:
    """Return what the first wording (in the order of the table) in a lower-cased text says."""
    return wording().first(low)


def unquoted(text: str) -> str:
    """Return ``text`` without quoted pieces and addresses: what a caller passed is not what went wrong."""
    return _QUOTED.sub(" ", text) if any(mark in text for mark in _QUOTES) else text


def _in_words(text: str, status: int | None) -> Finding | None:
    low = text.lower()
    foreign = languages.find(low) if not low.isascii() else None
    if foreign is not None:
        return foreign
    bare = unquoted(low)

    said = _ASIDE.sub("", bare) if bare.endswith(_CLOSES) else bare
    found = phrase_in(said)

    if found is not None and found.kind is K.QUOTA_EXHAUSTED and _PER_MINUTE.search(low):
        return found._replace(kind=K.RATE_LIMIT, reason="a quota of requests per second, minute or hour")
    quoted = bare != low and (status is None or "{" in text)
    if quoted and (found is None or found.confidence <= WEAK):
        # Nothing but the quoted piece tells. Where there is a status and no body, that tells enough.
        found = phrase_in(low) or found
    return found if found is not None else languages.find(low)


def _in_numbers(text: str) -> Finding | None:
    """Codes with a fixed form: errno, MySQL's numbers, and the names that AWS, gRPC, Node and Google use."""
    if text[:1] == "(":
        mysql = _MYSQL_ARGS.match(text)
        if mysql:
            return codes.of_number("mysql", mysql[1])
    for cue, pattern in _CODES:
        if cue not in text:
            continue
        for match in pattern.finditer(text):
            known = of_code(match.group(1))
            if known is not None and known.kind is not K.UNKNOWN:
                return (
                    known._replace(confidence=min(known.confidence, 0.84))
                    if "'" in cue or '"' in cue
                    else known
                )
    return None


def of_error_text(text: str) -> Finding | None:
    """Return what an error text tells, or None when it only says that something failed. Its layers are stripped."""
    carried = carriers.strip(trim(text))
    if carried is None:
        return of_words(text)
    found = of_carried(carried)
    # How long to wait may stand in any layer.
    wait = retry_after.in_text(trim(text)) if found is not None and found.retry_after_s is None else None
    return found if found is None or wait is None else rate_or_quota(found._replace(retry_after_s=wait))


def of_carried(carried: Carried) -> Finding | None:
    """Return what a text says whose layers are stripped: its words beside its layers' statuses, codes and classes."""
    best = of_words(carried.inner) if carried.inner else None
    if carried.exit is None:
        best = missing(best)
    for other in _of_layers(carried):
        if other is not None and (best is None or other.confidence > best.confidence):
            best = other._replace(retry_after_s=best.retry_after_s if best is not None else None)
    if carried.status is None:
        return best
    wait = best.retry_after_s if best is not None else None
    return rate_or_quota(of_status(carried.status, best)._replace(retry_after_s=wait))


def missing(found: Finding | None) -> Finding | None:
    """In a failure, that nothing was found is that something named is not there: a search that finds none succeeds."""
    if found is None or found.kind is not K.EMPTY_RESULT:
        return found
    return found._replace(kind=K.NOT_FOUND, reached=False)


def _of_layers(carried: Carried) -> Iterator[Finding | None]:
    for name in carried.types:
        yield of_class(name)
    if carried.kind is not None:
        name = carried.layers[-1]
        yield Finding(carried.kind, f"carrier:{name}", f"the form of {name}", 0.9, reached=False)

    if carried.reply is not None:
        yield codes.of_reply(carried.reply)
    if carried.exit is not None:
        yield codes.of_number("exit", carried.exit)


def of_class(name: str) -> Finding | None:
    """Return what the name of a class (``java.net.ConnectException``), a code or a SQLSTATE says."""
    parts = [part for part in re.split(r"[.:$\\]+", name) if part]
    if not parts:
        return None
    root, bare = parts[0], parts[-1]

    known = types.known_type(bare, root)
    if bare == "SyntaxError":  # JavaScript says so of JSON, too: its words go first
        return Finding(K.INVALID_ARGUMENTS, "type:SyntaxError", "the text names SyntaxError", DEFAULT)
    if known is not None:
        if known.kind is K.UNKNOWN:
            return None
        sure = known.sure - 0.08 if known.sure > DEFAULT else DEFAULT
        return Finding(known.kind, f"type:{bare}", f"the text names {bare}", sure, reached=known.reached)
    if len(bare) == 5 and any(c.isdigit() for c in bare):
        return codes.of_sqlstate(bare)
    code = of_code(bare)
    if code is not None and code.kind is not K.UNKNOWN:
        return code
    words = phrase_in(types.name_as_words(bare))
    if words is None or words.confidence <= WEAK:
        return None
    return words._replace(confidence=0.75, rule=f"type:{bare}", reason=f"the class is called {bare}")


def of_words(text: str) -> Finding | None:
    """Return what the words of an error text tell.

    A status in the text and its words are read together; a fixed code outranks both unless it is broad.
    """
    text = trim(text)

    status = status_in(text)
    words = _in_words(text, status)
    best = surest((words, _in_numbers(text)))
    if status is not None:
        best = of_status(status, best)

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
