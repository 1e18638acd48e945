"""What a check of a map found: one finding is one sentence with a place and a cure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from btm.authored.loading import Place
from btm.errors import AuthoredFileError


class Severity(StrEnum):
    """How bad it is: an error makes a check fail, a warning does so with ``--strict``, a note never does."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that a check found. ``code`` is stable, for scripts and for looking it up."""

    severity: Severity
    code: str
    what: str
    place: Place
    help: str = ""

    def document(self) -> dict[str, Any]:
        """Return the finding as JSON values."""
        made = asdict(self)
        del made["place"]
        return {**made, "file": self.place.file, "line": self.place.line, "column": self.place.column}


def of_problem(problem: AuthoredFileError) -> Diagnostic:
    """Return a problem of the format as a finding."""
    cure = f"did you mean {problem.suggestion!r}?" if problem.suggestion else ""
    expected = f"expected {problem.expected}" if problem.expected else ""
    place = Place(problem.file, problem.line, problem.column)
    return Diagnostic(
        Severity.ERROR, "format", problem.what, place, "; ".join(p for p in (cure, expected) if p)
    )
