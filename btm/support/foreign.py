"""Asking objects of somebody else's: whatever they raise says something about them, and does not end the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class UnanswerableError(Exception):
    """An object raised what ends a program (KeyboardInterrupt, SystemExit) when it was asked about itself."""


def ask(question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a function finds that asks foreign objects, and changes nothing: it may be asked twice.

    Raises UnanswerableError in place of what is no Exception and was the objects' own doing. A person's Ctrl-C, which
    comes while they are asked and not again, is raised as it is.
    """
    try:
        return question(*args, **kwargs)
    except Exception:
        raise
    except BaseException as raised:
        try:
            question(*args, **kwargs)
        except type(raised) as again:
            raise UnanswerableError(type(again).__name__) from None
        raise
