from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from kit import learned, memory_of


def find_user(email: str) -> dict[str, str]:
    return {"user_id": "u1"}


def get_order(order_id: str) -> dict[str, str]:
    raise PermissionError("401 Unauthorized")


def list_orders(user_id: str) -> list[dict[str, str]]:
    return [{"order_id": "o1", "thread": threading.current_thread().name}]


def test_a_loop_of_plain_functions_learns_and_advises() -> None:
    memory = memory_of()
    by_name: dict[str, Any] = {f.__name__: memory.wrap(f) for f in (find_user, get_order, list_orders)}
    plan: list[tuple[str, Any]] = [("find_user", "a"), ("get_order", "o1")]
    answers: list[Any] = []
    notes: list[str] = []
    with memory.conversation("c"):
        while plan:
            name, argument = plan.pop(0)
            try:
                answers.append(by_name[name](argument))
            except PermissionError as error:
                notes += error.__notes__
                plan.append(("list_orders", "u1"))
    assert 'next: switch to list_orders {"user_id":"u1"}' in notes[-1]
    assert answers[-1][0]["order_id"] == "o1"
    assert learned(memory) == [("get_order", "auth_error", "switch", "list_orders", 1, 1, 1)]


async def test_a_sync_stand_in_of_an_awaited_function_runs_off_the_event_loop() -> None:
    async def get_order(order_id: str) -> dict[str, str]:
        raise PermissionError("401 Unauthorized")

    memory = memory_of("act")
    find, get, _ = memory.wrap(find_user), memory.wrap(get_order), memory.wrap(list_orders)
    with memory.conversation("c"):
        find("a")
        answer = await get("o1")
    assert answer["thread"] != threading.main_thread().name


def test_an_async_stand_in_is_not_offered_to_a_sync_call() -> None:
    async def list_orders(user_id: str) -> list[dict[str, str]]:
        await asyncio.sleep(0)
        return []

    memory = memory_of("act")
    find, get, _ = memory.wrap(find_user), memory.wrap(get_order), memory.wrap(list_orders)
    with memory.conversation("c"):
        find("a")
        with pytest.raises(PermissionError):
            get("o1")
