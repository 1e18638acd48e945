"""The shop's tools as an agent gets them: their descriptions, and a session that runs them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import orjson

from btm.lab.environment import Clock, ToolSpec, Write, simulated_clock
from btm.lab.shop import reads, writes
from btm.lab.shop.data import Record, fresh
from btm.lab.shop.state import InvalidArgumentError, NotFoundError, RefusedError, Shop
from btm.lab.toolspec import check_arguments, spec_of
from btm.model import Effect

__all__ = ["TOOLS", "InvalidArgumentError", "NotFoundError", "RefusedError", "ShopSession"]


def refresh_session(shop: Shop) -> Record:
    """Log in again after an authentication error. Changes nothing in the shop."""
    return {"session": "renewed", "as_of": shop.as_of()}


def transfer_to_human(shop: Shop, summary: str) -> Record:  # noqa: ARG001 - the summary is for the human
    """Hand the customer over to a human colleague, with a summary of the case."""
    return {"transferred": True, "as_of": shop.as_of()}


_FUNCTIONS: Mapping[Callable[..., Record], Effect] = {
    reads.find_user_by_email: Effect.READ,
    reads.find_user_by_name_zip: Effect.READ,
    reads.search_customers: Effect.READ,
    reads.get_user: Effect.READ,
    reads.get_order: Effect.READ,
    reads.list_user_orders: Effect.READ,
    reads.search_orders: Effect.READ,
    reads.track_shipment: Effect.READ,
    reads.get_product: Effect.READ,
    reads.search_products: Effect.READ,
    reads.list_catalog: Effect.READ,
    writes.cancel_order: Effect.WRITE,
    writes.submit_cancellation_form: Effect.WRITE,
    writes.issue_refund: Effect.WRITE,
    writes.change_shipping_address: Effect.WRITE,
    writes.update_email: Effect.WRITE,
    writes.place_order: Effect.WRITE,
    refresh_session: Effect.WRITE,
    transfer_to_human: Effect.WRITE,
}
_BY_NAME = {function.__name__: function for function in _FUNCTIONS}

TOOLS: Mapping[str, ToolSpec] = MappingProxyType(
    {function.__name__: spec_of(function, effect) for function, effect in _FUNCTIONS.items()}
)
"""Every tool of the shop by name."""


class ShopSession:
    """One episode's shop: a fresh copy of the database behind the tools."""

    def __init__(self, clock: Clock = simulated_clock) -> None:
        self._shop = Shop(fresh(), clock)

    @property
    def writes(self) -> list[Write]:
        """The changes made so far."""
        return self._shop.writes

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool on checked arguments.

        Raises NotFoundError, RefusedError or InvalidArgumentError, and LookupError for an unknown tool.
        """
        if tool not in TOOLS:
            raise LookupError(f"there is no tool {tool!r}")
        problem = check_arguments(TOOLS[tool], arguments)
        if problem:
            raise InvalidArgumentError(f"{tool}: {problem}")
        return _BY_NAME[tool](self._shop, **arguments)

    def digest(self) -> str:
        """Return the SHA-256 of the database, without the days on which orders were placed.

        So an episode is judged by what was done, and may run on any clock.
        """
        database = self._shop.database
        orders = {key: {**order, "placed_on": None} for key, order in database["orders"].items()}
        content = orjson.dumps({**database, "orders": orders}, option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(content).hexdigest()
