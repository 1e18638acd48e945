"""Logs out of which nothing was read although something in them looks like a tool's call or answer.

Nothing is lost in silence: such a file is named with what was seen in it and how it begins, and the command that read it
ends with exit code 1.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from btm.errors import BTMError
from btm.logs.conversation import Conversation, Entry, Item, Skipped
from btm.logs.source import CHUNK, STDIN, open_log
from btm.support.untrusted import redact

_LOOKED_AT = 256 << 20  # bytes of a log that nothing was read from; the rest will not be otherwise
_OVERLAP = 200
_SHOWN = 160
_QUOTE = rb'\\?"'  # JSON within JSON has its quotes escaped
_COLON = _QUOTE + rb"\s*:\s*"


def _mark(doing: bytes, says: bytes, ends: bytes, texts: bytes) -> re.Pattern[bytes]:
    """Return what finds a key that holds something ("tool_calls": [{) or what says of a thing that it is one."""
    held = rb"(?:\{\s*" + _QUOTE + rb'|\[\s*[{"\[]|' + _QUOTE + rb'[^"\\])'
    key = _QUOTE + rb"[\w.]{0,20}(?:tool_?name|(?:tool|function)_?" + doing + rb")" + _COLON + held
    named = rb"(?:tool|observation|[\w. -]{0,20}(?:tool|function)[-_ .]?(?:call[-_ .]?)?" + doing + rb")"
    said = _QUOTE + rb"(?:\w{0,12}type|kind|role|from|event" + says + rb")" + _COLON + _QUOTE + named + ends
    return re.compile(key + rb"|" + said + _QUOTE + rb"|" + texts, re.IGNORECASE)


_ASKING = rb"calls?|uses?|invocations?|requests?|events?"
_TEXTS = rb"</?(?:tool|function)_(?:call|response|results)>|<function=|tool_calls\.\d"
_MARK, _CALL_MARK = (
    _mark(doing, rb"|name|span[._]kind", rb"[\w-]{0,12}", _TEXTS)
    for doing in (rb"(?:" + _ASKING + rb"|results?|responses?|outputs?|returns?)", rb"(?:" + _ASKING + rb")")
)
_ANSWER_MARK = _mark(
    rb"(?:results?|responses?|outputs?|returns?)", rb"", rb"", rb"</?(?:tool|function)_(?:response|results)>"
)


class Counted:
    """Passes on what a reader gives of a log; counts the calls and records of calls, and the answers."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = items
        self.calls = self.answered = 0

    def __iter__(self) -> Iterator[Item]:
        for item in self._items:
            if type(item) is Conversation:
                self.calls += sum(map(len, item.batches))
                self.answered += item.orphans + sum(recorded.answered for recorded in item.calls)
            elif type(item) is Entry:
                self.calls += 1
                self.answered += 1
            yield item


def lost_in(path: str, calls: int = 0, answered: int = 0) -> Skipped | None:
    """Say what a log that nothing was read from holds that looks like calls or answers, if it holds anything like it.

    So it is with one of whose ``calls`` none was ``answered`` although it holds what looks like answers, and with one of
    which answers were read and no calls although it holds what looks like these.
    """
    if answered and calls:
        return None
    looked_for = _ANSWER_MARK if calls else _CALL_MARK if answered else _MARK
    if path == STDIN or not stat.S_ISREG(Path(path).stat().st_mode):
        return None
    try:
        with open_log(path) as stream:
            begins = stream.peek(_SHOWN * 2)
            before, size = b"", 0
            for chunk in stream.chunks():
                if (found := looked_for.search(before + chunk)) is not None:
                    return Skipped(path, 0, _said(found[0], begins, calls), lost=True)
                before, size = chunk[-_OVERLAP:], size + len(chunk)
                if size > max(_LOOKED_AT, CHUNK):
                    break
    except BTMError:
        return None  # it has been said why it cannot be read
    return None


def _said(mark: bytes, begins: bytes, calls: int) -> str:
    mark_text, begins_text = (
        redact(raw.decode("utf-8", "backslashreplace"), _SHOWN) for raw in (mark, begins)
    )
    missing = f"none of its {calls} calls has an answer" if calls else "nothing could be read from it"
    what = "an answer" if calls else "a tool's call or answer"
    return f"{missing}, although it holds what looks like {what} ({mark_text}); it begins with: {begins_text}"
