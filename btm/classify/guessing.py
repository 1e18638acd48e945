"""What failed most likely, where it is known that something did and no rule says what: by loose words and by purpose."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise

from btm.classify import carriers, rules, types
from btm.classify.finding import DEFAULT, Finding
from btm.classify.keys import snake
from btm.model import ErrorKind as K
from btm.model import ToolCall

MAY_HAVE_ACTED = frozenset({K.TIMEOUT, K.MALFORMED})
"""Kinds after which, where the words alone name them, a write may have happened."""

_READ, _WHOLE = 260, 4_000
_SURE = 0.85
"""An UNKNOWN that is this sure is one: the tool's own code failed."""

_PARSED = re.compile(r"pars(?:e|ing)|syntax|token|lex|grammar|guess:", re.IGNORECASE)
_INVALID_DATA = re.compile(
    r"(?:Invalid|Missing|Bad|No)\w*(?:File|Header|Dicom|Format|Data|Archive|Document|Image)"
)
_PLACE = re.compile(
    r"\b(?:line|col(?:umn)?|position|offset|char|byte) \d|\(\d+:\d+\)|closing tag|opening quote"
)
"""What parsers say of where a document breaks."""

_GIVEN = rules.form("guessing", "given")
_BROUGHT = rules.form("guessing", "brought")


@cache
def _guesses() -> tuple[tuple[K, re.Pattern[str]], ...]:
    return tuple(
        (K(entry["kind"]), re.compile(entry["pattern"])) for entry in rules.table("guesses")["guess"]
    )


def refined(found: Finding, text: str, call: ToolCall) -> Finding:
    """Return what a finding most likely means: a failure without a kind is guessed, what cannot be parsed is placed.

    ``text`` is what the failure says. Parsing fails for what was passed where the tool works on its arguments (a
    query, an expression, a date), and for what was brought where it reads something.
    """
    if found.kind is K.UNKNOWN:
        if found.confidence >= _SURE and found.rule != "plain:unexplained":
            return found
        return guess(found, text)
    if found.kind not in (K.MALFORMED, K.INVALID_ARGUMENTS) or found.status_code is not None:
        return found
    tool = snake(call.tool.rsplit("/", 1)[-1][:64])
    brings = _BROUGHT.search(tool) is not None
    by_name = found.rule.startswith(("type:", "code:", "guess:"))
    if (
        found.kind is K.MALFORMED
        and by_name
        and not brings
        and _GIVEN.search(tool)
        and _PARSED.search(found.rule)
    ):
        reason = f"{found.reason}: what was passed cannot be parsed"
        return found._replace(kind=K.INVALID_ARGUMENTS, reason=reason, reached=False)
    broken = (by_name and _INVALID_DATA.search(found.rule)) or _PLACE.search(text[:_READ])
    if found.kind is K.INVALID_ARGUMENTS and brings and broken:
        return found._replace(
            kind=K.MALFORMED, reason=f"{found.reason}: what was read is not as it should be"
        )
    return found


def guess(found: Finding, text: str) -> Finding:
    """Return the likeliest kind of an error text that no rule names, or ``found`` where nothing is likely."""
    carried = carriers.strip(text[:_WHOLE])
    inner, classes = (text, ()) if carried is None else (carried.inner, carried.types)
    low = " ".join(
        [inner[:_READ].lower(), *(types.name_as_words(name.rpartition(".")[2]) for name in classes)]
    )
    for kind, pattern in _guesses():
        if pattern.search(low):
            if kind is K.UNKNOWN:
                return found
            word = kind.replace("_", " ")
            return found._replace(
                kind=kind,
                rule=f"guess:{kind}",
                reason=f"it failed, and its words suggest {word}",
                confidence=DEFAULT,
                reached=kind in MAY_HAVE_ACTED,
            )
    return found


@lru_cache(maxsize=1_024)
def calibrated(raw: float) -> float:
    """Return the share that is right where rules are this sure, of outcomes that they were made with: it decides.

    What is told of answers that they do not know is `btm.classify.confidence`.
    """
    known = rules.table("decision")["calibration"]
    points = list(zip(known["said"], known["right"], strict=True))
    for (low, start), (high, end) in pairwise(points):
        if raw <= high:
            share = max(0.0, raw - low) / (high - low)
            return float(round(start + share * (end - start), 4))
    return float(points[-1][1])
