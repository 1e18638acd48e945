"""Declared environments with one flaw each, and agents of one's own; tests run them by name."""

import asyncio
import itertools
from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar, Literal

from clinic import Clinic
from pydantic import BaseModel

from btm.lab.declared import GoldTask, tool

_numbers = itertools.count()
READ = ("get", {"key": "a"})
WRITE = ("put", {"key": "a", "value": "new"})


class Sound:
    def __init__(self) -> None:
        self.table = {"a": {"key": "a", "value": "old"}}

    @tool("read")
    def get(self, key: str) -> dict:
        return self.table[key]

    @tool("write")
    def put(self, key: str, value: str) -> dict:
        self.table[key]["value"] = value
        return self.table[key]

    tasks = (GoldTask("Set a to new.", [READ, WRITE]),)


class Random(Sound):
    @tool("read")
    def get(self, key: str) -> dict:
        return {**self.table[key], "token": next(_numbers)}


class AlwaysTrue(Sound):
    tasks = (GoldTask("Set a to new.", [READ, WRITE], check=lambda _: True),)


class Unreachable(Sound):
    tasks = (*Sound.tasks, GoldTask("Set a to what we agreed.", [READ, WRITE]))


class Shared(Sound):
    held: ClassVar[dict[str, Any]] = {"a": {"key": "a", "value": "old"}}

    def __init__(self) -> None:
        self.table = self.held


class WritingRead(Sound):
    @tool("read")
    def get(self, key: str) -> dict:
        self.table[key]["seen"] = self.table[key].get("seen", 0) + 1
        return {"value": self.table[key]["value"], "key": key}


class Refused(Sound):
    tasks = (*Sound.tasks, GoldTask("Set b to new.", [("get", {"key": "b"})], tell=["x"]))


class Silent(Sound):
    tasks = (*Sound.tasks, GoldTask("What is a's owner?", [READ], tell=["Ida"]))


class Checked(Sound):
    tasks = (*Sound.tasks, GoldTask("Make a newer.", check=lambda made: made.table["a"]["value"] == "newer"))


class DoneAlready(Sound):
    tasks = (*Sound.tasks, GoldTask("Leave a.", check=lambda made: True))


class Raising(Sound):
    tasks = (GoldTask("Set a to new.", [READ, WRITE], check=lambda made: made.nothing),)


class NeverTrue(Sound):
    tasks = (GoldTask("Set a to new.", [READ, WRITE], check=lambda _: False),)


class FussyCheck(Sound):
    tasks = (
        GoldTask("Set a to new.", [READ, WRITE], check=lambda made: {"new": True}[made.table["a"]["value"]]),
    )


class Empty(Sound):
    tasks = ()


class Later(Sound):
    @tool("read")
    async def get(self, key: str) -> dict:
        await asyncio.sleep(0)
        return self.table[key]


class Untyped(Sound):
    @tool("read")
    def get(self, key) -> dict:  # type: ignore[no-untyped-def]
        return self.table[key]


class NoTasks:
    @tool("read")
    def get(self, key: str) -> dict:
        return {}


class Wanted(Enum):
    DAY = "day"
    NIGHT = "night"


class Slot(BaseModel):
    shift: Wanted
    hours: list[int]


class Rich:
    """Tools with lists, optionals, enums, literals and models, nested."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.paid = 0

    @tool("write")
    def book(
        self, slot: Slot, names: list[str], how: Literal["mail", "phone"] = "mail", tip: float | None = None
    ) -> dict:
        """Book a slot."""
        self.slots.append(slot)
        return {"booked": slot, "names": names, "how": how, "tip": tip}

    @tool("write")
    def pay(self, amount: int) -> dict:
        self.paid += amount
        return {"paid": self.paid}

    tasks = (
        GoldTask(
            "Book 8 and 9 of the day for Ida.",
            [("book", {"slot": {"shift": "day", "hours": [8, 9]}, "names": ["Ida"]})],
            facts={"names": ["Ida"]},
        ),
    )


def factory() -> type:
    return Clinic


def nothing() -> int:
    return 3


def no_agent(tools: list[Callable[..., Any]]) -> Callable[[str], str]:
    raise RuntimeError("no agent today")


def newer(tools: list[Callable[..., Any]]) -> Callable[[str], str]:
    call = {function.__name__: function for function in tools}
    return lambda _: str(call["put"](key="a", value="newer"))


def speechless(tools: list[Callable[..., Any]]) -> Callable[[str], None]:
    return lambda _: None


def make_agent(tools: list[Callable[..., Any]]) -> Callable[[str], str]:
    """A clinic agent that tries everything twice, and knows no way round."""
    by_name = {function.__name__: function for function in tools}

    def twice(tool: str, /, **arguments: Any) -> Any:
        found: Any = ""
        for _ in range(2):
            found = by_name[tool](**arguments)
            if not isinstance(found, str):
                return found
        return found

    def answer(request: str) -> str:
        twice("find_patient", name="Ida Berg")
        if "Cancel" in request:
            return str(twice("cancel_visit", visit_id="V1"))
        return f"With {twice('get_visit', visit_id='V2')}."

    return answer


def make_async_agent(tools: list[Callable[..., Any]]) -> Callable[[str], Any]:
    agent = make_agent(tools)

    async def answer(request: str) -> str:
        return agent(request)

    return answer


def make_broken_agent(tools: list[Callable[..., Any]]) -> Callable[[str], str]:
    def answer(request: str) -> str:
        raise RuntimeError("no model today")

    return answer
