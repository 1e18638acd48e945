"""Helpers for tests of agents that use btm.

* :func:`in_memory`: a memory without a file, whose clock, waits and randomness are fixed.
* :class:`ManualClock`: time that moves only when told.
* :func:`fail`: a tool (a function or a LangChain tool) that fails a few times and then works.
* :class:`ScriptedChatModel` (LangChain) and :class:`ScriptedClient` (OpenAI's interface): a model that plays a plan.
* :func:`inactive`: btm off in the whole process, for as long as the block lasts. The environment variable
  ``BTM_DISABLED=1`` does the same from outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from btm.support.failsafe import inactive, is_active
from btm.testing.clock import ManualClock
from btm.testing.failing import fail
from btm.testing.memory import in_memory
from btm.testing.scripted import ScriptedClient

if TYPE_CHECKING:
    from btm.testing.langchain import ScriptedChatModel

__all__ = [
    "ManualClock",
    "ScriptedChatModel",
    "ScriptedClient",
    "fail",
    "in_memory",
    "inactive",
    "is_active",
]


def __getattr__(name: str) -> Any:
    if name == "ScriptedChatModel":
        from btm.testing.langchain import ScriptedChatModel  # noqa: PLC0415 - loads langchain-core

        return ScriptedChatModel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
