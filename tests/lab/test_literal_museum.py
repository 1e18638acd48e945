"""Another domain that nothing was tuned on: a museum, whose tools answer as MCP results, blocks, JSON texts and tables.

Payments take an idempotency key and nothing can check them, labels may be set twice, rooms are reserved and released by
writes that a read can verify, and reads have a substitute of another shape. The agent is that of the clinic: it does what
``next:`` says and nothing else. Simulated: no model.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from core_kit import Clock, memory_of
from literal_kit import LOST, PERMANENT, TRANSIENT, Literal, gives

from btm.fallback import FallbackMap
from btm.fallback.values import plain

MUSEUM = FallbackMap.from_text("""
version: 1
domain: museum
tools:
  find_work:
    effect: read
    takes: [title]
    returns: [work_id, title, hall]
    expect: {required: [work_id]}
    fallbacks:
      - tool: catalogue
        coverage: full
        arguments: {page: 1}
        pick: "result | selectattr('title', 'eq', call.title) | first"
  catalogue: {effect: read, takes: [page]}
  get_terms:
    effect: read
    takes: [work_id]
    returns: [work_id, fee]
    expect: {required: [work_id, fee]}
    fallbacks:
      - tool: tariff
        coverage: full
        pick: "{'work_id': call.work_id, 'fee': result.fees[call.work_id]}"
  tariff: {effect: read, takes: []}
  list_rooms:
    effect: read
    takes: [date]
    expect: {required: [rooms]}
    fallbacks:
      - {tool: floor_plan, coverage: full, arguments: {day: "{{ call.date }}"}, pick: "{'rooms': result.free}"}
  floor_plan: {effect: read, takes: [day]}
  reserve_room:
    effect: write
    takes: [room, date, work_id]
    verify:
      tool: list_reservations
      arguments: {date: "{{ call.date }}"}
      done_when: "result | selectattr('room', 'eq', call.room) | list | count > 0"
    fallbacks:
      - tool: front_desk
        coverage: full
        arguments: {what: "{{ call.room }}", when: "{{ call.date }}", why: "{{ call.work_id }}"}
    repairs: [{on: auth_error, tool: sign_in}]
  front_desk: {effect: write, takes: [what, when, why]}
  list_reservations: {effect: read, takes: [date]}
  release_room:
    effect: write
    irreversible: true
    takes: [room, date]
    verify:
      tool: list_reservations
      arguments: {date: "{{ call.date }}"}
      done_when: "result | selectattr('room', 'eq', call.room) | list | count == 0"
    fallbacks: [{tool: release_form, coverage: full}]
  release_form: {effect: write, irreversible: true, takes: [room, date]}
  pay_fee: {effect: write, irreversible: true, takes: [work_id, amount, key?], idempotency_key: key}
  set_label:
    effect: write
    idempotent: true
    takes: [work_id, text]
    fallbacks: [{tool: label_form, coverage: full}]
  label_form: {effect: write, idempotent: true, takes: [work_id, text]}
  sign_in: {role: repair, takes: []}
  curator: {role: escalation, takes: [summary]}
""")
WORKS = ("Irises", "The Kiss", "Guernica", "Nighthawks")
WAYS_ROUND = {
    "find_work": ("catalogue",), "get_terms": ("tariff",), "list_rooms": ("floor_plan",), "pay_fee": (),
    "reserve_room": ("front_desk",), "release_room": ("release_form",), "set_label": ("label_form",),
}  # fmt: skip
CHANGES = ("reserve_room", "release_room", "pay_fee", "set_label")


@dataclass
class Museum:
    """The tools, and what they did."""

    reserved: list[dict[str, str]] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    paid: dict[str, tuple[str, float]] = field(default_factory=dict)
    payments: int = 0
    reservations: int = 0
    escalated: int = 0

    def call(self, tool: str, a: Mapping[str, Any]) -> Any:
        return getattr(self, "do_" + tool)(**a)

    def do_find_work(self, title: str) -> Any:
        row = {"work_id": f"w{WORKS.index(title)}", "title": title, "hall": "A"}
        return {"content": [{"type": "text", "text": json.dumps(row)}], "isError": False}

    def do_catalogue(self, page: int) -> Any:
        return [{"work_id": f"w{n}", "title": title} for n, title in enumerate(WORKS)]

    def do_get_terms(self, work_id: str) -> Any:
        return json.dumps({"work_id": work_id, "fee": 10.5 + int(work_id[1:])})

    def do_tariff(self) -> Any:
        return {"fees": {f"w{n}": 10.5 + n for n in range(len(WORKS))}, "currency": "EUR"}

    def do_list_rooms(self, date: str) -> Any:
        return [{"type": "text", "text": json.dumps({"rooms": self._free(date)})}]

    def _free(self, date: str) -> list[str]:
        taken = [one["room"] for one in self.reserved if one["date"] == date]
        return [room for room in ("R1", "R2") if room not in taken]

    def do_floor_plan(self, day: str) -> Any:
        return {"free": self._free(day), "closed": []}

    def do_reserve_room(self, room: str, date: str, work_id: str) -> Any:
        self.reserved.append({"room": room, "date": date, "work_id": work_id})
        self.reservations += 1
        return f"Reservation {self.reservations}: {room} on {date}"

    def do_front_desk(self, what: str, when: str, why: str) -> Any:
        self.do_reserve_room(what, when, why)

    def do_list_reservations(self, date: str) -> Any:
        return json.dumps([one for one in self.reserved if one["date"] == date])

    def do_release_room(self, room: str, date: str) -> Any:
        found = next(one for one in self.reserved if (one["room"], one["date"]) == (room, date))
        self.reserved.remove(found)
        return {"released": room}

    do_release_form = do_release_room

    def do_pay_fee(self, work_id: str, amount: float, key: str = "") -> Any:
        if not key or key not in self.paid:
            self.payments += 1
        self.paid[key] = (work_id, amount)
        return {"receipt": f"r{self.payments}"}

    def do_set_label(self, work_id: str, text: str) -> Any:
        self.labels[work_id] = text

    do_label_form = do_set_label

    def do_sign_in(self) -> Any:
        return {"ok": True}

    def do_curator(self, summary: str) -> Any:
        self.escalated += 1
        return "The curator takes over."


class World:
    """The museum with something wrong with one of its tools."""

    def __init__(self, cell: str, target: str, rng: random.Random) -> None:
        self.museum = Museum()
        self.cell, self.target = cell, target
        self.left = rng.choice((1, 2))
        self.form = rng.choice({"transient": TRANSIENT, "lost": LOST}.get(cell, PERMANENT))
        self.applied = rng.random() < 0.5

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        blocked = (self.target, *WAYS_ROUND[self.target]) if self.cell == "impossible" else (self.target,)
        if tool not in blocked or self.cell == "none":
            return self.museum.call(tool, arguments)
        if self.cell in ("permanent", "impossible"):
            return gives(self.form())
        if self.cell == "silent":
            return self._wrong(self.museum.call(tool, arguments))
        self.left -= 1
        if self.left < 0:
            return self.museum.call(tool, arguments)
        if self.cell == "lost" and self.applied and self.left == 0:
            self.museum.call(tool, arguments)
        return gives(self.form())

    def _wrong(self, result: Any) -> Any:
        """Return a good-looking answer with a hole in it, or nothing where there must be something."""
        if self.left == 2:
            return None
        value = dict(plain(result))
        del value[{"find_work": "work_id", "get_terms": "fee", "list_rooms": "rooms"}[self.target]]
        return json.dumps(value)


def read(result: Any, name: str, about: str) -> Any:
    """Read a value as a person would, whatever tool's form it came in; None where it is not there."""
    value = plain(result)
    if isinstance(value, list):
        value = next(row for row in value if about in row.values())
    if not isinstance(value, Mapping):
        return None
    return value.get(name, value.get("fees", {}).get(about) if name == "fee" else value.get("free"))


def run(agent: Literal, museum: Museum, number: int) -> bool:
    """Prepare a work's show, and end another one; return whether all of it was done, once."""
    title, date = WORKS[number % 4], f"2026-0{number % 3 + 1}-15"
    museum.reserved.append({"room": "R9", "date": date, "work_id": "old"})
    work = read(agent.do("find_work", title=title), "work_id", title)
    if agent.over or read(agent.do("get_terms", work_id=work), "fee", work) != 10.5 + number % 4:
        return False
    rooms = read(agent.do("list_rooms", date=date), "rooms", "")
    if agent.over:
        return False
    steps: list[tuple[str, dict[str, Any]]] = [
        ("reserve_room", {"room": rooms[0], "date": date, "work_id": work}),
        ("pay_fee", {"work_id": work, "amount": 10.5 + number % 4}),
        ("set_label", {"work_id": work, "text": title}),
        ("release_room", {"room": "R9", "date": date}),
    ]
    for tool, arguments in steps:
        agent.do(tool, **arguments)
        if agent.over:
            return False
    wanted = [{"room": "R1", "date": date, "work_id": work}]
    return museum.reserved == wanted and museum.labels == {work: title} and museum.payments == 1


def outcomes(mode: str, cell: str, tasks: int = 14) -> list[str]:
    """Return what went wrong in each of a cell's tasks, "" for those that went well; 48 tasks go well, too."""
    clock, said = Clock(), []
    targets = list(WAYS_ROUND)
    if cell == "lost":
        targets = list(CHANGES)
    if cell == "silent":
        targets = ["find_work", "get_terms", "list_rooms"]
    if cell == "permanent":
        targets.remove("pay_fee")  # nothing else pays
    with memory_of(clock, fallback_map=MUSEUM, mode=mode) as memory:
        for number in range(tasks):
            target = targets[number % len(targets)]
            world = World(cell, target, random.Random(1_000 + number))
            museum = world.museum
            agent = Literal(memory, world, f"t{number}")
            solved = run(agent, museum, number)
            if museum.payments > 1 or museum.reservations > 1:
                said.append(f"{number} {target}: written twice")
            elif cell == "impossible":
                said.append(
                    ""
                    if museum.escalated
                    else f"{number} {target}: no human told ({agent.over}) {world.form()!r}"
                )
            else:
                said.append("" if solved else f"{number} {target}: {agent.over or 'wrong'} {world.form()!r}")
            memory.end(f"t{number}")
    return said


@pytest.mark.parametrize("mode", ["advise", "guard", "act"])
@pytest.mark.parametrize("cell", ["none", "transient", "permanent", "lost", "impossible", "silent"])
def test_doing_exactly_what_next_says_solves_every_task(mode: str, cell: str) -> None:
    assert [said for said in outcomes(mode, cell) if said] == []
