"""What keeps a failure of btm's own parts from reaching the agent: it is logged once, and the call goes on without."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from typing import TypeVar

from btm.support.process_state import kept
from btm.support.untrusted import text_of

_log = logging.getLogger("btm")
_MOST_SAID = 500
_said: set[tuple[str, str]] = kept(
    __name__, set(), most=_MOST_SAID
)  # parts and errors that were logged already

T = TypeVar("T")
Asked = TypeVar("Asked")
Given = TypeVar("Given")


def safely(function: Callable[..., T], *arguments: object) -> T | None:
    """Run one of btm's own parts; if it fails, return None and log a warning, one for each kind of failure."""
    try:
        return function(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in btm, the agent goes on
        _complain(getattr(function, "__qualname__", type(function).__name__), error)
        return None


def carefully(part: str, steps: Generator[Asked, Given, T], instead: T) -> Generator[Asked, Given, T]:
    """Run steps of btm's own; if they fail, answer ``instead`` and log a warning as :func:`safely` does.

    What a tool raises comes into the steps as a reply, so whatever they raise is btm's own.
    """
    try:
        return (yield from steps)
    except Exception as error:  # noqa: BLE001 - as above
        _complain(part, error)
        return instead


def _complain(part: str, error: Exception) -> None:
    # A part that fails at every call must not fill the log.
    what = part, f"{type(error).__name__}: {text_of(error, 200)}"
    level = logging.DEBUG if what in _said else logging.WARNING
    if len(_said) < _MOST_SAID:
        _said.add(what)
    _log.log(level, "btm's own %s failed; the tool's answer passes unchanged", part, exc_info=error)
