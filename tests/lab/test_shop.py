"""The built-in shop: its rules, its tasks, and that its map tells the truth about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from btm.fallback import FallbackMap
from btm.lab.agent import solved
from btm.lab.decisive import decisive_tools, done, dry_run
from btm.lab.environment import SIMULATED_NOW, Task, double_writes
from btm.lab.jsonvalue import ABSENT, leaves
from btm.lab.shop import (
    InvalidArgumentError,
    NotFoundError,
    RefusedError,
    ShopEnvironment,
    ShopSession,
)
from btm.lab.shop.data import fresh
from btm.lab.shop.recipes import Recipes
from btm.model import Effect, ToolCall

SHOP = ShopEnvironment()
MAP = FallbackMap.load("shop")
DATA = fresh()
USERS, ORDERS, PRODUCTS = (list(DATA[table].values()) for table in ("users", "orders", "products"))
WRITES = [(task, n) for task in SHOP.tasks for n, s in enumerate(task.steps) if s.effect is Effect.WRITE]


@pytest.fixture
def shop() -> ShopSession:
    return ShopSession()


# Tasks


@pytest.mark.parametrize("task", SHOP.tasks, ids=lambda t: t.task_id)
def test_a_run_without_faults_solves_the_task(task: Task) -> None:
    run, session = dry_run(SHOP, task)
    assert solved(task, session.digest(), run)
    assert done(task, session.writes, run)
    assert double_writes(task, session.writes) == 0


def test_there_are_tasks_enough_and_each_has_a_request_and_an_end_of_its_own() -> None:
    assert len(SHOP.tasks) >= 36
    assert len({task.request for task in SHOP.tasks}) == len(SHOP.tasks)
    changing = [task for task in SHOP.tasks if task.changes]
    assert all(task.goal != ShopSession().digest() for task in changing)
    assert all(task.answers for task in SHOP.tasks if not task.changes)


@pytest.mark.parametrize("task", SHOP.tasks, ids=lambda t: t.task_id)
def test_every_tool_of_a_script_is_needed_for_it(task: Task) -> None:
    assert set(decisive_tools(SHOP, task)) == {step.tool for step in task.steps}


def test_requests_say_what_the_script_takes_for_given() -> None:
    for task in SHOP.tasks:
        said = task.request.lower()
        first = task.steps[0].arguments
        told = [*first.values(), *(v for k, v in task.facts.items() if k == "order_id")]
        assert all(str(value).lower() in said for value in told), task.task_id


def test_two_builds_give_the_same_tasks() -> None:
    from btm.lab.shop.environment import build_tasks

    assert build_tasks.__wrapped__() == SHOP.tasks


# Rules


def test_an_order_is_cancelled_once(shop: ShopSession) -> None:
    shop.call("cancel_order", {"order_id": "S1001", "reason": "no longer needed"})
    with pytest.raises(RefusedError, match="it is cancelled"):
        shop.call("submit_cancellation_form", {"order_number": "S1001", "reason": "no longer needed"})
    assert len(shop.writes) == 1


def test_both_ways_to_cancel_are_the_same_change(shop: ShopSession) -> None:
    other = ShopSession()
    shop.call("cancel_order", {"order_id": "S1012", "reason": "no longer needed"})
    other.call("submit_cancellation_form", {"order_number": "S1012", "reason": "no longer needed"})
    assert shop.digest() == other.digest()
    assert shop.writes[0].change == other.writes[0].change


def test_a_double_refund_pays_twice_and_shows(shop: ShopSession) -> None:
    task = next(t for t in SHOP.tasks if t.changes == ("refund S1002 29.95 damaged",))
    refund = task.steps[-1]
    for _ in range(2):
        shop.call(refund.tool, refund.arguments)
    assert shop.digest() != task.goal
    assert double_writes(task, shop.writes) == 1
    assert shop.call("get_order", {"order_id": "S1002"})["refunded"] == pytest.approx(59.9)


def test_no_more_is_refunded_than_was_paid(shop: ShopSession) -> None:
    arguments = {"order_id": "S1004", "amount": 80.0, "reason": "damaged"}
    shop.call("issue_refund", arguments)
    with pytest.raises(RefusedError, match=r"49\.00 of it is left"):
        shop.call("issue_refund", arguments)


def test_a_double_order_shows(shop: ShopSession) -> None:
    task = next(t for t in SHOP.tasks if t.steps[-1].tool == "place_order")
    for _ in range(2):
        shop.call("place_order", task.steps[-1].arguments)
    assert shop.digest() != task.goal
    assert double_writes(task, shop.writes) == 1


def test_a_repeated_idempotent_write_changes_nothing(shop: ShopSession) -> None:
    arguments = {"order_id": "S1001", "street": "1 A", "city": "B", "zip": "2"}
    shop.call("change_shipping_address", arguments)
    before = shop.digest()
    shop.call("change_shipping_address", arguments)
    assert shop.digest() == before
    assert len(shop.writes) == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("get_order", {"order_id": "S9"}, NotFoundError),
        ("get_order", {}, InvalidArgumentError),
        ("get_order", {"order_id": 5}, InvalidArgumentError),
        ("cancel_order", {"order_id": "S1003", "reason": "no longer needed"}, RefusedError),
        ("cancel_order", {"order_id": "S1001", "reason": "bored"}, InvalidArgumentError),
        ("issue_refund", {"order_id": "S1001", "amount": 1, "reason": "x"}, RefusedError),
        ("issue_refund", {"order_id": "S1002", "amount": -1, "reason": "x"}, InvalidArgumentError),
        ("change_shipping_address", {"order_id": "S1002", "street": "", "city": "", "zip": ""}, RefusedError),
        ("update_email", {"user_id": "mira_novak_551", "new_email": "none"}, InvalidArgumentError),
        ("update_email", {"user_id": "mira_novak_551", "new_email": "tom@okafor.example"}, RefusedError),
        (
            "place_order",
            {
                "user_id": "mira_novak_551",
                "product_id": "P-304",
                "quantity": 1,
                "payment_method": "paypal_5510",
            },
            RefusedError,
        ),
        (
            "place_order",
            {"user_id": "mira_novak_551", "product_id": "P-301", "quantity": 1, "payment_method": "card_1"},
            RefusedError,
        ),
        ("search_customers", {"query": " "}, InvalidArgumentError),
        ("no_such_tool", {}, LookupError),
    ],
)
def test_what_the_rules_refuse_changes_nothing(
    shop: ShopSession, tool: str, arguments: dict[str, Any], error: type[Exception]
) -> None:
    before = shop.digest()
    with pytest.raises(error):
        shop.call(tool, arguments)
    assert shop.digest() == before
    assert shop.writes == []


def test_results_are_dated_by_the_clock_and_cannot_spoil_the_shop() -> None:
    now = [SIMULATED_NOW]
    shop = SHOP.open(SHOP.tasks[0], clock=lambda: now[0])
    before = shop.digest()
    order = shop.call("get_order", {"order_id": "S1001"})
    assert order["as_of"] == "2026-01-01T00:00:00Z"
    order["items"].clear()
    assert shop.digest() == before
    now[0] += 90
    assert shop.call("get_order", {"order_id": "S1001"})["as_of"] == "2026-01-01T00:01:30Z"


def test_the_day_of_an_order_does_not_change_the_verdict() -> None:
    task = next(t for t in SHOP.tasks if t.steps[-1].tool == "place_order")
    later = SHOP.open(task, clock=lambda: SIMULATED_NOW + 5 * 86_400)
    later.call("place_order", task.steps[-1].arguments)
    assert later.digest() == task.goal


# The map


def test_the_map_covers_every_tool_with_the_right_effect_and_arguments() -> None:
    assert set(MAP.tools) == set(SHOP.tools)
    for name, spec in SHOP.tools.items():
        assert MAP.effect(name) is spec.effect, name
        assert MAP.tools[name].argument_names == tuple(spec.parameters["required"]), name


def test_every_read_of_a_script_and_every_write_can_be_got_round_or_checked() -> None:
    for task in SHOP.tasks:
        for step in task.steps:
            if step.effect is Effect.READ:
                assert MAP.substitutes(step.tool), step.tool
            else:
                assert MAP.tools[step.tool].verify is not None, step.tool
            assert MAP.repair_tools(step.tool) == {"refresh_session"}


READS: list[tuple[str, Callable[[Mapping[str, Any]], Mapping[str, Any]], list[Any]]] = [
    ("find_user_by_email", lambda u: {"email": u["email"]}, USERS),
    (
        "find_user_by_name_zip",
        lambda u: {"first_name": u["first_name"], "last_name": u["last_name"], "zip": u["address"]["zip"]},
        USERS,
    ),
    ("get_user", lambda u: {"user_id": u["user_id"]}, USERS),
    ("get_order", lambda o: {"order_id": o["order_id"]}, ORDERS),
    ("track_shipment", lambda o: {"order_id": o["order_id"]}, ORDERS),
    ("list_user_orders", lambda u: {"user_id": u["user_id"]}, USERS),
    ("search_orders", lambda u: {"customer": u["user_id"]}, USERS),
    ("get_product", lambda p: {"product_id": p["product_id"]}, PRODUCTS),
    ("search_products", lambda p: {"product_name": p["product_name"]}, PRODUCTS),
]

CHECKED = [read for read in READS if MAP.tools[read[0]].cross_check is not None]
WATCHED = {
    "find_user_by_email": "user_id",
    "find_user_by_name_zip": "user_id",
    "get_user": "email",
    "get_order": "status",
    "track_shipment": "status",
    "get_product": "price",
}


@pytest.mark.parametrize(("tool", "arguments", "records"), READS, ids=[r[0] for r in READS])
def test_full_coverage_is_full_on_every_record(
    tool: str, arguments: Callable[[Mapping[str, Any]], Mapping[str, Any]], records: list[Any]
) -> None:
    shop = ShopSession()
    for record in records:
        call = ToolCall(tool, arguments(record))
        wanted = shop.call(tool, call.arguments)
        known = {key: value for key, value in record.items() if isinstance(value, str)}
        known["zip"] = record.get("address", {}).get("zip")
        full = [c for c in MAP.candidates(call, None, known) if c.coverage == 1.0]
        assert full, tool
        for candidate in full:
            assert candidate.missing == (), (tool, candidate.tool)
            got = MAP.pick_all(call, candidate, [shop.call(candidate.tool, candidate.arguments)])
            if candidate.pick is not None:
                given = dict(leaves(got))
                lost = [path for path, leaf in leaves(wanted) if given.get(path, ABSENT) != leaf]
                assert not lost, (tool, candidate.tool)


@pytest.mark.parametrize(("tool", "arguments", "records"), CHECKED, ids=[r[0] for r in CHECKED])
def test_a_cross_check_agrees_on_every_record_and_sees_a_wrong_value(
    tool: str, arguments: Callable[[Mapping[str, Any]], Mapping[str, Any]], records: list[Any]
) -> None:
    shop = ShopSession()
    for record in records:
        call = ToolCall(tool, arguments(record))
        check = MAP.cross_check(call, record)
        assert check is not None
        assert check.missing == ()
        mine, other = shop.call(tool, call.arguments), shop.call(check.tool, check.arguments)
        assert MAP.compare(call, mine, other) == ()
        if (field := WATCHED.get(tool)) is not None:
            assert MAP.compare(call, {**mine, field: "something else"}, other) == (field,)


@pytest.mark.parametrize(("task", "step"), WRITES, ids=[f"{t.task_id}-{n}" for t, n in WRITES])
def test_a_check_tells_before_from_after_for_every_gold_write(task: Task, step: int) -> None:
    shop = ShopSession()
    for earlier in task.steps[:step]:
        shop.call(earlier.tool, earlier.arguments)
    call = ToolCall(task.steps[step].tool, task.steps[step].arguments, Effect.WRITE)
    check = MAP.verifier(call, {})
    assert check is not None
    assert check.missing == ()
    assert MAP.done(call, shop.call(check.tool, check.arguments)) is False
    shop.call(call.tool, call.arguments)
    assert MAP.done(call, shop.call(check.tool, check.arguments)) is True


def test_results_meet_what_the_map_expects_of_them() -> None:
    from btm.fallback.values import fields_at

    for task in SHOP.tasks:
        shop = ShopSession()
        for step in task.steps:
            result = shop.call(step.tool, step.arguments)
            expected = MAP.expectations(step.tool)
            assert expected is not None
            for path in expected.required:
                assert fields_at(result, path) is not None, (step.tool, path)


def test_the_form_stands_in_for_a_cancellation() -> None:
    shop = ShopSession()
    call = ToolCall("cancel_order", {"order_id": "S1001", "reason": "no longer needed"}, Effect.WRITE)
    (form,) = MAP.candidates(call, None, {})
    picked = MAP.pick_all(call, form, [shop.call(form.tool, form.arguments)])
    assert picked["order_id"] == "S1001"
    assert picked["status"] == "cancelled"


def test_recipes_know_the_user_they_are_for() -> None:
    recipes = Recipes(DATA, "sofia_lund_276", "name")
    assert recipes.facts["last_name"] == "Lund"
    assert recipes.credit().calls[0].tool == "find_user_by_name_zip"
