"""A marina: berths, boats, bookings and tides, as an environment for ``btm eval``. Small chat models can do its tasks.

btm eval --domain marina:Marina --arms bare,btm

A chat model on it, which sees three of its tasks done first:

btm eval --domain marina:Marina --scenario clean,retry_works,switch_needed,impossible
    --arms bare,neutral,toolretry,btm:advise,btm:act --metrics --base-url http://127.0.0.1:8080/v1 --model my-model
    --timeout 600 --show marina-17,marina-09,marina-01 --resume run.jsonl
"""

from __future__ import annotations

from typing import Any

from btm.lab.declared import GoldTask, tool

Record = dict[str, Any]

BERTHS = (
    ("A03", 9, "Kestrel", 31),
    ("A07", 11, "Ondine", 38),
    ("B12", 14, "Saltwind", 52),
    ("C02", 8, "Petrel", 27),
)
BOATS = (
    ("Kestrel", "Maud Ferris", "sloop"),
    ("Ondine", "Jonas Quill", "ketch"),
    ("Saltwind", "Teresa Vance", "trawler"),
    ("Petrel", "Aldo Brandt", "dinghy"),
)
BOOKINGS = (
    ("M-410", "Kestrel", "2026-07-04"),
    ("M-411", "Ondine", "2026-07-09"),
    ("M-412", "Saltwind", "2026-07-15"),
    ("M-413", "Petrel", "2026-07-22"),
)
TIDES = (("2026-07-04", "05:50"), ("2026-07-09", "09:35"), ("2026-07-15", "14:10"), ("2026-07-22", "20:25"))


class Marina:
    """Every request takes one call when nothing fails: small models can do that much."""

    fallback_map = "marina.yaml"

    def __init__(self) -> None:
        self.berths: dict[str, Record] = {
            berth: {"berth": berth, "metres": metres, "boat": boat, "price": price}
            for berth, metres, boat, price in BERTHS
        }
        self.boats: dict[str, Record] = {
            boat: {"boat": boat, "owner": owner, "type": kind} for boat, owner, kind in BOATS
        }
        self.bookings: dict[str, Record] = {
            number: {"booking": number, "boat": boat, "arrives": day, "status": "confirmed"}
            for number, boat, day in BOOKINGS
        }

    @tool("read")
    def get_berth(self, berth: str) -> Record:
        """Show one berth: its length in metres, its price a night and the boat in it."""
        return self.berths[berth]

    @tool("read")
    def pier_plan(self, pier: str) -> list[Record]:
        """Show all berths of a pier, by its letter."""
        return [one for name, one in self.berths.items() if name.startswith(pier)]

    @tool("read")
    def get_boat(self, boat: str) -> Record:
        """Show one boat: its owner and its type."""
        return self.boats[boat]

    @tool("read")
    def boat_register(self, letter: str) -> list[Record]:
        """Show the register's boats whose names begin with a letter."""
        return [one for name, one in self.boats.items() if name.startswith(letter)]

    @tool("read")
    def get_booking(self, booking: str) -> Record:
        """Show one booking: its boat, its day of arrival and its status."""
        return self.bookings[booking]

    @tool("read")
    def search_bookings(self, text: str) -> list[Record]:
        """Search the bookings for a number or a boat."""
        return [one for one in self.bookings.values() if text in one.values()]

    @tool("read")
    def high_water(self, day: str) -> Record:
        """Show the time of high water on a day."""
        return {"day": day, "high_water": dict(TIDES)[day]}

    @tool("read")
    def tide_almanac(self, month: str) -> list[Record]:
        """Show the almanac's times of high water for a month, as YYYY-MM."""
        return [{"day": day, "high_water": time} for day, time in TIDES if day.startswith(month)]

    @tool("write")
    def cancel_booking(self, booking: str) -> Record:
        """Cancel a booking."""
        self.bookings[booking]["status"] = "cancelled"
        return self.bookings[booking]

    @tool("write")
    def set_booking_status(self, booking: str, status: str) -> Record:
        """Set the status of a booking: confirmed, cancelled or arrived."""
        if status not in ("confirmed", "cancelled", "arrived"):
            raise ValueError(f"no such status: {status}")
        self.bookings[booking]["status"] = status
        return self.bookings[booking]

    @tool("write")
    def call_harbour_master(self, summary: str) -> str:
        """Hand the request over to the harbour master, a human, with a summary."""
        return f"The harbour master takes it from here: {summary[:80]}"

    tasks = (
        *(
            GoldTask(
                f"Which boat lies in berth {berth}?", gold=[("get_berth", {"berth": berth})], tell=[boat]
            )
            for berth, _, boat, _ in BERTHS
        ),
        *(
            GoldTask(
                f"Who is the owner of the boat {boat}?", gold=[("get_boat", {"boat": boat})], tell=[owner]
            )
            for boat, owner, _ in BOATS
        ),
        *(
            GoldTask(
                f"On which day does booking {number} arrive?",
                gold=[("get_booking", {"booking": number})],
                tell=[day],
            )
            for number, _, day in BOOKINGS
        ),
        *(
            GoldTask(f"When is high water on {day}?", gold=[("high_water", {"day": day})], tell=[time])
            for day, time in TIDES
        ),
        *(
            GoldTask(f"Please cancel booking {number}.", gold=[("cancel_booking", {"booking": number})])
            for number, *_ in BOOKINGS
        ),
    )
