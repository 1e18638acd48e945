"""The field names and words by which JSON answers say how a request went (``data/keys.toml``)."""

from __future__ import annotations

import re

from btm.classify.rules import form, table


def _listed(name: str) -> tuple[str, ...]:
    text: str = table("keys")[name]
    return tuple(text.split(" | ") if " | " in text else text.split())


ERRORS = _listed("errors") + _listed("error_phrases")
NUMBERED_ERRORS = frozenset(_listed("numbered_errors"))
MESSAGES = _listed("messages")
STATUSES = _listed("statuses")
SHARED_STATUSES = frozenset(_listed("shared_statuses"))
CODES = _listed("codes")
META = frozenset(_listed("meta"))
ANSWER = frozenset(_listed("answer"))
NOT_WORDS = frozenset(_listed("not_words"))
FLAGS = frozenset(_listed("flags"))
WRITE_FLAGS = frozenset(_listed("write_flags"))
EXITS = _listed("exits")
WORDY = frozenset(_listed("wordy"))
BAD_STATUS = frozenset(_listed("bad_status"))
FIRM_BAD = frozenset(_listed("firm_bad"))
IN_PART = frozenset(_listed("in_part"))
GOOD_CODES = frozenset(_listed("good_codes"))
NO_ERROR = frozenset(_listed("no_error")) | {""}
GOOGLE_STATUS = frozenset(_listed("google_status"))
TELLING = (
    frozenset(ERRORS + STATUSES + EXITS)
    | FLAGS
    | WRITE_FLAGS
    | WORDY
    | frozenset(MESSAGES)
    | {"ResponseMetadata"}
)
"""A mapping without any of these, at its top, tells of no failure."""

RECORD_TOOL = form("body_keys", "record_tool")
"""Tools that read records of things that can fail themselves."""

ERROR_TOOL = form("body_keys", "error_tool")
"""Tools whose answer lists errors of something else."""

CODE_TOOL = re.compile(r"error|fault|status_code|http_code|exception|http_doc|code_doc", re.IGNORECASE)
"""Tools that explain errors."""
