"""The tools of the examples: a shop whose order service is down, and whose order list is not."""

from __future__ import annotations

from typing import Any

from btm import FallbackMap

ORDERS = [{"order_id": "o1", "user_id": "u1", "status": "shipped", "total": 40.0}]

MAP = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  get_order:
    effect: read
    fallbacks:
      - tool: list_orders
        coverage: full
        arguments: {user_id: "{{ known.user_id }}"}
        pick: "result | selectattr('order_id', 'eq', call.order_id) | first"
  list_orders: {effect: read}
  find_user: {effect: read}
""")


def find_user(email: str) -> dict[str, Any]:
    """Find a user by e-mail address."""
    return {"user_id": "u1", "email": email}


def get_order(order_id: str) -> dict[str, Any]:
    """Look up one order."""
    raise PermissionError(f"401 Unauthorized: the token for orders/{order_id} was revoked")


def list_orders(user_id: str) -> list[dict[str, Any]]:
    """List the orders of a user."""
    return [order for order in ORDERS if order["user_id"] == user_id]


PLAN: list[tuple[str, dict[str, Any]]] = [
    ("find_user", {"email": "ann@example.org"}),
    ("get_order", {"order_id": "o1"}),
]
REQUEST = "Where is my order o1? I am ann@example.org."
