"""Whether a plain text is an error at all. Documents, logs and notes talk about errors too, so the bar is high:

a text is an error when it begins with an error's mark, or is short and as a whole an error's sentence.
"""

from __future__ import annotations

from typing import NamedTuple

from btm.classify import sentences, texts
from btm.classify.finding import WEAK, Finding
from btm.classify.wording import asian
from btm.model import ErrorKind as K

HEAD = 400
LONG = 600
SENTENCE = 220
"""Characters up to which an unmarked text may be an error as a whole."""


class Opening(NamedTuple):
    """What the beginning of a text shows: ``rest`` is what follows the mark; ``firm`` marks need no words after."""

    rest: str
    firm: bool


def opening(text: str) -> Opening | None:
    """Return the error mark that a text begins with, or None."""
    wrapped = sentences.WRAPPED.match(text)
    if wrapped:
        return Opening(text[wrapped.end() :], firm=True)
    if sentences.MARK.match(text):
        return Opening(text, firm=True)
    if sentences.FAILED.match(text):
        return Opening(text, firm=False)
    return None


def of_plain_text(text: str, tool: str, *, writes: bool = False) -> Finding | None:
    """Return what failure a plain result is, or None when it reads as a success."""
    head = text[:HEAD]
    about = sentences.ABOUT.search(tool[:80]) is not None
    stripped = head.lstrip()
    opened = opening(stripped)
    if opened is not None and opened.firm:
        whole = texts.trim(text.strip())
        found = marked(opening(whole) or opened)
        # A document may begin with the word; it is an error only when its first line says which.
        return (
            None
            if found.rule == "plain:mark"
            and (about or (len(text) > LONG and sentences.FILE.search(tool[:80])))
            else found
        )
    shell = _of_shell(stripped)
    if shell is not None:
        return shell
    cli = _of_cli(text, tool) if len(text) <= 4_000 else None
    if cli is not None:
        return cli
    if stripped.lower().startswith("usage: ") and "\nerror" in stripped.lower():
        return texts.of_error_text(stripped[stripped.lower().index("\nerror") + 1 :]) or _nothing("usage")
    if about and sentences.STRONG.match(stripped) is None:
        return None
    return _sentence(text, opened, writes=writes)


def marked(opened: Opening) -> Finding:
    """Return what a text with an error mark says; UNKNOWN when it says no more than that."""
    first = opened.rest.strip()
    line = first.split("\n", 1)[0]
    if first.lower().startswith("traceback"):
        first = first.rstrip().rsplit("\n", 1)[-1]
    # A long body after the first line (the file that exists already) is not the error.
    long = len(first) > LONG and not first.startswith(("{", "["))
    return texts.of_error_text(line[:LONG] if long else first) or _nothing("mark")


def _nothing(rule: str) -> Finding:
    return Finding(K.UNKNOWN, f"plain:{rule}", "the text says that it failed, and not why", 0.7)


def _of_shell(text: str) -> Finding | None:
    first = text.split("\n", 1)[0]
    if first.lower().startswith(("exit code ", "exit status ")):
        code = texts.exit_code_in(first)
        if not code:
            return None
        return texts.of_error_text(text) or _nothing("exit code")
    if not (
        sentences.SHELL_OPENS.match(first) and sentences.SHELL.match(first)
    ) or sentences.NOT_ERROR.search(first):
        return None
    return texts.of_error_text(first[:600]) or texts.of_error_text(text[:600])


def _of_cli(text: str, tool: str) -> Finding | None:
    """A command's output with an error line of its own among the first or last few."""
    if not sentences.CLI_TOOL.search(tool[:80]):
        return None
    lines = text.strip().split("\n")
    for line in lines[:4] + lines[4:][-2:]:
        if sentences.CLI_LINE.match(line):
            return texts.of_error_text(text.strip()[:600]) or _nothing("cli")
    return None


def _sentence(text: str, opened: Opening | None, *, writes: bool) -> Finding | None:
    stripped = text.strip() if len(text) < 2_000 else text[:2_000].strip()
    if len(stripped) > SENTENCE:
        # Only what opens like a failure may be longer.
        if opened is None or len(stripped) > 1_500:
            return None
        first = stripped.split("\n", 1)[0]
        if len(first) > SENTENCE + 80:
            return None
        stripped_low = first.lower()
    else:
        stripped_low = stripped.lower()
    if asian.has_ideographs(stripped):
        return _asian_sentence(stripped, writes)
    european = _european_sentence(stripped, stripped_low, writes)
    if european is not None:
        return european
    bare = texts.unquoted(stripped_low).strip()
    strong = sentences.STRONG.match(stripped_low) is not None
    if not strong:
        if sentences.NOT_ERROR.search(bare) or bare.count(". ") > 2:
            return None
        bare = bare.lstrip(" -\u2013\u2014*!❌⚠️[(")
        failing = any(pattern.match(bare) for pattern in sentences.failing())
        if sentences.GOOD_NEWS.match(bare) or not (
            failing or any(pattern.match(bare) for pattern in sentences.saying())
        ):
            return None
    else:
        failing = True
    found = texts.of_error_text(stripped)
    if found is None or found.confidence < WEAK:
        return _nothing("sentence") if failing else None
    if found.kind is K.NOT_FOUND and sentences.NO_PLURAL.match(bare):
        return Finding(K.EMPTY_RESULT, "plain:none", "the text says that none were found", 0.8)
    return found._replace(confidence=min(found.confidence, 0.85))


def _european_sentence(text: str, low: str, writes: bool) -> Finding | None:
    """A short German, French or Spanish sentence with one of their error phrases.

    That something is so already is news from a read, and a refusal from a write.
    """
    if len(text) > sentences.EUROPEAN_SENTENCE or sentences.NOT_ERROR.search(low):
        return None
    found = texts.european_phrase_in(texts.unquoted(low))
    if found is None or (
        found.kind is K.PRECONDITION_FAILED and not writes and not sentences.REFUSES.search(low)
    ):
        return None
    return texts.of_error_text(text)


def _asian_sentence(text: str, writes: bool) -> Finding | None:
    if len(text) > sentences.ASIAN_SENTENCE or sentences.ASIAN_NOT.search(text):
        return None
    found = texts.of_error_text(text)
    if found is not None:
        if found.kind is K.PRECONDITION_FAILED and not writes and not sentences.ASIAN_REFUSES.search(text):
            return None
        return found if found.confidence > WEAK else None
    failed = (
        "失败" in text or "失敗" in text or "出错" in text or "エラーが発生" in text or "异常" in text
    ) and len(text) < 30
    return _nothing("sentence") if failed else None
