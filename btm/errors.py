"""Every exception that btm raises, in one tree.

::

    BTMError
    ├── AuthoredFileError      a fallback map or policy file is wrong: file:line:column, what, what was expected
    │   ├── FallbackMapError
    │   └── PolicyError
    ├── TemplateError          an expression or template of an authored file failed while it ran
    ├── TraceError             a log cannot be read
    │   └── UnknownFormatError
    ├── StoreError             the database cannot be opened or used, or is of a version this btm does not know
    │   └── DatabaseFailedError    it is damaged, full, or may not be written
    │       └── DatabaseUnavailableError  it is locked or out of reach: later it may be used
    ├── RefusedCallError       guard or act mode refused a call that a policy forbids; the text is the recovery context
    ├── EvaluationError        an unknown domain, arm, scenario or task
    └── MissingExtraError      an optional package is absent; the message says how to install it

A tool's own exception is never wrapped in one of these: it passes through as the tool raised it.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class BTMError(Exception):
    """Base of every exception that btm raises on its own account."""


class AuthoredFileError(BTMError):
    """An authored file is wrong; the text is ``file:line:column: what; expected ...; did you mean ...?``.

    ``line`` and ``column`` count from 1; 0 means that the place is unknown (the file could not be read).
    """

    def __init__(
        self,
        what: str,
        *,
        file: str = "<text>",
        line: int = 0,
        column: int = 0,
        expected: str = "",
        suggestion: str = "",
    ) -> None:
        self.what = what
        self.file = file
        self.line = line
        self.column = column
        self.expected = expected
        self.suggestion = suggestion
        super().__init__(str(self))

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        text = f"{place}: {self.what}"
        if self.expected:
            text += f"; expected {self.expected}"
        if self.suggestion:
            text += f"; did you mean {self.suggestion!r}?"
        return text


class FallbackMapError(AuthoredFileError):
    """A fallback map is wrong."""


class PolicyError(AuthoredFileError):
    """A policy file is wrong."""


class TemplateError(BTMError):
    """An expression or template of an authored file failed while it ran, or used an undefined name."""


class UndefinedResultError(TemplateError):
    """An expression ran, and what it asks for is not there: it finds nothing."""


class TraceError(BTMError):
    """A log cannot be read; the text names the file and, where there is one, the line."""


class UnknownFormatError(TraceError):
    """No reader knows this log's format."""


class StoreError(BTMError):
    """The database cannot be opened or used, or was written by a version of btm that this one does not know."""


class DatabaseFailedError(StoreError):
    """A database is damaged, may not be written, is locked, full or out of reach: not how it was asked for is wrong."""


class DatabaseUnavailableError(DatabaseFailedError):
    """A database is locked by another process or its server is out of reach: later it may be used."""


class RefusedCallError(BTMError):
    """Guard or act mode refused a call that an enforced policy forbids; the text is the recovery context."""


class EvaluationError(BTMError):
    """An evaluation was asked for something that does not exist, such as an unknown domain or arm."""


class MissingExtraError(BTMError, ImportError):
    """An optional package is absent. Also an ImportError, so that ``except ImportError`` keeps working."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package = package
        self.extra = extra
        cure = f"'bayesian-tool-memory[{extra}]'" if extra else f"--no-deps {package}"
        super().__init__(f"{purpose} needs the package {package!r}: pip install {cure}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name most like ``name``, or ``""`` when none is near."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return close[0] if close else ""


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return how a message on an unknown name ends: ``; did you mean 'x'?``, or ``otherwise`` when none is near."""
    close = nearest(name, map(str, known))
    return f"; did you mean {close!r}?" if close else otherwise
