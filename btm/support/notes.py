"""Notes of btm's own on an exception of somebody else's: added where that can be, and the exception is not touched else."""

from __future__ import annotations

from btm.support.redaction import without_secrets


class _Note(str):
    """A note of ours."""

    __slots__ = ()


def note_on(error: BaseException, text: str) -> None:
    """Add a note to an exception; one that is raised again has the latest only.

    Notes end up in logs, so what looks like a secret is left out. An exception that takes none (it is frozen, or its
    notes are no list) stays as it is: it is the tool's, and arrives as it was raised.
    """
    try:
        # Its own __getattr__ and the like are not asked: they may raise anything.
        attributes = object.__getattribute__(error, "__dict__")
        found = attributes.get("__notes__", [])
        if type(attributes) is dict and type(found) is list:
            others = [note for note in found if not isinstance(note, _Note)]
            error.__notes__ = [*others, _Note(without_secrets(text))]
    except Exception:  # noqa: BLE001, S110 - whatever the exception is made of, it is handed on
        pass
