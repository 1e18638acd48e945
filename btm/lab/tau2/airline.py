"""tau2 airline as an evaluation environment: gold calls with the reads that reveal what they need."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from pydantic_core import to_jsonable_python

from btm.lab.environment import ToolSpec
from btm.lab.gold import GoldEnvironment, GoldTask, Holder
from btm.lab.jsonvalue import field_name, leaves
from btm.lab.tau2.source import (
    AIRLINE_TABLES,
    HUMAN,
    NOTHING_TO_DO,
    SourceTask,
    fresh_airline,
    loaded_airline,
    source_tasks,
    specs_of,
    touched,
)
from btm.model import Effect

_BOOKING = (
    "cabin",
    "insurance",
    "flight_type",
    "total_baggages",
    "nonfree_baggages",
    "origin",
    "destination",
    "date",
)
_OWN = ("summary", "expression", "amount", *_BOOKING)
"""What the user decides or the agent reckons: sums by the policy, cities as codes of airports, days without a year."""

Call = tuple[str, Mapping[str, Any]]


class AirlineEnvironment(GoldEnvironment):
    """tau2-bench airline. Tasks that cannot be scripted are left out, each with its reason."""

    domain = "tau2:airline"
    fallback_map = "airline"

    @cached_property
    def tools(self) -> Mapping[str, ToolSpec]:  # type: ignore[override]
        return specs_of(fresh_airline().tools)

    def gold(self) -> Mapping[str, GoldTask]:
        return {s.task_id: _AirlineWalk(s, self.tools).task() for s in source_tasks("airline") if s.calls}

    def impossible(self) -> Mapping[str, str]:
        """Return the tasks in which the agent is to refuse: doing nothing solves them."""
        return {source.task_id: NOTHING_TO_DO for source in source_tasks("airline") if not source.calls}

    def hold(self, name: str) -> AirlineHolder:  # noqa: ARG002 - every task starts from the same database
        return AirlineHolder()


_base: dict[str, Mapping[str, Any]] = {}


class AirlineHolder(Holder):
    """tau2's airline tools over a copy of the database."""

    def __init__(self) -> None:
        self._environment = fresh_airline()
        self._handed_over = False

    def invoke(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self._handed_over |= tool == HUMAN
        return to_jsonable_python(self._environment.use_tool(tool, **arguments))

    def state(self) -> Any:
        """Return the database, and whether the task was handed over; untouched records are the loaded one's own."""
        if not _base:
            _base.update({name: touched(getattr(loaded_airline(), name)) for name in AIRLINE_TABLES})
        db = self._environment.tools.db
        tables = {name: {**_base[name], **touched(getattr(db, name))} for name in AIRLINE_TABLES}
        return {**tables, "handed over": self._handed_over}


class _AirlineWalk:
    """Walks one task's gold calls and adds the reads that show an id, unless the user gave it or a result has shown it."""

    def __init__(self, source: SourceTask, tools: Mapping[str, ToolSpec]) -> None:
        self._source, self._tools = source, tools
        self._said = GoldTask(source.request, (), own=_OWN, adds=source.text)
        self._holder: Holder = AirlineHolder()
        self._shown: list[Any] = []
        self._calls: list[Call] = []
        self._user = self._owner()

    def task(self) -> GoldTask:
        """Return the task with its script's calls; those that tau2's tools refuse change nothing, and are left out."""
        for tool, arguments in self._source.calls:
            for path, value in leaves(arguments):
                if not self._said.given(path, value):
                    self._reveal(field_name(path), value, arguments)
            if "reservation_id" in arguments and self._tools[tool].effect is Effect.WRITE:
                self._look("get_reservation_details", {"reservation_id": arguments["reservation_id"]})
            self._look(tool, arguments)
        writes = any(self._tools[tool].effect is Effect.WRITE for tool, _ in self._calls)
        facts = {"user_id": self._user} if self._user and self._said.says(self._user) else {}
        return GoldTask(
            self._source.request, self._calls, facts, own=_OWN, adds=self._source.text, hears=not writes
        )

    def _owner(self) -> str:
        """Return the user's id: said, or that of the reservation which the task is about."""
        said = re.search(r"\b[a-z]+_[a-z]+_\d{4}\b", self._source.text)
        if said:
            return said.group()
        booked = loaded_airline().reservations
        about = (booked.get(arguments.get("reservation_id")) for _, arguments in self._source.calls)
        return next((str(found.user_id) for found in about if found is not None), "")

    def _reveal(self, name: str, value: Any, arguments: Mapping[str, Any]) -> None:
        for tool, needed in self._ways(name, value, arguments):
            if any(leaf == value or value in path for result in self._shown for path, leaf in leaves(result)):
                return
            self._look(tool, needed)

    def _ways(self, name: str, value: Any, arguments: Mapping[str, Any]) -> Iterator[Call]:
        """Yield the reads that may show a value, in the order in which a person would think of them."""
        if "reservation_id" in arguments and name != "reservation_id":
            yield "get_reservation_details", {"reservation_id": arguments["reservation_id"]}
        yield "get_user_details", {"user_id": self._user}
        if name == "flight_number":
            dates = [f["date"] for f in arguments.get("flights", ()) if f["flight_number"] == value]
            flight = loaded_airline().flights[value]
            for date in dates or [arguments.get("date")]:
                yield (
                    "search_direct_flight",
                    {"origin": flight.origin, "destination": flight.destination, "date": date},
                )

    def _look(self, tool: str, arguments: Mapping[str, Any]) -> None:
        if (tool, arguments) in self._calls and self._tools[tool].effect is Effect.READ:
            return
        try:
            result = self._holder.invoke(tool, arguments)
        except ValueError:
            return
        self._shown.append(result)
        self._calls.append((tool, arguments))
