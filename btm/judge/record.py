"""The file of verdicts: one line of JSON each, appended and on the disk before the next is asked for.

One row a (call, judge, template): what is there is not asked again, so a run that was killed goes on where it ended. A line
that was cut off by a crash is passed over, and its verdict asked for anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from btm.judge.question import Question, template_hash
from btm.judge.verdict import CallState, ErrorCategory, JudgeReply
from btm.support.untrusted import redact

CallName = tuple[str, str]
"""A conversation and a call's id."""

FOUND_BY_A_PERSON = ErrorCategory.SEMANTIC_RESULT_MISMATCH
"""What a call counts as that a person found wanting and no judge did."""

_TEXT_LIMIT = 600


class VerdictRow(NamedTuple):
    """One judge's verdict. ``satisfied`` is None where the judge gave none; ``moves`` is what evidence would move."""

    call: CallName
    tool: str
    digest: str
    judge: str
    template: str
    satisfied: bool | None
    category: str | None
    gap: str | None
    confidence: float
    reasoning: str
    at: float
    moves: tuple[tuple[Any, ...], ...] = ()


class ReviewRow(NamedTuple):
    """What a person said of a call: whether it did what was wanted, and a note."""

    call: CallName
    satisfied: bool
    who: str
    at: float
    note: str = ""


@dataclass
class JudgedCall:
    """A call with its verdicts in order, and what a person said last."""

    verdicts: list[VerdictRow] = field(default_factory=list)
    review: ReviewRow | None = None

    @property
    def state(self) -> CallState:
        """Where it stands."""
        if self.review is not None:
            return CallState.REVIEWED
        said = {row.satisfied for row in self.verdicts}
        agreed = len(self.verdicts) > 1 and len(said) == 1 and None not in said
        return CallState.AGREED if agreed else CallState.SPLIT

    @property
    def satisfied(self) -> bool | None:
        """What is taken to be so; None while it is open."""
        if self.review is not None:
            return self.review.satisfied
        return self.verdicts[0].satisfied if self.state is CallState.AGREED else None

    @property
    def confidence(self) -> float:
        """The lower confidence of two judges that agree."""
        return min((row.confidence for row in self.verdicts), default=0.0)

    @property
    def failed_as(self) -> ErrorCategory | None:
        """What was wrong, in the words of the surest judge that found something."""
        found = [row for row in self.verdicts if row.satisfied is False and row.category]
        best = max(found, key=lambda row: row.confidence, default=None)
        if best is not None and best.category:
            return ErrorCategory(best.category)
        return FOUND_BY_A_PERSON if self.review is not None and not self.review.satisfied else None


class VerdictFile:
    """A file of verdicts and reviews, read whole when it is opened. Raises OSError where it cannot be used."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.calls: dict[CallName, JudgedCall] = {}
        self._asked: set[tuple[CallName, str, str]] = set()
        data = self.path.read_bytes() if self.path.exists() else b""
        self._torn = bool(data) and not data.endswith(b"\n")
        for line in data.split(b"\n"):
            row = _row_of(line)
            if row is not None:
                self._take(row)

    def has(self, call: CallName, judge: str) -> bool:
        """Whether this judge has judged the call by the present template."""
        return (call, judge, template_hash()) in self._asked

    def add(self, row: VerdictRow | ReviewRow) -> None:
        """Write a row; it is on the disk when this returns."""
        with self.path.open("ab") as file:
            if self._torn:
                file.write(b"\n")
                self._torn = False
            sort = "review" if isinstance(row, ReviewRow) else "verdict"
            file.write(orjson.dumps({"row": sort, **row._asdict()}, option=orjson.OPT_APPEND_NEWLINE))
            file.flush()
            os.fsync(file.fileno())
        self._take(row)

    def _take(self, row: VerdictRow | ReviewRow) -> None:
        judged = self.calls.setdefault(row.call, JudgedCall())
        if isinstance(row, ReviewRow):
            judged.review = row
            return
        key = (row.call, row.judge, row.template)
        if key not in self._asked:
            self._asked.add(key)
            judged.verdicts.append(row)

    def __iter__(self) -> Iterator[tuple[CallName, JudgedCall]]:
        return iter(self.calls.items())


def verdict_row(
    question: Question, judge: str, reply: JudgeReply | None, at: float, moves: Sequence[tuple[Any, ...]]
) -> VerdictRow:
    """Return the row of a reply; a judge's words are redacted and cut, for they are about what tools said."""
    name = (question.conversation, question.call_id)
    about = (name, question.call.tool, question.digest, judge, template_hash())
    if reply is None:
        return VerdictRow(*about, None, None, None, 0.0, "no verdict in two tries", at)
    gap = redact(reply.gap_description, _TEXT_LIMIT) if reply.gap_description else None
    category = str(reply.category) if reply.category else None
    words = redact(reply.reasoning, _TEXT_LIMIT)
    return VerdictRow(*about, reply.satisfied, category, gap, reply.confidence, words, at, tuple(moves))


def _row_of(line: bytes) -> VerdictRow | ReviewRow | None:
    if not line.strip():
        return None
    try:
        found: Mapping[str, Any] = orjson.loads(line)
        fields = {**found, "call": tuple(found["call"])}
        sort = fields.pop("row")
        if sort == "review":
            return ReviewRow(**fields)
        fields["moves"] = tuple(tuple(move) for move in fields["moves"])
        return VerdictRow(**fields)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None  # cut off as it was written, or another program's
