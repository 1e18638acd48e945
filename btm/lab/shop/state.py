"""What the shop's tools work on: one session's database, its clock, and the changes made so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from btm.lab.environment import Clock, Write
from btm.lab.shop.data import Database, Record


class NotFoundError(LookupError):
    """There is no such user, product or order."""


class RefusedError(ValueError):
    """The shop's rules do not allow the change as things stand."""


class InvalidArgumentError(ValueError):
    """An argument is missing, unknown or of a wrong kind."""


@dataclass(slots=True)
class Shop:
    """The state behind one session's tools."""

    database: Database
    clock: Clock
    writes: list[Write] = field(default_factory=list)

    def as_of(self) -> str:
        """Return the session's time in ISO form, to the second."""
        return datetime.fromtimestamp(self.clock(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def user(self, user_id: str) -> Record:
        """Return the stored user; raises NotFoundError."""
        return self._find("users", "User", user_id)

    def product(self, product_id: str) -> Record:
        """Return the stored product; raises NotFoundError."""
        return self._find("products", "Product", product_id)

    def order(self, order_id: str) -> Record:
        """Return the stored order; raises NotFoundError."""
        return self._find("orders", "Order", order_id)

    def orders_of(self, user_id: str) -> list[Record]:
        """Return the stored orders of a user, oldest id first."""
        return [order for order in self.database["orders"].values() if order["user_id"] == user_id]

    def _find(self, table: str, what: str, key: str) -> Record:
        try:
            return self.database[table][key]
        except KeyError:
            raise NotFoundError(f"{what} {key!r} was not found") from None

    def view(self, record: Record) -> Record:
        """Return a copy of a record that is dated, and that the caller may keep or spoil."""
        copy: Record = orjson.loads(orjson.dumps(record))
        copy["as_of"] = self.as_of()
        return copy

    def views(self, records: Iterable[Record]) -> list[Record]:
        """Return dated copies of several records."""
        return [self.view(record) for record in records]

    def log(self, tool: str, arguments: Mapping[str, Any], change: str) -> None:
        """Note a change that has just been made."""
        self.writes.append(Write(tool, dict(arguments), change))
