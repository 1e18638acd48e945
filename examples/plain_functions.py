"""Plain Python functions: a failed call raises the function's own exception, with the advice as a note on it."""

from __future__ import annotations

import orders

from btm import ToolMemory

with ToolMemory.open(fallback_map=orders.MAP, mode="advise") as memory, memory.conversation("example"):
    find_user = memory.wrap(orders.find_user)
    get_order = memory.wrap(orders.get_order)
    list_orders = memory.wrap(orders.list_orders)

    user = find_user("ann@example.org")
    try:
        print(get_order("o1"))
    except PermissionError as error:
        print(error)
        print("\n".join(error.__notes__))
        print(list_orders(user["user_id"]))
    print("\nWhat btm learned:")
    for key, belief in memory.beliefs():
        print(
            f"  after {key.kind} of {key.tool}, {key.action} {key.target}: {belief.mean:.2f} (n={belief.n:.0f})"
        )

# No model is needed here. A model's loop calls such functions by name: see chat_completions_loop.py.
