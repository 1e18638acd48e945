"""Names that somebody wrote: lists of them, and what is said of one that there is not."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from btm.errors import EvaluationError, did_you_mean


def comma_separated(text: str) -> tuple[str, ...]:
    """Return what stands between the commas of a text, without blanks and what is empty."""
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def no_such(what: str, name: str, known: Collection[str]) -> EvaluationError:
    """Return the error for a name that is not known, with the nearest one that is."""
    return EvaluationError(
        f"there is no {what} {name!r}: expected one of {', '.join(known)}{did_you_mean(name, known)}"
    )


def known_names(what: str, names: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Return names, each once. Raises EvaluationError for one that is not known, and when there is none."""
    found = tuple(dict.fromkeys(names))
    for name in found:
        if name not in known:
            raise no_such(what, name, known)
    if not found:
        raise EvaluationError(f"no {what} is named: expected some of {', '.join(known)}")
    return found
