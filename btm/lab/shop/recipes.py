"""How the shop's people solve each sort of request: the gold calls, and what must be seen before a change.

An account or an order is changed only after the user has been found by what they said of themselves, and
before the record itself has shown that the change is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from btm.lab.jsonvalue import Path
from btm.lab.script import Gold
from btm.lab.shop.data import Database

FOUND: tuple[int, Path] = (0, ("user_id",))
"""Every recipe but the questions about products begins with finding the user."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The gold calls of one request. ``facts`` and ``said`` are what the user says beyond who they are.

    ``facts`` go by argument name, so that an agent can use them with another tool; ``said`` are the remaining
    values. ``asks`` are the questions: the answer stands at these places of the results.
    """

    calls: tuple[Gold, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    said: tuple[Any, ...] = ()
    asks: tuple[tuple[int, Path], ...] = ()


class Recipes:
    """Recipes for one user. ``by`` is how the user is found: ``"email"`` or ``"name"``."""

    def __init__(self, database: Database, user_id: str, by: str) -> None:
        self._db = database
        self._id = user_id
        user = database["users"][user_id]
        self.facts = {
            "first_name": user["first_name"],
            "last_name": user["last_name"],
            "zip": user["address"]["zip"],
            "email": user["email"],
        }
        if by == "email":
            self._find = Gold("find_user_by_email", {"email": user["email"]})
        else:
            names = {key: self.facts[key] for key in ("first_name", "last_name", "zip")}
            self._find = Gold("find_user_by_name_zip", names)
        self._account = Gold("get_user", {"user_id": user_id})
        self._listing = Gold("list_user_orders", {"user_id": user_id})

    def _in_list(self, order_id: str) -> Path:
        mine = [o["order_id"] for o in self._db["orders"].values() if o["user_id"] == self._id]
        return ("orders", mine.index(order_id))

    def cancel(self, order_id: str, reason: str) -> Recipe:
        """The user names the order."""
        look = Gold("get_order", {"order_id": order_id})
        ready = (FOUND, (1, ("user_id",)), (1, ("status",)))
        cancel = Gold("cancel_order", {"order_id": order_id, "reason": reason}, ready)
        return Recipe((self._find, look, cancel), {"order_id": order_id}, (reason,))

    def cancel_found(self, order_id: str, reason: str) -> Recipe:
        """The user describes the order; it has to be found among theirs."""
        ready = (FOUND, (1, (*self._in_list(order_id), "status")))
        cancel = Gold("cancel_order", {"order_id": order_id, "reason": reason}, ready)
        return Recipe((self._find, self._listing, cancel), said=(reason,))

    def readdress(self, order_id: str, street: str, city: str, zip_code: str) -> Recipe:
        """The user describes the order and gives the new address."""
        ready = (FOUND, (1, (*self._in_list(order_id), "status")))
        arguments = {"order_id": order_id, "street": street, "city": city, "zip": zip_code}
        change = Gold("change_shipping_address", arguments, ready)
        return Recipe((self._find, self._listing, change), said=(street, city, zip_code))

    def refund(self, order_id: str, reason: str, *products: str) -> Recipe:
        """The price of one piece of each of these products is paid back; the amounts stand in the order."""
        look = Gold("get_order", {"order_id": order_id})
        ready = (FOUND, (1, ("user_id",)), (1, ("status",)))
        order = self._db["orders"][order_id]
        prices = {line["product_id"]: line["price"] for line in order["items"]}
        pay = tuple(
            Gold("issue_refund", {"order_id": order_id, "amount": prices[p], "reason": reason}, ready)
            for p in products
        )
        return Recipe((self._find, look, *pay), {"order_id": order_id}, (reason,))

    def buy(self, product_name: str, quantity: int, payment_method: str) -> Recipe:
        """The user names the product; the payment method stands in their account."""
        *look, order = self._buying(product_name, quantity, payment_method, start=2)
        return Recipe((self._find, self._account, *look, order), {"product_name": product_name}, (quantity,))

    def swap(self, order_id: str, reason: str, product_name: str, quantity: int) -> Recipe:
        """An order is cancelled and another product is bought with the same payment method."""
        first = self.cancel(order_id, reason)
        paid_with = self._db["orders"][order_id]["paid_with"]
        buying = self._buying(product_name, quantity, paid_with, start=3)
        facts = {**first.facts, "product_name": product_name}
        return Recipe((*first.calls, *buying), facts, (reason, quantity))

    def _buying(self, product_name: str, quantity: int, payment_method: str, start: int) -> tuple[Gold, ...]:
        product_id = next(
            p["product_id"] for p in self._db["products"].values() if p["product_name"] == product_name
        )
        search = Gold("search_products", {"product_name": product_name})
        look = Gold("get_product", {"product_id": product_id})
        arguments = {
            "user_id": self._id,
            "product_id": product_id,
            "quantity": quantity,
            "payment_method": payment_method,
        }
        return search, look, Gold("place_order", arguments, (FOUND, (start + 1, ("price",))))

    def new_email(self, email: str) -> Recipe:
        """The account's e-mail address is changed once the account has been looked at."""
        change = Gold("update_email", {"user_id": self._id, "new_email": email}, (FOUND, (1, ("email",))))
        return Recipe((self._find, self._account, change), said=(email,))

    def where(self, order_id: str) -> Recipe:
        """A question: where is the parcel?"""
        track = Gold("track_shipment", {"order_id": order_id}, (FOUND,))
        return Recipe(
            (self._find, track), {"order_id": order_id}, asks=((1, ("status",)), (1, ("tracking",)))
        )

    def credit(self) -> Recipe:
        """A question: how much store credit is left?"""
        return Recipe((self._find, self._account), asks=((1, ("store_credit",)),))

    def total(self, order_id: str) -> Recipe:
        """A question: what did the order cost?"""
        look = Gold("get_order", {"order_id": order_id}, (FOUND,))
        return Recipe((self._find, look), {"order_id": order_id}, asks=((1, ("total",)),))

    def price(self, product_name: str) -> Recipe:
        """A question that needs no account: what does a product cost, and is it there?"""
        search, look, _ = self._buying(product_name, 1, "", start=0)
        return Recipe((search, look), {"product_name": product_name}, asks=((1, ("price",)), (1, ("stock",))))
