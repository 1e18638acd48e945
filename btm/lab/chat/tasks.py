"""Short templated requests to the built-in shop: one or two calls, five tools, an end that can be checked."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from btm.errors import EvaluationError
from btm.lab.faults.draw import Draw
from btm.lab.script import Gold
from btm.lab.shop.data import Database, fresh
from btm.lab.shop.tools import ShopSession

HAND_OVER = "transfer_to_human"
"""The tool that hands a task to a human."""

_TOOLS: Mapping[str, tuple[str, ...]] = {
    "orders": ("track_shipment", "get_order", "cancel_order", "submit_cancellation_form", HAND_OVER),
    "accounts": ("find_user_by_email", "search_customers", "get_user", "update_email", HAND_OVER),
}

Facts = Mapping[str, Any]
"""What a wording, the gold calls and the answer are filled with."""


@dataclass(frozen=True, slots=True)
class ChatTask:
    """One request. ``tools`` are those that the model gets.

    ``target`` is the tool of the gold calls that fails where another one can stand in, or all that could; ``repeated``
    the one that fails where a repeat helps, which may be one that nothing can stand in for.
    ``answers`` are what the closing message must say: texts, or numbers in any form. ``closing`` is such a message,
    for demonstrations. ``claim`` is a pattern of what a message says that claims the task to be done.
    """

    task_id: str
    family: str
    request: str
    tools: tuple[str, ...]
    gold: tuple[Gold, ...]
    target: str
    repeated: str
    answers: tuple[str | float, ...]
    closing: str
    claim: str

    def played(self) -> tuple[str, tuple[Any, ...]]:
        """Return the digest of the shop after the gold calls, and what each of them gave."""
        session = ShopSession()
        results = tuple(session.call(gold.tool, gold.arguments) for gold in self.gold)
        return session.digest(), results


class _TaskTemplate(BaseModel):
    """Requests of one sort, as ``families.yaml`` has them; all texts are templates over the facts of one record."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    tools: str
    facts: str
    wordings: tuple[str, ...]
    gold: tuple[tuple[str, dict[str, str]], ...]
    targets: tuple[str, ...]
    closing: str
    claims: tuple[str, ...]
    answers: tuple[str, ...] = ()
    repeated: str = ""

    def task(self, name: str, facts: Facts, wording: int, target: int) -> ChatTask:
        gold = tuple(
            Gold(tool, {key: value.format_map(facts) for key, value in arguments.items()})
            for tool, arguments in self.gold
        )
        return ChatTask(
            task_id=f"{name}-{facts['key']}-{wording}-{target}",
            family=name,
            request=self.wordings[wording].format_map(facts),
            tools=_TOOLS[self.tools],
            gold=gold,
            target=self.targets[target],
            repeated=self.repeated or self.targets[target],
            answers=tuple(facts[answer] for answer in self.answers),
            closing=self.closing.format_map(facts),
            claim=self.claims[target],
        )


def _sent(database: Database) -> list[Facts]:
    return [
        {"key": o["order_id"], "order": o["order_id"], "status": o["status"], "tracking": o["tracking"]}
        for o in database["orders"].values()
        if o["tracking"]
    ]


def _pending(database: Database) -> list[Facts]:
    reasons = itertools.cycle(("no longer needed", "ordered by mistake"))
    return [
        {"key": o["order_id"], "order": o["order_id"], "reason": reason}
        for o, reason in zip(
            (o for o in database["orders"].values() if o["status"] == "pending"), reasons, strict=False
        )
    ]


def _pending_and_sent(database: Database) -> list[Facts]:
    sent = itertools.cycle(_sent(database))
    return [
        {
            **pending,
            "key": f"{pending['order']}-{other['order']}",
            "other": other["order"],
            "tracking": other["tracking"],
        }
        for pending, other in zip(_pending(database), sent, strict=False)
    ]


def _accounts(database: Database) -> list[Facts]:
    return [
        {
            "key": user["user_id"],
            "user": user["user_id"],
            "email": user["email"],
            "new_email": f"{user['last_name']}.{user['first_name']}@newmail.example".lower(),
            "credit": user["store_credit"],
        }
        for user in database["users"].values()
    ]


def _with_credit(database: Database) -> list[Facts]:
    return [facts for facts in _accounts(database) if facts["credit"] > 0]


_FACTS: Mapping[str, Callable[[Database], list[Facts]]] = {
    "sent": _sent,
    "pending": _pending,
    "pending_and_sent": _pending_and_sent,
    "accounts": _accounts,
    "with_credit": _with_credit,
}
_FAMILIES = TypeAdapter(dict[str, _TaskTemplate]).validate_python(
    yaml.safe_load((files("btm.lab.chat") / "families.yaml").read_text("utf-8"))
)
FAMILIES = tuple(_FAMILIES)
"""The sorts of request, in the order in which tasks are drawn from them."""

# What demonstrations are made of, by the tools they show: family, record. No task is drawn on these records.
_SHOWN: Mapping[tuple[str, ...], tuple[tuple[str, str], ...]] = {
    _TOOLS["orders"]: (("where", "S1004"), ("errand", "S1001-S1002")),
    _TOOLS["accounts"]: (("email", "lena_fischer_620"), ("credit", "clara_weiss_390")),
}


@cache
def _records(family: str) -> tuple[Facts, ...]:
    return tuple(_FACTS[_FAMILIES[family].facts](fresh()))


def _free(family: str) -> list[Facts]:
    """Return the records that no demonstration uses up."""
    words = {word for shown in _SHOWN.values() for _, key in shown for word in key.split("-")}
    return [facts for facts in _records(family) if not words & set(facts["key"].split("-"))]


def draw_tasks(seed: int, count: int, families: Sequence[str] = FAMILIES) -> tuple[ChatTask, ...]:
    """Return the first ``count`` tasks of a seed, the families in turn; the same seed gives the same tasks.

    A longer draw begins with a shorter one. Raises EvaluationError when there are not so many different tasks.
    """
    drawn = {name: _drawn(name, Draw((seed, "chat", name))) for name in families}
    tasks: list[ChatTask] = []
    while len(tasks) < count and drawn:
        for name in list(drawn):
            task = next(drawn[name], None)
            if task is None:
                del drawn[name]
            else:
                tasks.append(task)
    if len(tasks) < count:
        raise EvaluationError(f"there are {len(tasks)} different tasks, fewer than {count}")
    return tuple(tasks[:count])


def _drawn(name: str, draw: Draw) -> Iterator[ChatTask]:
    family = _FAMILIES[name]
    records = sorted(_free(name), key=lambda facts: draw.unit(facts["key"]))
    for turn in range(len(family.wordings)):  # every record once before one comes again in other words
        for number, facts in enumerate(records):
            first = draw.integer(0, len(family.wordings) - 1, facts["key"], "wording")
            yield family.task(
                name, facts, (first + turn) % len(family.wordings), (number + turn) % len(family.targets)
            )


def demonstrations(tools: Sequence[str]) -> tuple[ChatTask, ...]:
    """Return two tasks for these tools that are never drawn: what a model is shown, without any fault."""
    return tuple(_shown(family, key) for family, key in _SHOWN.get(tuple(tools), ()))


def _shown(family: str, key: str) -> ChatTask:
    facts = next(facts for facts in _records(family) if facts["key"] == key)
    return _FAMILIES[family].task(family, facts, 0, 0)
