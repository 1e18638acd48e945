"""A mapping that keeps its latest entries alone."""

from __future__ import annotations

import copy
from collections import OrderedDict
from contextlib import suppress
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(OrderedDict[K, V]):
    """At most ``most`` entries: what is set stands last, and the first makes room."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)  # never absent meanwhile: others read without a lock
        with suppress(KeyError):  # another thread may have taken it out since, or the last that there was
            self.move_to_end(key)
            while len(self) > self.most:
                self.popitem(last=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.most,), None, None, iter(self.items())

    def copy(self) -> BoundedDict[K, V]:
        """Return another with the same entries and bound."""
        return copy.copy(self)
