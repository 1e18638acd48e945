"""From tau2's gold actions to scripts an agent can walk: with the reads that reveal each id before it is used.

tau2's gold actions name ids that a person would have had to look up. A script begins with finding the user by what
they say of themselves (tau2's policy demands it), and looks at an order before it changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.lab.environment import ExpectedAnswer, Task
from btm.lab.jsonvalue import Path, field_name, leaves, parsed
from btm.lab.script import Gold, RecordedScript, UnboundError, bind, is_word_in
from btm.lab.tau2.session import RetailSession, all_specs
from btm.lab.tau2.source import NOTHING_TO_DO, SourceTask, loaded
from btm.model import Effect

FIND_BY = {"email": "find_user_id_by_email", "name": "find_user_id_by_name_zip"}
_ADDRESS = ("address1", "address2", "city", "state", "country", "zip")
_OWN_WORDS = frozenset({"reason", "summary", "expression"})
"""Arguments that an agent words or works out itself."""


def script(source: SourceTask) -> Task:
    """Return the task with its script; raises UnboundError, with the reason, when it cannot be scripted."""
    writer = _Writer(source)
    session = RetailSession()
    bound = bind(writer.calls, session, writer.given, {name: s.effect for name, s in all_specs().items()})
    answers = _answers(source, bound, read_only=not session.writes)
    changes = tuple(write.change for write in session.writes)
    return Task(source.task_id, source.request, writer.facts, bound.steps, session.digest(), answers, changes)


class _Writer:
    """Writes the calls of one task's script, tracking what the user gave and what the calls so far show."""

    def __init__(self, source: SourceTask) -> None:
        self._source = source
        self._db = loaded()
        self._session, self._replay = RetailSession(), RetailSession()
        self._user = self._db.users[self._owner()]
        self._text = source.text.lower()
        self.calls: list[Gold] = []
        self._results: list[Any] = []
        self._told: set[str] = set()
        self.facts = self._facts()
        self._find()
        for tool, arguments in source.calls:
            if tool not in FIND_BY.values() and self._works(tool, arguments):
                self._gold(tool, arguments)
        if len(self.calls) < 2:
            raise UnboundError(NOTHING_TO_DO)

    # Who it is about, and what they say

    def _owner(self) -> str:
        for _, arguments in self._source.calls:
            if "user_id" in arguments:
                return str(arguments["user_id"])
            if arguments.get("order_id") in self._db.orders:
                return str(self._db.orders[arguments["order_id"]].user_id)
        raise UnboundError(NOTHING_TO_DO)

    def _says(self, value: str) -> bool:
        """Whether the user's text has this value, as a word of its own; order ids also without their '#'."""
        return bool(value) and is_word_in(value.lower().removeprefix("#"), self._text)

    def _facts(self) -> dict[str, Any]:
        user = self._user
        known = {
            "first_name": user.name.first_name,
            "last_name": user.name.last_name,
            "zip": user.address.zip,
            "email": user.email,
            "user_id": user.user_id,
        }
        # A user who gives their user id ("mei_kovacs_8020") knows their own name.
        names = ("first_name", "last_name") if self._says(user.user_id) else ()
        return {key: value for key, value in known.items() if key in names or self._says(value)}

    def given(self, path: Path, value: Any) -> bool:
        """Whether the user's text gives an argument's value, or the agent words it itself."""
        if path[0] in _OWN_WORDS or value in self.facts.values():
            return True
        return value in self._told or not isinstance(value, str) or not value or self._says(value)

    # Calls

    def _find(self) -> None:
        if "email" in self.facts:
            self._add(FIND_BY["email"], {"email": self.facts["email"]})
        elif {"first_name", "last_name", "zip"} <= self.facts.keys():
            names = {key: self.facts[key] for key in ("first_name", "last_name", "zip")}
            self._add(FIND_BY["name"], names)
        else:
            raise UnboundError("the user says too little of themselves to be found")

    def _works(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether a gold call succeeds: some of tau2's look-ups are wrong guesses, which change nothing."""
        try:
            self._replay.call(tool, arguments)
        except ValueError:
            return False
        return True

    def _gold(self, tool: str, arguments: Mapping[str, Any]) -> None:
        for path, value in leaves(arguments):
            if isinstance(value, str) and path[0] not in _OWN_WORDS:
                self._reveal(str(path[0]), value, arguments)
        if all_specs()[tool].effect is Effect.READ:
            self._look(tool, arguments)
            return
        requires: tuple[tuple[int, Path], ...] = ((0, ()),)
        if "order_id" in arguments:
            step = self._look("get_order_details", {"order_id": arguments["order_id"]})
            requires += ((step, ("status",)),)
        elif "user_id" in arguments:
            requires += ((self._look("get_user_details", {"user_id": arguments["user_id"]}), ("user_id",)),)
        self._add(tool, arguments, requires)

    def _reveal(self, name: str, value: str, arguments: Mapping[str, Any]) -> None:
        """Add the reads that show an id, unless the user gave it or a result has shown it."""
        if not value or self._says(value) or self._is_shown(value):
            return
        account = {"user_id": self._user.user_id}
        if name == "order_id":
            self._look("get_user_details", account)
        elif name == "product_id":
            self._look("list_all_product_types", {})
        elif name == "item_ids":
            self._look("get_order_details", {"order_id": arguments["order_id"]})
        elif name == "payment_method_id":
            self._look("get_order_details", {"order_id": arguments["order_id"]})
            if not self._is_shown(value):
                self._look("get_user_details", account)
        elif name in _ADDRESS:
            self._look("get_user_details", account)
            if not self._is_shown(value):
                self._told.add(value)  # told in the conversation, which the text only sums up
        elif name == "new_item_ids":
            product_id = next(p.product_id for p in self._db.products.values() if value in p.variants)
            self._look("get_order_details", {"order_id": arguments["order_id"]})
            self._look("get_product_details", {"product_id": product_id})

    def _look(self, tool: str, arguments: Mapping[str, Any]) -> int:
        """Make a read unless it was made before; returns the number of its step."""
        for number, call in enumerate(self.calls):
            if (call.tool, call.arguments) == (tool, arguments):
                return number
        for path, value in leaves(arguments):
            if isinstance(value, str) and path[0] not in _OWN_WORDS:
                self._reveal(str(path[0]), value, arguments)
        return self._add(tool, arguments)

    def _add(
        self, tool: str, arguments: Mapping[str, Any], requires: tuple[tuple[int, Path], ...] = ()
    ) -> int:
        self._results.append(parsed(self._session.call(tool, arguments)))
        self.calls.append(Gold(tool, arguments, requires))
        return len(self.calls) - 1

    def _is_shown(self, value: str) -> bool:
        return any(leaf == value for result in self._results for _, leaf in leaves(result))


# What the user is to be told

_KEYS = {
    "get_order_details": ("order_id",),
    "get_user_details": ("user_id",),
    "get_product_details": ("product_id",),
}


def _answers(source: SourceTask, bound: RecordedScript, *, read_only: bool) -> tuple[ExpectedAnswer, ...]:
    """Return what must have been seen.

    Of what the user is to be told, that which stands word for word in a result; sums and counts that tau2 expects
    are the model's arithmetic, and not judged. A task without a change is done when everything was looked up.
    """
    told = [answer for text in source.tell if (answer := _told(text, bound)) is not None]
    if not read_only:
        return tuple(told)
    looked_up = [
        bound.answer((number, _KEYS[step.tool]))
        for number, step in enumerate(bound.steps)
        if step.tool in _KEYS
    ]
    return (*told, *looked_up)


def _told(text: str, bound: RecordedScript) -> ExpectedAnswer | None:
    for number, (step, result) in enumerate(zip(bound.steps, bound.results, strict=True)):
        for path, leaf in leaves(result):
            if step.tool in _KEYS and field_name(path) not in _ADDRESS and _same(text, leaf):
                return bound.answer((number, path), text=text)
    return None


def _same(text: str, leaf: Any) -> bool:
    if isinstance(leaf, bool) or not isinstance(leaf, str | int | float):
        return False
    if isinstance(leaf, str):
        return text.lower() == leaf.lower()
    try:
        return float(text) == float(leaf)
    except ValueError:
        return False
