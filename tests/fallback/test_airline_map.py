"""fallback_maps/airline.yaml against tau2-bench's own airline tools and data. Skipped where tau2 is not installed."""

from __future__ import annotations

from typing import Any

import pytest
from served import share_served
from tau2_kit import Domain

from btm.model import Effect, ToolCall

AIRLINE = Domain("airline", database="FlightDB", tools="AirlineTools")
MAP, DB = AIRLINE.map, AIRLINE.db


def test_the_map_is_true_to_the_real_tools() -> None:
    AIRLINE.check_against_the_real_tools()


def test_effects_are_those_that_tau2_states() -> None:
    AIRLINE.check_the_effects()


def flight_calls(status: str | None) -> list[tuple[ToolCall, dict[str, Any]]]:
    return [
        (
            ToolCall("get_flight_status", {"flight_number": flight.flight_number, "date": date}),
            {"origin": flight.origin, "destination": flight.destination},
        )
        for flight in list(DB.flights.values())[::5]
        for date, state in flight.dates.items()
        if status in (None, state.status)
    ]


def test_a_flights_status_is_found_by_search_for_every_available_flight_and_no_other() -> None:
    assert share_served(MAP, flight_calls("available"), "search_direct_flight", AIRLINE.invoke) == 1.0
    assert share_served(MAP, flight_calls("landed"), "search_direct_flight", AIRLINE.invoke) == 0.0


def test_the_stated_coverage_of_a_flights_status_is_the_measured_one() -> None:
    states = [state.status for flight in DB.flights.values() for state in flight.dates.values()]
    assert (states.count("available"), len(states)) == (4_500, 9_000)
    (offer,) = MAP.candidates(ToolCall("get_flight_status"), None, {})
    assert offer.coverage == 4_500 / 9_000


def a_change(tool: str) -> dict[str, Any]:
    """A call of a write that tau2 accepts, made from a reservation of its database."""
    reservation = next(
        r for r in DB.reservations.values() if r.passengers and r.payment_history and r.cabin == "economy"
    )
    card = next(
        p for p in DB.users[reservation.user_id].payment_methods.values() if p.source == "credit_card"
    )
    common = {"reservation_id": reservation.reservation_id}
    flights = [{"flight_number": f.flight_number, "date": f.date} for f in reservation.flights]
    passengers = [
        {"first_name": "Ann", "last_name": "Lee", "dob": "1990-01-01"} for _ in reservation.passengers
    ]
    return {
        "cancel_reservation": common,
        "update_reservation_baggages": {
            **common, "total_baggages": 5, "nonfree_baggages": reservation.nonfree_baggages + 2, "payment_id": card.id,
        },
        "update_reservation_flights": {**common, "cabin": "business", "flights": flights, "payment_id": card.id},
        "update_reservation_passengers": {**common, "passengers": passengers},
    }[tool]  # fmt: skip


@pytest.mark.parametrize(
    "tool", ["cancel_reservation", "update_reservation_baggages", "update_reservation_passengers"]
)
def test_a_write_is_seen_not_done_before_and_done_after(tool: str) -> None:
    AIRLINE.check_that_a_write_is_seen(tool, a_change(tool))


def test_changed_flights_are_recognised_by_number_date_and_cabin() -> None:
    call = ToolCall("update_reservation_flights", a_change("update_reservation_flights"), Effect.WRITE)
    flights = call.arguments["flights"]
    assert MAP.done(call, {"cabin": "business", "flights": flights}) is True
    assert MAP.done(call, {"cabin": "economy", "flights": flights}) is False
    assert (
        MAP.done(call, {"cabin": "business", "flights": [{**flights[0], "date": "2024-05-31"}, *flights[1:]]})
        is False
    )


@pytest.mark.parametrize("tool", ["update_reservation_baggages", "update_reservation_passengers"])
def test_what_the_map_calls_idempotent_changes_nothing_the_second_time(tool: str) -> None:
    assert MAP.idempotent(tool)
    assert not AIRLINE.changes_twice(tool, a_change(tool))


def test_a_second_cancellation_would_refund_again() -> None:
    assert not MAP.idempotent("cancel_reservation")
    assert AIRLINE.changes_twice("cancel_reservation", a_change("cancel_reservation"))
