"""Which reader reads a log: chosen by what the log begins with, never by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Protocol

from btm.errors import TraceError, UnknownFormatError, did_you_mean
from btm.logs.conversation import Item
from btm.logs.readers import events, trajectories
from btm.logs.readers.platforms import PLATFORMS
from btm.logs.readers.transcripts import TRANSCRIPTS
from btm.logs.records import Log
from btm.logs.sample import Sample
from btm.logs.scanner import Path
from btm.support.untrusted import redact

BEGINS = "The log begins with: "
_SHOWN = 160


class Reader(Protocol):
    """What a module of ``btm.logs.readers`` offers."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of a module, or a field of a row
        """What the format is called."""

    @property
    def LOOKS_FOR(self) -> str:  # noqa: N802
        """What a log of this format looks like, in a phrase."""

    def matches(self, sample: Sample) -> bool:
        """Whether a log that begins so is of this format."""

    def apart(self, sample: Sample) -> Path | None:
        """Where the records lie that are a conversation each; None where conversations are mixed."""

    def read(self, log: Log) -> Iterator[Item]:
        """Read the log's conversations; where they are mixed, what each record says about one."""


# The particular before the general: a tau2 simulation is also a chat log, an OpenInference span also a span.
_READERS: tuple[Reader, ...] = (events, trajectories, *PLATFORMS, *TRANSCRIPTS)

READERS: Mapping[str, Reader] = MappingProxyType({reader.NAME: reader for reader in _READERS})
"""Every reader by its name, in the order in which they are tried."""


def reader_for(log: Log, name: str | None = None) -> Reader:
    """Return the reader called ``name``, or the first that knows the log's beginning.

    Raises TraceError for a name that no reader has, and UnknownFormatError when no reader knows the log.
    """
    if name is not None:
        return named_reader(name)
    for reader in _READERS:
        if reader.matches(log.sample):
            return reader
    raise UnknownFormatError(_unknown(log))


def named_reader(name: str) -> Reader:
    """Return the reader called ``name``. Raises TraceError when there is none."""
    if name in READERS:
        return READERS[name]
    hint = did_you_mean(name, READERS, ".")
    raise TraceError(f"no log format is called {name!r}{hint} There are: {', '.join(READERS)}")


def _unknown(log: Log) -> str:
    looked_for = "\n".join(f"  {reader.NAME}: {reader.LOOKS_FOR}" for reader in _READERS)
    begins = redact(log.sample.head[: 4 * _SHOWN].decode("utf-8", "backslashreplace"), _SHOWN)
    return f"{log.name}: the format is not known. Looked for:\n{looked_for}\n{BEGINS}{begins}"
