"""Calls that a person refused: nothing was tried, so nothing can be learned, and what they were to recover is given up.

Frameworks answer the model in their own words, or mark the answer with a status. The words are theirs to the letter and
begin the answer, so that a tool's own talk of refusing something is not taken for it.
"""

from __future__ import annotations

import re
from typing import Any

from btm.model import Outcome

REFUSED = Outcome(reason="a person refused the call", rule="refused")
"""What is put in the place of an outcome."""

MARK = "RefusedByPerson"
"""The name of the error where the log marks an answer so."""

STATUSES = frozenset(
    ("denied", "outputdenied", "executiondenied", "tooloutputdenied", "userrejected", "userreject")
)
"""How logs mark it, in plain form."""

_WORDS = re.compile(
    r"(?:\{\s*\"error\"\s*:\s*\")?\W{0,3}(?:Error: )?(?:"
    r"User rejected the tool call"  # LangChain
    r"|The user doesn't want to (?:proceed with|take) this|\[Request interrupted by user"  # Claude Code
    r"|(?:exec command )?(?:rejected|aborted) by (?:the )?user|patch rejected by user"  # Codex
    r"|\[Operation Cancelled\]|User (?:did not allow|denied|cancelled) (?:the )?tool (?:call|execution)"  # Gemini CLI
    r"|The user (?:has )?(?:denied|rejected|declined) (?:this|the) (?:operation|tool|command|action|edit)"  # Cline, Roo
    r"|The user (?:rejected|has rejected) permission to use this|The user chose to skip the tool call"  # OpenCode, Copilot
    r"|Action has been rejected by the user"  # OpenHands
    r"|Tool execution was not approved|Tool execution (?:was )?denied"  # OpenAI Agents, AI SDK
    r"|The tool call was denied"  # pydantic-ai
    r"|This tool call is rejected"  # ADK
    r"|(?:Function|Tool) call was (?:rejected|denied|declined)"  # agno
    r"|User declined to (?:run|execute)|The user has declined to run the tool"  # Goose and others
    r")"
)  # fmt: skip


def says_refused(result: Any) -> bool:
    """Whether an answer says that a person refused the call."""
    if isinstance(result, dict) and len(result) == 1:
        result = result.get("error")
    return isinstance(result, str) and _WORDS.match(result) is not None
