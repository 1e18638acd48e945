"""The cases: made from the shop's tasks and a file of wordings by a fixed rule, so their ids never change in a version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from btm.lab.environment import Task, load_environment
from btm.lab.faults.draw import Draw
from btm.lab.faults.kinds import REPEAT_HEALS
from btm.lab.loading import map_of
from btm.lab.scenarios import Stage
from btm.model import Effect, ErrorKind

VERSION = 1
_LEAST = {"loops": 20, "silent": 40, "recovery": 64, "idempotency": 40}
_CONTEXTS = ("get_order", "cancel_order", "get_user", "find_user_by_email")


class Dimension(StrEnum):
    """What a case is about."""

    RECOGNITION = "recognition"
    RECOVERY = "recovery"
    LOOPS = "loops"
    SELF_CHECKING = "self-checking"
    FALSE_ALARM = "false alarm"
    IDEMPOTENCY = "idempotency"


@dataclass(frozen=True, slots=True)
class FailureCase:
    """One failure of one tool in one task.

    ``trigger`` is ``always`` or ``first_call_only``; ``kind`` what is injected (None: nothing), ``text`` what is
    said instead of one of the kind's own wordings, ``raised`` or returned, after a call that ``happens``. ``labels``
    are the kinds that name it rightly.
    """

    id: str
    dimension: Dimension
    subtype: str
    task: str
    tool: str
    trigger: str = "always"
    kind: str | None = None
    text: str = ""
    raised: bool = True
    happens: bool = False
    labels: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


@cache
def stage() -> Stage:
    """Return the stage that all cases stand on: the shop, with its map."""
    environment = load_environment("shop")
    return Stage(environment, map_of(environment))


def task_of(case: FailureCase) -> Task:
    """Return the task of a case."""
    return next(task for task in stage().environment.tasks if task.task_id == case.task)


@cache
def cases() -> tuple[FailureCase, ...]:
    """Return every case, in a fixed order."""
    tasks = tuple(stage().environment.tasks)
    made = [*_recognition(tasks), *_recovery(tasks), *_loops(tasks), *_silent(tasks), *_idempotency(tasks)]
    return tuple(made)


def _recognition(tasks: tuple[Task, ...]) -> Iterator[FailureCase]:
    text = (files("btm.lab.failbench") / "wordings.yaml").read_text("utf-8")
    for group in yaml.safe_load(text):
        for number, said in enumerate(group["texts"]):
            for raised in (True, False):
                if raised and (not group["labels"] or group["subtype"] == "page"):
                    continue  # nothing that is fine is raised, and a page is an answer
                tool = _CONTEXTS[number % len(_CONTEXTS)]
                task = next(t for t in tasks if any(s.tool == tool for s in t.steps))
                form = "raised" if raised else "returned"
                name = f"recognition/{group['subtype']}/{number + 1}-{form}"
                labels = tuple(group["labels"])
                yield FailureCase(
                    name, Dimension.RECOGNITION, group["subtype"], task.task_id, tool,
                    "first_call_only", labels[0] if labels else None, said, raised, labels=labels,
                )  # fmt: skip


def _recovery(tasks: tuple[Task, ...]) -> Iterator[FailureCase]:
    """One fault at a step drawn for the task: one that passes, then one that stays where the map has a way round."""
    made = 0
    for turn, kinds in enumerate(
        (REPEAT_HEALS, (ErrorKind.TIMEOUT, ErrorKind.SERVER_ERROR, ErrorKind.AUTH_ERROR))
    ):
        for task in tasks:
            if made == _LEAST["recovery"]:
                break
            draw = Draw((VERSION, "recovery", turn, task.task_id))
            kind = draw.pick(kinds, "kind")
            tools = [t for t in stage().decisive(task) if kind in stage().shapes.of(t).kinds]
            if turn:
                tools = [t for t in tools if stage().can_switch(task, t, kind)]
            if tools:
                made += 1
                trigger = "always" if turn else "first_call_only"
                name = f"recovery/{trigger}/{task.task_id}"
                yield FailureCase(
                    name,
                    Dimension.RECOVERY,
                    kind.value,
                    task.task_id,
                    draw.pick(tools, "tool"),
                    trigger,
                    kind.value,
                )


def _loops(tasks: tuple[Task, ...]) -> Iterator[FailureCase]:
    """The same refusal for ever, of a tool and of every way round it."""
    for task in tasks[: _LEAST["loops"]]:
        tool = Draw((VERSION, "loops", task.task_id)).pick(stage().decisive(task))
        said = "403 Forbidden: you may not do this"
        yield FailureCase(
            f"loops/{task.task_id}",
            Dimension.LOOPS,
            "authz",
            task.task_id,
            tool,
            "always",
            "auth_error",
            said,
        )


def _silent(tasks: tuple[Task, ...]) -> Iterator[FailureCase]:
    """A wrong core value in a good answer that the agent alone would act on; and the same without it."""
    found: list[tuple[str, str, ErrorKind]] = []
    for task in tasks:
        for kind in (ErrorKind.FACTUAL_ERROR, ErrorKind.STALE_DATA):
            if len(found) == _LEAST["silent"]:
                break
            tool = next((t for t in stage().decisive(task) if _matters(task, t, kind)), None)
            if tool is not None:
                found.append((task.task_id, tool, kind))
    for task_id, tool, kind in found:
        name = f"{kind.value}/{task_id}"
        yield FailureCase(
            f"self-checking/{name}", Dimension.SELF_CHECKING, kind.value, task_id, tool, "always", kind.value
        )
    for task_id, tool, kind in found:
        yield FailureCase(
            f"false-alarm/{kind.value}/{task_id}", Dimension.FALSE_ALARM, kind.value, task_id, tool
        )


def _matters(task: Task, tool: str, kind: ErrorKind) -> bool:
    here = stage()
    setup = here.blocked(task, tool, kind) if kind in here.blocks(task, tool) else None
    return setup is not None and here.matters(setup, kind)


def _idempotency(tasks: tuple[Task, ...]) -> Iterator[FailureCase]:
    """A write that happens, and answers that nobody knows whether it did, or not at all."""
    made = 0
    for task in tasks:
        for number, step in enumerate(task.steps):
            if step.effect is Effect.WRITE and made < _LEAST["idempotency"]:
                made += 1
                name, about = f"{task.task_id}/{number + 1}", Dimension.IDEMPOTENCY
                once = "first_call_only"
                yield FailureCase(
                    f"idempotency/unknown/{name}", about, "status unknown", task.task_id, step.tool, once,
                    "unknown", '{"status": "unknown"}', raised=False,
                )  # fmt: skip
                yield FailureCase(
                    f"idempotency/lost/{name}", about, "lost answer", task.task_id, step.tool, once,
                    "timeout", "The read operation timed out", happens=True,
                )  # fmt: skip
