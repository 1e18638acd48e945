"""The conversations that a fit learned from, kept small: a fit of gigabytes holds hundreds of thousands of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from btm.store import FittedConversation

_HALF = 16  # of a digest's 32 hex digits


class LearnedFrom:
    """An append-only list of fitted conversations, about 150 bytes each, that knows which digests it holds.

    It knows the beginnings as well of those that taught something, by half of their digests: one may be told again in part.
    """

    def __init__(self) -> None:
        self._digests: dict[str, None] = {}
        self._files: dict[str, int] = {}
        self._file = array("L")
        self._place = array("Q")
        self._calls = array("L")
        self._begun: set[str] = set()

    def __len__(self) -> int:
        return len(self._digests)

    def __contains__(self, digest: object) -> bool:
        return digest in self._digests or (isinstance(digest, str) and digest[:_HALF] in self._begun)

    def __iter__(self) -> Iterator[FittedConversation]:
        files = list(self._files)
        for at, digest in enumerate(self._digests):
            source = files[self._file[at]] + (str(self._place[at] - 1) if self._place[at] else "")
            yield FittedConversation(digest, source, self._calls[at])

    def add(self, digest: str, source: str, calls: int) -> None:
        """Note a conversation; one that is here already stays as it is."""
        if digest in self._digests:
            return
        self._digests[digest] = None
        file, place = _split(source)
        self._file.append(self._files.setdefault(file, len(self._files)))
        self._place.append(place)
        self._calls.append(calls)

    def add_beginnings(self, digests: Iterable[str]) -> None:
        """Note the beginnings of a conversation that was learned from."""
        self._begun.update(digest[:_HALF] for digest in digests)

    def extend(self, other: LearnedFrom) -> None:
        """Add every conversation of another list."""
        self._begun |= other._begun
        own = [self._files.setdefault(file, len(self._files)) for file in other._files]
        for digest, file, place, calls in zip(
            other._digests, other._file, other._place, other._calls, strict=True
        ):
            if digest not in self._digests:
                self._digests[digest] = None
                self._file.append(own[file])
                self._place.append(place)
                self._calls.append(calls)


def _split(source: str) -> tuple[str, int]:
    """Return ``file:`` or ``file#`` and the number that follows plus one; 0 says that none follows."""
    at = max(source.rfind(":"), source.rfind("#")) + 1
    number = source[at:]
    if (
        at
        and number.isascii()
        and number.isdigit()
        and (number == "0" or number[0] != "0")
        and len(number) < 19
    ):
        return source[:at], int(number) + 1
    return source, 0
