"""The shop's database: users, products and orders, from three small tables.

Every call of ``fresh`` gives the same database. Money is in euros, dates are ISO dates.
"""

from __future__ import annotations

from typing import Any

import orjson

Record = dict[str, Any]
Database = dict[str, dict[str, Record]]
"""``users``, ``products`` and ``orders``, each a mapping of records by id."""

# user_id | first name, last name | email | payment methods | store credit
# Two Ava Stones and three Novaks: a name alone does not name a user.
_USERS = """
ava_stone_114    | Ava Stone    | ava.stone@mailbox.example   | card_4471 credit_1140 | 25.00
ava_stone_802    | Ava Stone    | a.stone@postoffice.example  | card_9023             | 0.00
ben_novak_207    | Ben Novak    | ben.novak@mailbox.example   | card_1188 paypal_2070 | 0.00
mira_novak_551   | Mira Novak   | mira@novak.example          | paypal_5510           | 12.50
jonas_novak_309  | Jonas Novak  | jonas.n@mailbox.example     | card_3090 credit_3091 | 8.00
lena_fischer_620 | Lena Fischer | lena.fischer@inbox.example  | card_6205             | 0.00
omar_haddad_433  | Omar Haddad  | omar.haddad@inbox.example   | paypal_4331 card_4339 | 40.00
priya_raman_745  | Priya Raman  | priya.raman@mailbox.example | card_7450             | 0.00
tom_okafor_918   | Tom Okafor   | tom@okafor.example          | card_9180 paypal_9181 | 5.00
sofia_lund_276   | Sofia Lund   | sofia.lund@inbox.example    | credit_2760           | 90.00
kenji_mori_682   | Kenji Mori   | kenji.mori@mailbox.example  | card_6821             | 0.00
clara_weiss_390  | Clara Weiss  | c.weiss@postoffice.example  | paypal_3900 card_3903 | 15.00
"""

# user_id | street, city, zip
_ADDRESSES = """
ava_stone_114    | 12 Mill Lane, Brookfield, 40213
ava_stone_802    | 77 Harbour Road, Eastport, 51877
ben_novak_207    | 5 Orchard Street, Lindenau, 60391
mira_novak_551   | 5 Orchard Street, Lindenau, 60391
jonas_novak_309  | 31 Station Square, Graytown, 73005
lena_fischer_620 | 9 Castle Hill, Brookfield, 40217
omar_haddad_433  | 210 Canal Street, Eastport, 51870
priya_raman_745  | 18 Fern Court, Graytown, 73011
tom_okafor_918   | 63 Quarry Road, Westham, 88120
sofia_lund_276   | 4 Lighthouse Way, Eastport, 51902
kenji_mori_682   | 140 Birch Avenue, Westham, 88134
clara_weiss_390  | 27 Vineyard Lane, Lindenau, 60377
"""

# product_id | name | category | price | stock
_PRODUCTS = """
P-301 | Trail Lantern      | camping | 39.90  | 18
P-302 | Two-Person Tent    | camping | 189.00 | 4
P-303 | Folding Stove      | camping | 54.50  | 11
P-304 | Wool Blanket       | camping | 62.00  | 0
P-411 | Pour-Over Kettle   | kitchen | 74.25  | 9
P-412 | Cast Iron Pan      | kitchen | 48.00  | 22
P-413 | Bread Knife        | kitchen | 29.95  | 31
P-414 | Oak Cutting Board  | kitchen | 34.00  | 7
P-521 | Desk Lamp          | office  | 45.80  | 14
P-522 | Standing Mat       | office  | 68.00  | 6
P-523 | Notebook Set       | office  | 16.40  | 120
P-524 | Monitor Arm        | office  | 99.00  | 3
P-631 | Rain Jacket        | outdoor | 129.00 | 10
P-632 | Hiking Socks       | outdoor | 14.20  | 85
P-633 | Daypack            | outdoor | 84.60  | 12
"""

# order_id | user_id | status | placed on | paid with | product x quantity, ...
_ORDERS = """
S1001 | ava_stone_114    | pending   | 2025-12-28 | card_4471   | P-301 x1, P-632 x2
S1002 | ava_stone_114    | delivered | 2025-12-02 | card_4471   | P-412 x1, P-413 x1
S1003 | ava_stone_114    | shipped   | 2025-12-22 | credit_1140 | P-523 x3
S1004 | ava_stone_802    | delivered | 2025-11-19 | card_9023   | P-631 x1
S1005 | ava_stone_802    | pending   | 2025-12-30 | card_9023   | P-633 x1
S1006 | ben_novak_207    | pending   | 2025-12-29 | paypal_2070 | P-302 x1
S1007 | ben_novak_207    | delivered | 2025-12-05 | card_1188   | P-411 x1, P-414 x2
S1008 | ben_novak_207    | pending   | 2025-12-27 | card_1188   | P-521 x1
S1009 | mira_novak_551   | delivered | 2025-12-11 | paypal_5510 | P-304 x1, P-632 x4
S1010 | mira_novak_551   | pending   | 2025-12-30 | paypal_5510 | P-522 x1
S1011 | jonas_novak_309  | shipped   | 2025-12-20 | card_3090   | P-524 x1
S1012 | jonas_novak_309  | pending   | 2025-12-31 | credit_3091 | P-413 x2, P-414 x1
S1013 | jonas_novak_309  | delivered | 2025-10-30 | card_3090   | P-303 x1
S1014 | lena_fischer_620 | pending   | 2025-12-26 | card_6205   | P-631 x1, P-633 x1
S1015 | lena_fischer_620 | delivered | 2025-12-01 | card_6205   | P-523 x2, P-521 x1
S1016 | lena_fischer_620 | cancelled | 2025-11-08 | card_6205   | P-302 x1
S1017 | omar_haddad_433  | pending   | 2025-12-29 | paypal_4331 | P-412 x2
S1018 | omar_haddad_433  | delivered | 2025-12-09 | card_4339   | P-301 x2, P-303 x1
S1019 | omar_haddad_433  | shipped   | 2025-12-23 | card_4339   | P-522 x1
S1020 | priya_raman_745  | pending   | 2025-12-30 | card_7450   | P-411 x1
S1021 | priya_raman_745  | delivered | 2025-12-12 | card_7450   | P-524 x2
S1022 | tom_okafor_918   | delivered | 2025-11-27 | card_9180   | P-302 x1, P-301 x1
S1023 | tom_okafor_918   | pending   | 2025-12-31 | paypal_9181 | P-632 x6
S1024 | tom_okafor_918   | pending   | 2025-12-25 | card_9180   | P-521 x2
S1025 | sofia_lund_276   | delivered | 2025-12-14 | credit_2760 | P-631 x1, P-632 x2
S1026 | sofia_lund_276   | pending   | 2025-12-28 | credit_2760 | P-414 x1, P-413 x1
S1027 | kenji_mori_682   | pending   | 2025-12-29 | card_6821   | P-523 x10
S1028 | kenji_mori_682   | delivered | 2025-12-03 | card_6821   | P-411 x1
S1029 | kenji_mori_682   | shipped   | 2025-12-21 | card_6821   | P-633 x1
S1030 | clara_weiss_390  | delivered | 2025-12-08 | paypal_3900 | P-522 x1, P-521 x1
S1031 | clara_weiss_390  | pending   | 2025-12-30 | card_3903   | P-303 x1, P-301 x1
S1032 | clara_weiss_390  | delivered | 2025-10-17 | paypal_3900 | P-412 x1
"""


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


def _address(text: str) -> Record:
    street, city, zip_code = (part.strip() for part in text.split(","))
    return {"street": street, "city": city, "zip": zip_code}


def _users() -> dict[str, Record]:
    users = {}
    addresses = dict(_rows(_ADDRESSES))
    for user_id, name, email, payments, credit in _rows(_USERS):
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
        for product_id, name, category, price, stock in _rows(_PRODUCTS)
    }


def _orders(users: dict[str, Record], products: dict[str, Record]) -> dict[str, Record]:
    orders = {}
    for order_id, user_id, status, placed_on, paid_with, content in _rows(_ORDERS):
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
