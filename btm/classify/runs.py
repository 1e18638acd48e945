"""What a program printed as it ran, which ends with what became of it: records of a log, or lines with a complaint."""

from __future__ import annotations

import re

from btm.classify import carriers, deciding, plain, texts
from btm.classify.finding import WEAK, Finding
from btm.model import ErrorKind as K

READ = 4_000
"""Characters at the end of a text that are looked at."""

_STAMP = r"[\[(]?(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d|[\[(]?\d{4}-\d\d-\d\dT|time=\"?\d|ts=\d|(?-i:[IWEF]\d{4}) \d"
_LOGGED = re.compile(rf"\s{{0,8}}(?:{_STAMP})[^\n]{{0,2000}}\n(?:[^\n]*\n){{0,5}}?(?:{_STAMP})")
"""The beginning of a log: two lines with a time."""

_RECORD = re.compile(rf"^(?={_STAMP})", re.MULTILINE)
_FATAL = re.compile(
    rf"F\d{{4}} \d|(?:{_STAMP})[^\n]{{0,80}}?"
    r"(?:\b(?:FATAL|PANIC|EMERG|CRITICAL)\b|\b(?:fatal|panic)\b[\]:=\"]|(?<=[\s\[=])F\d{4} )"
)
_MARK = (
    r"\[(?:ERROR|FATAL|FAILED|E|error|fatal|✖|✗)[\w:.-]{0,40}\]:?"
    r"|(?:(?:[A-Za-z]\w{0,20} )?(?:ERROR|FATAL|FAILED|FAILURE|Error|Fatal|error)(?: error| [A-Z]{2,8}\d{2,6})?|%Error"
    r"|fatal|abort(?:ed)?|panic|(?:\w+\.)*\w+(?:Error|Exception)|ALARM)\s?[~:!]"
    r"|[✗❌✖] |\*\*\* (?=\[|No |[^\n]{0,80}(?:rror|ail|bort|topp))"
    r"|(?:\[INFO\] )?[^\w\n]{0,4}(?:BUILD|Build|Compilation) (?i:failed|failure)\b"
    r"|(?:Segmentation fault|Bus error|Illegal instruction|Floating point exception|(?:Abort(?:ed)?|Killed)(?= \(|$))"
    r"|Permission denied (?=\()|Connection (?:closed|reset|refused|timed out)\b"
)
_COMPLAINT = re.compile(
    r"^[ \t]{0,8}(?:[\[(]?[\d:.TZ+-]{4,30}(?: [\d:.]{5,16})?[\])]?,? (?:- )?)?(?:[\w./+-]{1,40}: ){0,2}"
    rf"(?:{_MARK})(?![^\S\n]{{0,8}}(?:0|none|null|no|n/a|false)\b[^\S\n]{{0,8}}(?:error\w*)?[^\S\n]{{0,8}}$)[^\n]*",
    re.MULTILINE,
)
"""A line with which a program says that it could not go on."""

_DEED = r"\W{0,4}(?!Fail|Abort|Kill|Terminat|Stopp|Exit|Den|Reject|Refus|Skipp)[A-Z][a-z]{2,12}ed [1-9]"
_WENT_ON = re.compile(
    r"\b(?i:done|success\w*|succeeded|completed?|finished|committed|built|installed|passed|saved|ok|up to date|created|wrote"
    rf"|retried)\b|^{_DEED}",
    re.MULTILINE,
)
"""What says behind a complaint that the program went on: ``Uploaded 3 files``."""

_LOOKS_UP = re.compile(r"search|find|grep|look|code|brows|retriev|query|list", re.IGNORECASE)
"""Tools that bring what others wrote, and run nothing."""

_NOTES = re.compile(r"^#{1,6} \w|^commit [0-9a-f]|^[\w ]{2,20}: \d+$", re.MULTILINE)
"""Lines of what a shell shows, and no program says of itself: headings of a document, commits, counts."""

_MOST = 3
"""Complaints that are asked for a kind."""


def of_run(text: str, tool: str) -> Finding | None:
    """Return what failure a program's output of several lines ends with, or None where it does not, or went on."""
    if "\n" not in text.strip() or deciding.tells(tool):
        return None
    tail, last = text[-READ:], 0
    if _LOGGED.match(text) is not None:
        last = [0, *(found.start() for found in _RECORD.finditer(tail))][-1]
        if _FATAL.match(tail, last):
            return _of_end(tail[last:])
    runs = deciding.runs(tool)
    if (
        (deciding.is_about_errors(tool) and not runs)
        or _LOOKS_UP.search(tool[:80])
        or (runs and _NOTES.search(tail))
    ):
        return None
    complaints = [each for each in _COMPLAINT.finditer(tail) if not (runs and each[0][0].isspace())]
    if not complaints or complaints[-1].start() < last or _WENT_ON.search(tail, complaints[-1].end()):
        return None
    found = _of_end(tail[complaints[0].start() :], *(each[0].strip() for each in complaints[:_MOST]))
    return found._replace(confidence=min(found.confidence, WEAK))


def went_on(text: str, tool: str) -> bool:
    """Whether the last line of a program's output says that it went on, whatever it began with."""
    before, _, last = text[-READ:].strip().rpartition("\n")
    return bool(before) and deciding.runs(tool) and _WENT_ON.match(last.lstrip(" *-=[✔✅")) is not None


def _of_end(end: str, *lines: str) -> Finding:
    """Return what the end of a run tells of: by these lines, by its first words, or else by its last line."""
    carried = carriers.strip(end)
    first = texts.of_carried(carried) if carried is not None else texts.of_words(end.split("\n", 1)[0])
    told = [*map(texts.of_error_text, lines), first, texts.of_error_text(end.strip().rsplit("\n", 1)[-1])]
    named = next((found for found in told if found is not None and found.kind is not K.UNKNOWN), None)
    return (named or first or plain.unexplained())._replace(detail=end)
