"""A domain that nothing was tuned on, and an agent that does exactly what ``next:`` says.

A clinic with eleven tools, each with its own form of answer and its own way to fail. The agent has no judgement of its
own: it makes the calls of a task, and after a note it does what the note's first line says, word for word. What it then
gets wrong, the note got wrong. Simulated: no model.
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

CLINIC = FallbackMap.from_text("""
version: 1
domain: clinic
tools:
  find_patient:
    effect: read
    takes: [name]
    returns: [patient_id, name, birth]
    expect: {required: [patient_id, name]}
    fallbacks:
      - tool: patient_register
        coverage: full
        arguments: {}
        pick: "result.rows | selectattr('name', 'eq', call.name) | first"
  patient_register: {effect: read, takes: [], returns: [rows]}
  get_record:
    effect: read
    takes: [patient_id]
    returns: [patient_id, allergies, updated]
    expect: {required: [patient_id, allergies]}
    fallbacks:
      - tool: patient_register
        coverage: full
        arguments: {}
        pick: "result.rows | selectattr('patient_id', 'eq', call.patient_id) | first"
    cross_check:
      tool: patient_register
      arguments: {}
      pick: "result.rows | selectattr('patient_id', 'eq', call.patient_id) | first"
      compare: [allergies]
  list_slots:
    effect: read
    takes: [day]
    returns: [day, slots]
    expect: {required: [day, slots]}
    fallbacks:
      - tool: day_plan
        coverage: full
        pick: "{'day': call.day, 'slots': result.free}"
  day_plan: {effect: read, takes: [day], returns: [free, bookings]}
  book:
    effect: write
    takes: [patient_id, day, slot]
    returns: [booking_id, patient_id, day, slot]
    verify:
      tool: list_bookings
      arguments: {patient_id: "{{ call.patient_id }}"}
      done_when: "{'day': call.day, 'slot': call.slot} in result.bookings"
    fallbacks:
      - tool: phone_desk
        coverage: full
        arguments: {who: "{{ call.patient_id }}", day: "{{ call.day }}", at: "{{ call.slot }}"}
    repairs: [{on: auth_error, tool: log_in}]
  phone_desk: {effect: write, takes: [who, day, at]}
  list_bookings:
    effect: read
    takes: [patient_id]
    returns: [bookings]
    fallbacks:
      - tool: booking_search
        coverage: full
        arguments: {query: "{{ call.patient_id }}"}
        pick: "{'bookings': result}"
  booking_search: {effect: read, takes: [query]}
  cancel:
    effect: write
    irreversible: true
    takes: [patient_id, day, slot]
    verify:
      tool: list_bookings
      arguments: {patient_id: "{{ call.patient_id }}"}
      done_when: "{'day': call.day, 'slot': call.slot} not in result.bookings"
    fallbacks: [{tool: cancel_form, coverage: full}]
  cancel_form: {effect: write, irreversible: true, takes: [patient_id, day, slot]}
  log_in: {role: repair, takes: []}
  duty_doctor: {role: escalation, takes: [summary]}
""")
PATIENTS = [
    (f"p{n}", name) for n, name in enumerate(("Ada Byron", "Bob Moss", "Cy Young", "Dee Dee"), start=1)
]
DAYS = ("mon", "tue", "wed")


@dataclass
class Clinic:
    """The tools, and what they did."""

    booked: list[tuple[str, str, str]] = field(default_factory=list)
    ever: list[tuple[str, str, str]] = field(default_factory=list)
    escalated: int = 0

    def call(self, tool: str, a: Mapping[str, Any]) -> Any:
        return getattr(self, "do_" + tool)(**a)

    def _row(self, number: int) -> dict[str, Any]:
        patient, name = PATIENTS[number]
        return {
            "patient_id": patient,
            "name": name,
            "birth": "1990",
            "allergies": [f"nut{number}"],
            "updated": "now",
        }

    def do_find_patient(self, name: str) -> Any:
        return next(self._row(n) for n, (_, known) in enumerate(PATIENTS) if known == name)

    def do_patient_register(self) -> Any:
        return {"rows": [self._row(n) for n in range(len(PATIENTS))]}

    def do_get_record(self, patient_id: str) -> Any:
        return json.dumps(next(self._row(n) for n, (known, _) in enumerate(PATIENTS) if known == patient_id))

    def do_list_slots(self, day: str) -> Any:
        return {"day": day, "slots": self._free(day)}

    def _free(self, day: str) -> list[str]:
        return [s for s in ("9:00", "10:00") if not any(b[1:] == (day, s) for b in self.booked)]

    def do_day_plan(self, day: str) -> Any:
        return {"free": self._free(day), "bookings": [list(b) for b in self.booked if b[1] == day]}

    def do_book(self, patient_id: str, day: str, slot: str) -> Any:
        self.booked.append((patient_id, day, slot))
        self.ever.append((patient_id, day, slot))
        return {"booking_id": f"b{len(self.ever)}", "patient_id": patient_id, "day": day, "slot": slot}

    def do_phone_desk(self, who: str, day: str, at: str) -> Any:
        self.do_book(who, day, at)
        return "Noted, see you then."

    def do_list_bookings(self, patient_id: str) -> Any:
        return {"bookings": self.do_booking_search(patient_id)}

    def do_booking_search(self, query: str) -> Any:
        return [{"day": d, "slot": s} for who, d, s in self.booked if who == query]

    def do_cancel(self, patient_id: str, day: str, slot: str) -> Any:
        self.booked.remove((patient_id, day, slot))
        return {"cancelled": True}

    do_cancel_form = do_cancel

    def do_log_in(self) -> Any:
        return "welcome"

    def do_duty_doctor(self, summary: str = "") -> Any:
        self.escalated += 1
        return "a doctor takes over"


WAYS_ROUND = {
    "find_patient": ("patient_register",), "get_record": ("patient_register",), "list_slots": ("day_plan",),
    "book": ("phone_desk",), "cancel": ("cancel_form",),
}  # fmt: skip


class World:
    """The clinic with something wrong with it."""

    def __init__(self, cell: str, target: str, rng: random.Random) -> None:
        self.clinic = Clinic()
        self.cell, self.target, self.rng = cell, target, rng
        self.left = rng.choice((1, 2))
        self.form = rng.choice({"transient": TRANSIENT, "lost": LOST}.get(cell, PERMANENT))
        self.applied = rng.random() < 0.5
        self.calls = 0

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self.calls += 1
        blocked = (self.target, *WAYS_ROUND[self.target]) if self.cell == "impossible" else (self.target,)
        if tool not in blocked or self.cell == "none":
            return self.clinic.call(tool, arguments)
        match self.cell:
            case "transient":
                self.left -= 1
                return gives(self.form()) if self.left >= 0 else self.clinic.call(tool, arguments)
            case "permanent" | "impossible":
                return gives(self.form())
            case "lost":
                self.left -= 1
                if self.left < 0:
                    return self.clinic.call(tool, arguments)
                if self.applied and self.left == 0:
                    self.clinic.call(tool, arguments)
                return gives(self.form())
        return self._wrong(self.clinic.call(tool, arguments))

    def _wrong(self, result: Any) -> Any:
        """Return a good-looking answer with a hole in it, or nothing where there must be something."""
        if self.left == 2:
            return None
        value = dict(json.loads(result)) if isinstance(result, str) else dict(result)
        gone = {"find_patient": "patient_id", "get_record": "allergies", "list_slots": "slots"}.get(
            self.target
        )
        if gone is None:
            return result
        value.pop(gone)
        return json.dumps(value) if isinstance(result, str) else value


def found(result: Any, key: str, **match: str) -> Any:
    """Read a value as a person would, whatever tool's form it came in."""
    value = json.loads(result) if isinstance(result, str) and result[:1] in "{[" else result
    rows = value.get("rows") if isinstance(value, dict) and "rows" in value else [value]
    row = next(r for r in rows if isinstance(r, dict) and all(r.get(k) == v for k, v in match.items()))
    return row.get(key, row.get("free") if key == "slots" else None)


def run(agent: Literal, target: str, number: int) -> bool:
    """Do one task; return whether it was solved."""
    patient, name = PATIENTS[number % 4]
    day, clinic = DAYS[number % 3], agent.world.clinic
    if target in ("cancel",):
        clinic.booked.append((patient, day, "9:00"))
        agent.do("cancel", patient_id=patient, day=day, slot="9:00")
        return not agent.over and not clinic.booked
    got = agent.do("find_patient", name=name)
    if agent.over:
        return False
    who = found(got, "patient_id", name=name)
    got = agent.do("get_record", patient_id=who)
    if agent.over or found(got, "allergies", patient_id=who) != [f"nut{number % 4}"]:
        return False
    got = agent.do("list_slots", day=day)
    if agent.over:
        return False
    slot = found(got, "slots")[0]
    agent.do("book", patient_id=who, day=day, slot=slot)
    return not agent.over and clinic.booked == [(patient, day, slot)]


def outcomes(mode: str, cell: str, tasks: int = 48) -> list[str]:
    """Return what went wrong in each of a cell's tasks, "" for those that went well."""
    clock, said = Clock(), []
    targets = [t for t in WAYS_ROUND if cell != "lost" or t in ("book", "cancel")]
    if cell == "silent":
        targets = ["find_patient", "get_record", "list_slots"]
    with memory_of(clock, fallback_map=CLINIC, mode=mode) as memory:
        for number in range(tasks):
            target = targets[number % len(targets)]
            world = World(cell, target, random.Random(number))
            agent = Literal(memory, world, f"t{number}")
            solved = run(agent, target, number)
            if len(set(world.clinic.ever)) < len(world.clinic.ever):
                said.append(f"{number} {target}: written twice")
            elif cell == "impossible":
                said.append(
                    "" if world.clinic.escalated else f"{number} {target}: no human was told ({agent.over})"
                )
            else:
                said.append("" if solved else f"{number} {target}: {agent.over or 'wrong'} {world.form()!r}")
            memory.end(f"t{number}")
    return said


@pytest.mark.parametrize("mode", ["advise", "guard", "act"])
@pytest.mark.parametrize("cell", ["none", "transient", "permanent", "lost", "impossible", "silent"])
def test_doing_exactly_what_next_says_solves_every_task(mode: str, cell: str) -> None:
    wrong = [said for said in outcomes(mode, cell) if said]
    assert wrong == []
