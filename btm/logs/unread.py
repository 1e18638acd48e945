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
_DOING = rb"(?:calls?|uses?|results?|responses?|outputs?|returns?|invocations?|requests?|events?)"
_QUOTE = rb'\\?"'  # JSON within JSON has its quotes escaped
_COLON = _QUOTE + rb"\s*:\s*"
_MARK = re.compile(
    # A key that holds something: "tool_calls": [{, "functionResponse": {"
    _QUOTE + rb"[\w.]{0,20}(?:tool|function)_?" + _DOING + _COLON + rb"(?:\{\s*" + _QUOTE + rb'|\[\s*[{"\[]|'
    + _QUOTE + rb'[^"\\])'
    # What says of a thing that it is one: "type": "tool_use", "role": "tool"
    rb"|" + _QUOTE + rb"(?:\w{0,12}type|kind|role|from|event|name|span[._]kind)" + _COLON + _QUOTE
    + rb"(?:tool|observation|[\w. -]{0,20}(?:tool|function)[-_ .]?" + _DOING + rb")[\w-]{0,12}" + _QUOTE
    + rb"|</?(?:tool|function)_(?:call|response|results)>|<function=",
    re.IGNORECASE,
)  # fmt: skip


class Counted:
    """Passes on what a reader gives of a log; ``calls`` counts the calls and records of calls among it."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = items
        self.calls = 0

    def __iter__(self) -> Iterator[Item]:
        for item in self._items:
            if type(item) is Conversation:
                self.calls += sum(map(len, item.batches))
            elif type(item) is Entry:
                self.calls += 1
            yield item


def lost_in(path: str) -> Skipped | None:
    """Say what a log that nothing was read from holds that looks like calls or answers, if it holds anything like it."""
    if path == STDIN or not stat.S_ISREG(Path(path).stat().st_mode):
        return None
    try:
        with open_log(path) as stream:
            begins = stream.peek(_SHOWN * 2)
            before, size = b"", 0
            for chunk in stream.chunks():
                if (found := _MARK.search(before + chunk)) is not None:
                    return Skipped(path, 0, _said(found[0], begins), lost=True)
                before, size = chunk[-_OVERLAP:], size + len(chunk)
                if size > max(_LOOKED_AT, CHUNK):
                    break
    except BTMError:
        return None  # it has been said why it cannot be read
    return None


def _said(mark: bytes, begins: bytes) -> str:
    mark_text, begins_text = (
        redact(raw.decode("utf-8", "backslashreplace"), _SHOWN) for raw in (mark, begins)
    )
    return (
        f"nothing could be read from it, although it holds what looks like a tool's call or answer ({mark_text}); "
        f"it begins with: {begins_text}"
    )
