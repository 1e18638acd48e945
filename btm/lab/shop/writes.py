"""The shop's writes. Each checks its preconditions before it touches anything, and logs what it changed."""

from __future__ import annotations

from btm.lab.shop.data import Record, new_order, order_line
from btm.lab.shop.state import InvalidArgumentError, RefusedError, Shop

CANCEL_REASONS = ("no longer needed", "ordered by mistake")


def cancel_order(shop: Shop, order_id: str, reason: str) -> Record:
    """Cancel a pending order and pay it back. The reason is 'no longer needed' or 'ordered by mistake'."""
    return shop.view(_cancel(shop, "cancel_order", order_id, reason))


def submit_cancellation_form(shop: Shop, order_number: str, reason: str) -> Record:
    """Cancel a pending order through the web form: same rules and reasons as cancel_order, another desk."""
    order = _cancel(shop, "submit_cancellation_form", order_number, reason)
    receipt = {"order_number": order_number, "new_status": order["status"], "paid_back": order["refunded"]}
    return {"form": "cancellation", "accepted": True, "receipt": receipt, "as_of": shop.as_of()}


def _cancel(shop: Shop, tool: str, order_id: str, reason: str) -> Record:
    order = shop.order(order_id)
    if reason not in CANCEL_REASONS:
        raise InvalidArgumentError(f"reason must be one of {', '.join(CANCEL_REASONS)}")
    if order["status"] != "pending":
        raise RefusedError(f"Order {order_id} cannot be cancelled: it is {order['status']}")
    order["status"] = "cancelled"
    order["cancel_reason"] = reason
    _pay_back(shop, order, order["total"], "cancelled")
    shop.log(tool, {"order_id": order_id, "reason": reason}, f"cancel {order_id}")
    return order


def _pay_back(shop: Shop, order: Record, amount: float, reason: str) -> None:
    order["refunds"].append({"amount": amount, "reason": reason, "to": order["paid_with"]})
    order["refunded"] = round(order["refunded"] + amount, 2)
    if order["paid_with"].startswith("credit_"):
        user = shop.user(order["user_id"])
        user["store_credit"] = round(user["store_credit"] + amount, 2)


def issue_refund(shop: Shop, order_id: str, amount: float, reason: str) -> Record:
    """Pay back a part of a delivered order at once. It cannot be undone; each call pays again."""
    order = shop.order(order_id)
    if order["status"] != "delivered":
        raise RefusedError(f"Order {order_id} cannot be refunded: it is {order['status']}")
    if amount <= 0:
        raise InvalidArgumentError("amount must be positive")
    left = round(order["total"] - order["refunded"], 2)
    if amount > left:
        raise RefusedError(f"Order {order_id} cannot be refunded by {amount:.2f}: {left:.2f} of it is left")
    _pay_back(shop, order, amount, reason)
    arguments = {"order_id": order_id, "amount": amount, "reason": reason}
    shop.log("issue_refund", arguments, f"refund {order_id} {amount:.2f} {reason}")
    return shop.view(order)


def change_shipping_address(shop: Shop, order_id: str, street: str, city: str, zip: str) -> Record:  # noqa: A002
    """Send a pending order to another address."""
    order = shop.order(order_id)
    if order["status"] != "pending":
        raise RefusedError(f"The address of order {order_id} cannot be changed: it is {order['status']}")
    address = {"street": street, "city": city, "zip": zip}
    if order["address"] != address:
        order["address"] = address
        arguments = {"order_id": order_id, **address}
        shop.log("change_shipping_address", arguments, f"address {order_id} {street}, {city}, {zip}")
    return shop.view(order)


def update_email(shop: Shop, user_id: str, new_email: str) -> Record:
    """Change the e-mail address of a user's account."""
    user = shop.user(user_id)
    if "@" not in new_email:
        raise InvalidArgumentError(f"{new_email!r} is no e-mail address")
    if any(u["email"].lower() == new_email.lower() for u in shop.database["users"].values() if u is not user):
        raise RefusedError("Another account uses this e-mail address")
    if user["email"] != new_email:
        user["email"] = new_email
        shop.log("update_email", {"user_id": user_id, "new_email": new_email}, f"email {user_id} {new_email}")
    return shop.view(user)


def place_order(shop: Shop, user_id: str, product_id: str, quantity: int, payment_method: str) -> Record:
    """Order a product for a user and charge the payment method. Each call places another order."""
    user, product = shop.user(user_id), shop.product(product_id)
    if quantity < 1:
        raise InvalidArgumentError("quantity must be at least 1")
    if payment_method not in user["payment_methods"]:
        raise RefusedError(f"{payment_method!r} is no payment method of {user_id}")
    if product["stock"] < quantity:
        raise RefusedError(f"{product['product_name']}: only {product['stock']} in stock")
    line = order_line(product, quantity)
    total = round(line["price"] * quantity, 2)
    if payment_method.startswith("credit_"):
        if user["store_credit"] < total:
            raise RefusedError(f"{total:.2f} is more than the store credit of {user['store_credit']:.2f}")
        user["store_credit"] = round(user["store_credit"] - total, 2)
    product["stock"] -= quantity
    orders = shop.database["orders"]
    order_id = f"S{1 + max(int(known[1:]) for known in orders)}"
    today = shop.as_of()[:10]
    orders[order_id] = new_order(
        order_id, user, [line], status="pending", placed_on=today, paid_with=payment_method
    )
    arguments = {
        "user_id": user_id,
        "product_id": product_id,
        "quantity": quantity,
        "payment_method": payment_method,
    }
    shop.log("place_order", arguments, f"order {user_id} {product_id} x{quantity}")
    return shop.view(orders[order_id])
