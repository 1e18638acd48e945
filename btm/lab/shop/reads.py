"""The shop's reads. Most come in twos: the same data in another shape, found by another key."""

from __future__ import annotations

from btm.lab.shop.data import Record
from btm.lab.shop.state import InvalidArgumentError, NotFoundError, Shop


def find_user_by_email(shop: Shop, email: str) -> Record:
    """Find a user's id by e-mail address."""
    for user in shop.database["users"].values():
        if user["email"].lower() == email.lower():
            return {"user_id": user["user_id"], "as_of": shop.as_of()}
    raise NotFoundError(f"No user has the e-mail address {email!r}")


def find_user_by_name_zip(shop: Shop, first_name: str, last_name: str, zip: str) -> Record:  # noqa: A002
    """Find a user's id by first name, last name and zip code."""
    wanted = (first_name.lower(), last_name.lower(), zip)
    for user in shop.database["users"].values():
        if (user["first_name"].lower(), user["last_name"].lower(), user["address"]["zip"]) == wanted:
            return {"user_id": user["user_id"], "as_of": shop.as_of()}
    raise NotFoundError(f"No user is called {first_name} {last_name} in {zip!r}")


def search_customers(shop: Shop, query: str) -> Record:
    """Search customers by words from their user id, name, e-mail address or zip code; every word must fit.

    Gives whole accounts.
    """
    words = query.lower().split()
    if not words:
        raise InvalidArgumentError("query is empty")
    users = [user for user in shop.database["users"].values() if all(word in _card(user) for word in words)]
    return {"query": query, "count": len(users), "customers": shop.views(users), "as_of": shop.as_of()}


def _card(user: Record) -> set[str]:
    texts = (user["user_id"], user["first_name"], user["last_name"], user["email"], user["address"]["zip"])
    return {text.lower() for text in texts}


def get_user(shop: Shop, user_id: str) -> Record:
    """Get a user's account: name, e-mail, address, payment methods and store credit."""
    return shop.view(shop.user(user_id))


def get_order(shop: Shop, order_id: str) -> Record:
    """Get one order: status, items, total, address, tracking number and refunds."""
    return shop.view(shop.order(order_id))


def list_user_orders(shop: Shop, user_id: str) -> Record:
    """List all orders of a user with their details."""
    shop.user(user_id)
    return {"user_id": user_id, "orders": shop.views(shop.orders_of(user_id)), "as_of": shop.as_of()}


def search_orders(shop: Shop, customer: str) -> Record:
    """Search the order archive by a customer's user id or e-mail address; the orders come sorted by status."""
    user_id = (
        find_user_by_email(shop, customer)["user_id"] if "@" in customer else shop.user(customer)["user_id"]
    )
    by_status: dict[str, list[Record]] = {}
    for order in shop.orders_of(user_id):
        by_status.setdefault(order["status"], []).append(shop.view(order))
    return {"customer": customer, "by_status": by_status, "as_of": shop.as_of()}


def track_shipment(shop: Shop, order_id: str) -> Record:
    """Track an order's parcel: status, tracking number and where it goes. Knows nothing of items or money."""
    order = shop.order(order_id)
    return {
        "order_id": order_id,
        "status": order["status"],
        "tracking": order["tracking"],
        "destination": order["address"]["city"],
        "as_of": shop.as_of(),
    }


def get_product(shop: Shop, product_id: str) -> Record:
    """Get one product: name, category, price and stock."""
    return shop.view(shop.product(product_id))


def search_products(shop: Shop, product_name: str) -> Record:
    """Search products by a part of their name."""
    products = shop.database["products"].values()
    hits = [p for p in products if product_name.lower() in p["product_name"].lower()]
    return {"product_name": product_name, "matches": shop.views(hits), "as_of": shop.as_of()}


def list_catalog(shop: Shop) -> Record:
    """List the whole catalogue by category. Long; for when a single look-up is not enough."""
    shelves: dict[str, list[Record]] = {}
    for product in shop.database["products"].values():
        shelves.setdefault(product["category"], []).append(shop.view(product))
    return {"shelves": shelves, "as_of": shop.as_of()}
