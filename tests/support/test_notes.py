"""Notes on exceptions of others: where they can be, without secrets, and without changing what is raised."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from core_kit import memory_of

from btm import ToolMemory
from btm.support.notes import note_on


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):  # noqa: N818
    code: int = 503


class TupleOfNotes(Exception):  # noqa: N818
    __notes__ = ("tuple",)  # type: ignore[assignment]


class Refusing(Exception):  # noqa: N818
    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)


class Slotted(Exception):  # noqa: N818
    @property
    def __notes__(self) -> Any:
        raise RuntimeError("no notes")


@pytest.mark.parametrize("error", [Frozen(), TupleOfNotes("503"), Refusing("503"), Slotted("503")], ids=repr)
def test_the_tools_own_error_arrives(error: Exception) -> None:
    memory = memory_of()

    def get_x() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        memory.wrap(get_x)()
    assert raised.value is error
    with pytest.raises(type(error)) as same:
        _inside(memory, error)
    assert same.value is error


def _inside(memory: ToolMemory, error: Exception) -> None:
    with memory.conversation("talk"):
        raise error


def test_a_note_holds_no_secret_and_is_the_latest_one() -> None:
    error = TimeoutError("timed out")
    error.add_note("the tool's own")
    note_on(error, 'retry {"user": "bob", "password": "S3cr3t-hunter2-xyz"}')
    note_on(error, 'switch {"api_key": "S3cr3t-hunter2-xyz"}')
    assert error.__notes__[0] == "the tool's own"
    assert len(error.__notes__) == 2
    assert "hunter2" not in str(error.__notes__)
