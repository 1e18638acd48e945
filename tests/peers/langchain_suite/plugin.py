"""A pytest plugin that puts BTMMiddleware into every agent that LangChain's own tests make.

Where and how it does so stands in ``BTM_SUITE``: ``first-advise``, ``last-observe``, and so on; unset: nowhere.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import Any

import langchain.agents
import pytest
from langchain.agents import factory

from btm import ToolMemory
from btm.adapters.langchain import BTMMiddleware

_place, _, _mode = os.environ.get("BTM_SUITE", "").partition("-")
_make = factory.create_agent
_open = [ToolMemory.open(mode=_mode or "observe")]  # some agents are made where their module is imported


@functools.wraps(_make)
def create_agent(*args: Any, middleware: Any = (), **kwargs: Any) -> Any:
    """Make an agent with btm as its outermost or innermost middleware."""
    ours = BTMMiddleware(_open[-1])
    return _make(
        *args, middleware=[ours, *middleware] if _place == "first" else [*middleware, ours], **kwargs
    )


@pytest.fixture(autouse=True)
def btm_memory() -> Iterator[None]:
    """Open a memory for each test, before its event loop runs."""
    with ToolMemory.open(mode=_mode or "observe") as memory:
        _open.append(memory)
        yield
        _open.pop()


if _place:
    # Before any test module imports the name.
    factory.create_agent = create_agent
    langchain.agents.create_agent = create_agent
