"""Options checked together, so that one error names everything that is wrong with them."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

from btm.model import ChoiceEnum

C = TypeVar("C", bound=ChoiceEnum)
T = TypeVar("T")


class OptionChecks:
    """Collects problems; :meth:`raise_problems` raises them as one error.

    Each check returns a value to go on with: what was given if it is right, else a stand-in that is never used.
    """

    def __init__(self) -> None:
        self._problems: list[tuple[type[Exception], str]] = []

    def choice(self, name: str, kind: type[C], given: C | str) -> C:
        """Read a member of a closed set, from itself or from its text."""
        try:
            return kind(given)
        except ValueError as error:
            self._problems.append((ValueError, f"{name}: {error}"))
            return next(iter(kind))

    def instance(self, name: str, given: T, kinds: type | tuple[type, ...], wanted: str) -> T:
        """Check a type; ``wanted`` says in words what it is to be."""
        right = isinstance(given, kinds) and not (isinstance(given, bool) and kinds is not bool)
        if not right:
            self._problems.append((TypeError, f"{name} is {wanted}, not {reprlib.repr(given)}"))
        return given

    def function(self, name: str, given: Callable[..., T]) -> Callable[..., T]:
        """Check that something can be called."""
        if not callable(given):
            self._problems.append((TypeError, f"{name} is a function, not {reprlib.repr(given)}"))
        return given

    def functions(self, name: str, given: Iterable[Callable[..., T]]) -> tuple[Callable[..., T], ...]:
        """Check that something holds functions only."""
        if callable(given) or not isinstance(given, Iterable):
            self._problems.append((TypeError, f"{name} is a list of functions, not {reprlib.repr(given)}"))
            return ()
        return tuple(self.function(f"each of {name}", one) for one in given)

    def at_least(self, name: str, given: float, least: float) -> None:
        """Check a lower bound. What is no number was noted before."""
        with suppress(TypeError):
            if given < least:
                self._problems.append((ValueError, f"{name} is at least {least}, not {given!r}"))

    def run(self, check: Callable[[Any], T], given: Any) -> None:
        """Note the TypeError or ValueError of a check that lives elsewhere."""
        try:
            check(given)
        except (TypeError, ValueError) as error:
            self._problems.append((type(error), str(error)))

    def raise_problems(self) -> None:
        """Raise TypeError when all problems are of type, ValueError when any is of value; nothing when there are none."""
        if not self._problems:
            return
        only_types = all(issubclass(kind, TypeError) for kind, _ in self._problems)
        text = "; ".join(problem for _, problem in self._problems)
        raise TypeError(text) if only_types else ValueError(text)
