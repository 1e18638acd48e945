"""fallback_maps/telecom.yaml against tau2-bench's own telecom tools and data. Skipped where tau2 is not installed."""

from __future__ import annotations

from typing import Any

import pytest
from served import share_served
from tau2_kit import Domain

from btm.model import ToolCall

TELECOM = Domain("telecom", database="TelecomDB", tools="TelecomTools")
MAP, DB = TELECOM.map, TELECOM.db
KNOWN = [
    {
        "customer_id": c.customer_id, "phone_number": c.phone_number, "full_name": c.full_name,
        "date_of_birth": c.date_of_birth,
    }
    for c in DB.customers
]  # fmt: skip


def test_the_map_is_true_to_the_real_tools() -> None:
    TELECOM.check_against_the_real_tools()


def test_effects_are_those_that_tau2_states() -> None:
    TELECOM.check_the_effects()


CALLS = {
    "get_customer_by_phone": [(ToolCall("get_customer_by_phone", {"phone_number": k["phone_number"]}), k) for k in KNOWN],
    "get_customer_by_id": [(ToolCall("get_customer_by_id", {"customer_id": k["customer_id"]}), k) for k in KNOWN],
    "get_customer_by_name": [
        (ToolCall("get_customer_by_name", {"full_name": k["full_name"], "dob": k["date_of_birth"]}), k) for k in KNOWN
    ],
    "get_details_by_id": [
        (ToolCall("get_details_by_id", {"id": identity}), {"customer_id": owner})
        for identity, owner in [
            *((c.customer_id, c.customer_id) for c in DB.customers),
            *((b.bill_id, b.customer_id) for b in DB.bills),
            *((x, DB.customers[0].customer_id) for x in (
                *(line.line_id for line in DB.lines), *(d.device_id for d in DB.devices), *(p.plan_id for p in DB.plans)
            )),
        ]
    ],
    "get_data_usage": [
        (ToolCall("get_data_usage", {"customer_id": c.customer_id, "line_id": line}), {})
        for c in DB.customers for line in c.line_ids
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "target", "coverage"),
    [
        ("get_customer_by_phone", "get_customer_by_id", 1.0),
        ("get_customer_by_phone", "get_details_by_id", 1.0),
        ("get_customer_by_phone", "get_customer_by_name", 1.0),
        ("get_customer_by_id", "get_details_by_id", 1.0),
        ("get_customer_by_id", "get_customer_by_phone", 1.0),
        ("get_customer_by_id", "get_customer_by_name", 1.0),
        ("get_customer_by_name", "get_customer_by_id", 1.0),
        ("get_customer_by_name", "get_customer_by_phone", 1.0),
        ("get_details_by_id", "get_customer_by_id", 0.12),
        ("get_details_by_id", "get_bills_for_customer", 0.18),
        ("get_data_usage", ("get_details_by_id", "get_details_by_id"), 0.8),
        ("get_data_usage", "get_details_by_id", 0.6),
    ],
)
def test_the_stated_coverage_is_the_measured_one(
    tool: str, target: str | tuple[str, ...], coverage: float
) -> None:
    calls = CALLS[tool]
    assert share_served(MAP, calls, target, TELECOM.invoke) == pytest.approx(coverage, abs=0.005)
    stated = [c.coverage for c in MAP.candidates(calls[0][0], None, {}) if (c.via or c.tool) == target]
    assert stated == [coverage]


def test_a_cross_check_of_an_untouched_database_agrees() -> None:
    for tool in ("get_customer_by_id", "get_data_usage"):
        for call, known in CALLS[tool]:
            other = MAP.cross_check(call, known)
            assert other is not None
            assert (
                MAP.compare(
                    call, TELECOM.invoke(tool, call.arguments), TELECOM.invoke(other.tool, other.arguments)
                )
                == ()
            )


def test_a_cross_check_finds_a_changed_field() -> None:
    call, known = CALLS["get_data_usage"][0]
    other = MAP.cross_check(call, known)
    assert other is not None
    wrong = {**TELECOM.invoke("get_data_usage", call.arguments), "data_used_gb": 99.5}
    assert MAP.compare(call, wrong, TELECOM.invoke(other.tool, other.arguments)) == ("data_used_gb",)


def owner_of(line_id: str) -> str:
    return next(c.customer_id for c in DB.customers if line_id in c.line_ids)


def a_write(tool: str) -> dict[str, Any]:
    by_status = {line.status.value: line for line in reversed(DB.lines)}
    roaming = {line.roaming_enabled: line for line in reversed(DB.lines)}
    if tool == "send_payment_request":
        bill = next(b for b in DB.bills if b.status.value not in ("Awaiting Payment", "Paid"))
        return {"customer_id": bill.customer_id, "bill_id": bill.bill_id}
    line = {
        "suspend_line": by_status["Active"], "resume_line": by_status.get("Suspended"),
        "enable_roaming": roaming.get(False), "disable_roaming": roaming.get(True),
    }[tool]  # fmt: skip
    assert line is not None
    more = {"reason": "lost"} if tool == "suspend_line" else {}
    return {"customer_id": owner_of(line.line_id), "line_id": line.line_id, **more}


WRITES = ["suspend_line", "resume_line", "send_payment_request", "enable_roaming", "disable_roaming"]


@pytest.mark.parametrize("tool", WRITES)
def test_a_write_is_seen_not_done_before_and_done_after(tool: str) -> None:
    TELECOM.check_that_a_write_is_seen(tool, a_write(tool))


@pytest.mark.parametrize("tool", ["enable_roaming", "disable_roaming"])
def test_what_the_map_calls_idempotent_changes_nothing_the_second_time(tool: str) -> None:
    assert MAP.idempotent(tool)
    assert not TELECOM.changes_twice(tool, a_write(tool))
