"""Answers that seemed to be successes and may be error texts: a hint for the model's next turn, and nothing else."""

from __future__ import annotations

import threading
from collections import OrderedDict

from btm.model import ErrorKind, Outcome, ToolCall
from btm.support.untrusted import tool_name

_MOST = 1_000
"""Conversations whose latest answer is remembered."""


class Suspicions:
    """Of each conversation the latest answer, where it is suspected. Thread-safe; teaches nothing, forbids nothing."""

    def __init__(self) -> None:
        self._latest: OrderedDict[str, tuple[str, ErrorKind]] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, call: ToolCall, outcome: Outcome) -> None:
        """Take in what came of a call: a later one of the conversation ends the suspicion of an earlier one."""
        if outcome.suspected is None and not self._latest:
            return
        with self._lock:
            self._latest.pop(call.conversation, None)
            if outcome.ok and outcome.suspected is not None:
                self._latest[call.conversation] = (call.tool, outcome.suspected)
                if len(self._latest) > _MOST:
                    self._latest.popitem(last=False)

    def lines(self, conversation: str) -> list[str]:
        """Return the line that the model is told before its next turn, if any."""
        found = self._latest.get(conversation)
        if found is None:
            return []
        tool, kind = found
        kind_of_failure = kind.replace("_", " ")
        return [
            f"doubt: what {tool_name(tool)} just answered may be an error ({kind_of_failure}) and no result; read it "
            "again before you rely on it"
        ]
