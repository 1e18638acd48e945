"""The base of arms that keep nothing from one episode to the next."""

from __future__ import annotations

from dataclasses import dataclass

from btm.lab.desk import Desk


@dataclass(frozen=True)
class Forgetful:
    """Base of the arms that keep nothing."""

    name: str

    @property
    def trials(self) -> int:
        return 1

    def reflect(self, desk: Desk) -> tuple[str, ...]:  # noqa: ARG002 - the protocol's argument
        return ()

    def notices(self, desk: Desk) -> str:  # noqa: ARG002 - the protocol's argument
        return ""

    def done(self, desk: Desk) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is held."""
