"""Tools that tau2's retail domain lacks: the same data in another shape, and its writes through another desk.

Each works on tau2's own ``RetailTools``, so that a change made here is the change tau2's tool makes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from btm.lab.environment import ToolSpec
from btm.lab.toolspec import spec_of
from btm.model import Effect

Record = dict[str, Any]


def search_customers(tools: Any, query: str) -> Record:
    """Search customers by words from their user id, name, e-mail address or zip code; every word must fit.

    Gives whole accounts.
    """
    words = query.lower().split()
    if not words:
        raise ValueError("The query is empty")
    hits = [user for user in tools.db.users.values() if all(word in _card(user) for word in words)]
    return {"query": query, "count": len(hits), "customers": [user.model_dump() for user in hits]}


def _card(user: Any) -> set[str]:
    texts = (user.user_id, user.name.first_name, user.name.last_name, user.email, user.address.zip)
    return {text.lower() for text in texts}


def list_user_orders(tools: Any, user_id: str) -> Record:
    """List all orders of a user with their details."""
    user = tools.get_user_details(user_id)
    orders = [tools.get_order_details(order_id).model_dump() for order_id in user.orders]
    return {"user_id": user_id, "count": len(orders), "orders": orders}


def search_orders(tools: Any, query: str) -> Record:
    """Search orders by order id or by user id: gives the customer found, and all their orders by status."""
    order = tools.db.orders.get(query)
    user_id = query if order is None else order.user_id
    by_status: dict[str, list[Record]] = {}
    for found in list_user_orders(tools, user_id)["orders"]:
        by_status.setdefault(found["status"], []).append(found)
    return {"query": query, "customer": user_id, "by_status": by_status}


def search_products(tools: Any, query: str) -> Record:
    """Search products by a part of their name, by product id, or by the item id of a variant."""
    wanted = query.lower()
    if not wanted:
        raise ValueError("The query is empty")
    hits = [
        product
        for product in tools.db.products.values()
        if wanted in product.name.lower() or wanted == product.product_id or wanted in product.variants
    ]
    return {"query": query, "count": len(hits), "products": [product.model_dump() for product in hits]}


def browse_catalog(tools: Any) -> Record:
    """Browse the whole catalogue: product ids by name, and how many variants of each are in stock."""
    products = sorted(tools.db.products.values(), key=lambda product: product.name)
    return {
        "count": len(products),
        "product_ids": {product.name: product.product_id for product in products},
        "in_stock": {p.name: sum(v.available for v in p.variants.values()) for p in products},
    }


def evaluate_formula(tools: Any, formula: str) -> Record:
    """Evaluate an arithmetic formula of numbers, + - * / and parentheses."""
    return {"formula": formula, "value": float(tools.calculate(formula))}


CHANGES: Mapping[str, str] = MappingProxyType(
    {
        "cancel": "cancel_pending_order",
        "address": "modify_pending_order_address",
        "items": "modify_pending_order_items",
        "payment": "modify_pending_order_payment",
        "return": "return_delivered_order_items",
        "exchange": "exchange_delivered_order_items",
    }
)
"""What ``submit_order_request`` can change, each with the tool that makes the same change."""


def submit_order_request(tools: Any, order_id: str, change: str, details: dict) -> Record:  # type: ignore[type-arg]
    """Change an order through the back office: change is cancel, address, items, payment, return or exchange.

    The details are the further arguments of the tool that makes this change.
    """
    if change not in CHANGES:
        raise ValueError(f"change must be one of {', '.join(CHANGES)}")
    order = getattr(tools, CHANGES[change])(order_id=order_id, **details)
    return {"request": change, "accepted": True, "order": order.model_dump()}


def submit_account_request(tools: Any, user_id: str, address: dict) -> Record:  # type: ignore[type-arg]
    """Change the default address of an account through the back office."""
    account = tools.modify_user_address(user_id=user_id, **address)
    return {"request": "address", "accepted": True, "account": account.model_dump()}


def refresh_session(tools: Any) -> Record:  # noqa: ARG001 - changes nothing in the database
    """Log in again after an authentication error."""
    return {"session": "renewed"}


_FUNCTIONS: Mapping[Callable[..., Record], Effect] = {
    search_customers: Effect.READ,
    list_user_orders: Effect.READ,
    search_orders: Effect.READ,
    search_products: Effect.READ,
    browse_catalog: Effect.READ,
    evaluate_formula: Effect.READ,
    submit_order_request: Effect.WRITE,
    submit_account_request: Effect.WRITE,
    refresh_session: Effect.WRITE,
}

TWINS: Mapping[str, Callable[..., Record]] = MappingProxyType({f.__name__: f for f in _FUNCTIONS})
"""The added tools by name; each takes tau2's ``RetailTools`` first."""

TWIN_SPECS: Mapping[str, ToolSpec] = MappingProxyType(
    {function.__name__: spec_of(function, effect) for function, effect in _FUNCTIONS.items()}
)
"""What an agent is told of them."""


def as_own(tool: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the call of tau2's own tool that makes the same change, for calls of the two back offices."""
    if tool == "submit_order_request":
        return CHANGES[arguments["change"]], {"order_id": arguments["order_id"], **arguments["details"]}
    if tool == "submit_account_request":
        return "modify_user_address", {"user_id": arguments["user_id"], **arguments["address"]}
    return tool, arguments
