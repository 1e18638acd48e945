"""What keeps a failure of btm's own parts from reaching the agent: it is logged once, and the call goes on without."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from typing import TypeVar

_log = logging.getLogger("btm")
_failing: set[str] = set()  # parts whose failure was said already, until they work again

T = TypeVar("T")
Asked = TypeVar("Asked")
Given = TypeVar("Given")


def safely(function: Callable[..., T], *arguments: object) -> T | None:
    """Run one of btm's own parts; if it fails, return None and log one warning until it works again."""
    try:
        answer = function(*arguments)
    except Exception:  # noqa: BLE001 - whatever goes wrong in btm, the agent goes on
        _complain(_name(function))
        return None
    if _failing:
        _failing.discard(_name(function))
    return answer


def carefully(part: str, steps: Generator[Asked, Given, T], instead: T) -> Generator[Asked, Given, T]:
    """Run steps of btm's own; if they fail, answer ``instead`` and log one warning until they work again.

    What a tool raises comes into the steps as a reply, so whatever they raise is btm's own.
    """
    try:
        answer = yield from steps
    except Exception:  # noqa: BLE001 - as above
        _complain(part)
        return instead
    _failing.discard(part)
    return answer


def _name(function: Callable[..., object]) -> str:
    return getattr(function, "__qualname__", type(function).__name__)


def _complain(part: str) -> None:
    level = logging.DEBUG if part in _failing else logging.WARNING
    _failing.add(part)
    _log.log(level, "btm's own %s failed; the tool's answer passes unchanged", part, exc_info=True)
