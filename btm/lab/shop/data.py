"""The shop's database: users, products and orders, from the small tables in ``database.yaml``."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import orjson
import yaml

Record = dict[str, Any]
Database = dict[str, dict[str, Record]]
"""``users``, ``products`` and ``orders``, each a mapping of records by id."""

_TABLES: dict[str, str] = yaml.safe_load((files("btm.lab.shop") / "database.yaml").read_text("utf-8"))


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in _TABLES[table].splitlines()]


def _address(text: str) -> Record:
    street, city, zip_code = (part.strip() for part in text.split(","))
    return {"street": street, "city": city, "zip": zip_code}


def _users() -> dict[str, Record]:
    users = {}
    addresses = dict(_rows("addresses"))
    for user_id, name, email, payments, credit in _rows("users"):
        first, last = name.split()
        users[user_id] = {
            "user_id": user_id,
            "first_name": first,
            "last_name": last,
            "email": email,
            "address": _address(addresses[user_id]),
            "payment_methods": payments.split(),
            "store_credit": float(credit),
        }
    return users


def _products() -> dict[str, Record]:
    return {
        product_id: {
            "product_id": product_id,
            "product_name": name,
            "category": category,
            "price": float(price),
            "stock": int(stock),
        }
        for product_id, name, category, price, stock in _rows("products")
    }


def _orders(users: dict[str, Record], products: dict[str, Record]) -> dict[str, Record]:
    orders = {}
    for order_id, user_id, status, placed_on, paid_with, content in _rows("orders"):
        lines = [part.split(" x") for part in content.split(", ")]
        items = [order_line(products[product_id], int(quantity)) for product_id, quantity in lines]
        sent = status in ("shipped", "delivered")
        orders[order_id] = new_order(
            order_id, users[user_id], items, status=status, placed_on=placed_on, paid_with=paid_with
        )
        orders[order_id]["tracking"] = f"TRK-{order_id[1:]}-{user_id[-3:]}" if sent else None
    return orders


def order_line(product: Record, quantity: int) -> Record:
    """Return the line of an order for ``quantity`` pieces of a product at today's price."""
    return {
        "product_id": product["product_id"],
        "product_name": product["product_name"],
        "quantity": quantity,
        "price": product["price"],
    }


def new_order(
    order_id: str, user: Record, items: list[Record], *, status: str, placed_on: str, paid_with: str
) -> Record:
    """Return the record of an order that goes to the user's address."""
    return {
        "order_id": order_id,
        "user_id": user["user_id"],
        "status": status,
        "placed_on": placed_on,
        "items": items,
        "total": round(sum(line["price"] * line["quantity"] for line in items), 2),
        "paid_with": paid_with,
        "address": dict(user["address"]),
        "tracking": None,
        "cancel_reason": None,
        "refunds": [],
        "refunded": 0.0,
    }


def _build() -> bytes:
    users, products = _users(), _products()
    return orjson.dumps({"users": users, "products": products, "orders": _orders(users, products)})


_DATABASE = _build()


def fresh() -> Database:
    """Return a new copy of the database, which the caller may change."""
    database: Database = orjson.loads(_DATABASE)
    return database
