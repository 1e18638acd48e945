"""Values that cannot be true: outside nature's bounds, against each other, or against arithmetic.

Only what is impossible is called a factual error; what is merely unusual is left alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from btm.classify import arithmetic, dates
from btm.classify.finding import Finding
from btm.classify.keys import snake
from btm.model import ErrorKind as K
from btm.model import ToolCall

_WEATHER = re.compile(r"weather|forecast|climate|conditions", re.IGNORECASE)
_BOUNDS: tuple[tuple[re.Pattern[str], float, float, str], ...] = tuple(
    (re.compile(pattern), low, high, what)
    for pattern, low, high, what in (
        (r"^(?:\w+_)?lat(?:itude)?$", -90.0, 90.0, "a latitude"),
        (r"^(?:\w+_)?(?:lon|lng|longitude)$", -180.0, 360.0, "a longitude"),
        (r"^(?:\w+_)?temp(?:erature)?_(?:c|celsius)$", -273.15, math.inf, "a temperature above absolute zero"),
        (r"^(?:\w+_)?temp(?:erature)?_(?:f|fahrenheit)$", -459.67, math.inf, "a temperature above absolute zero"),
        (r"^(?:\w+_)?temp(?:erature)?(?:_k|_kelvin)$", 0.0, math.inf, "a temperature above absolute zero"),
        (r"^(?:\w+_)?temp(?:erature)?$", -459.67, math.inf, "a temperature above absolute zero"),
        (r"^(?:relative_)?humidity(?:_pct|_percent|_percentage)?$", 0.0, 100.0, "a humidity"),
        (r"^battery(?:_level|_pct|_percent)?$|^spo2(?:_pct)?$|^cloud_?cover(?:_pct)?$", 0.0, 100.0, "a percentage"),
        (r"^(?:progress|completion|completed|yes|no|occupancy|precipitation_probability|rain_probability)_?(?:pct|percent|percentage|probability)$", 0.0, 100.0, "a percentage"),
        (r"^(?:probability|confidence|likelihood)(?:_score)?$", 0.0, 100.0, "a probability"),
        (r"^(?:count|qty|quantity|total_count|num_\w+|\w+_count|population|nights|pages|seats|available_seats|seats_\w+|guests|passengers|stars|attendees)$", 0.0, math.inf, "a count"),
        (r"^(?:distance|duration|elapsed|height|weight|length|width|area|volume|speed|wind_speed|wind|mileage|size|capacity|latency|file_size)(?:_[a-z]{1,8})?$", 0.0, math.inf, "a measure"),
        (r"^age(?:_years)?$", 0.0, math.inf, "an age"),
        (r"^heart_?rate(?:_bpm)?$|^bpm$", 0.0, 600.0, "a heart rate"),
        (r"^ph$", -2.0, 16.0, "a pH"),
        (r"^pressure_(?:hpa|mb|mbar)$", 300.0, 1_200.0, "an air pressure"),
        (r"^month$", 1.0, 12.0, "a month"),
        (r"^hour$", 0.0, 24.0, "an hour"),
        (r"^unit_?price$", -math.inf, math.inf, "a price"),
    )
)  # fmt: skip
_PAIRS = (
    ("check_in", "check_out"), ("checkin", "checkout"), ("start", "end"), ("starts", "ends"), ("begin", "end"), ("begins", "ends"), ("from", "to"), ("min", "max"), ("minimum", "maximum"), ("low", "high"),
    ("departure", "arrival"), ("created", "updated"), ("opened", "closed"), ("issued", "due"), ("birth", "death"), ("born", "died"), ("pickup", "dropoff"), ("pick_up", "drop_off"), ("valid_from", "valid_to"),
    ("valid_from", "valid_until"), ("since", "until"), ("ordered", "delivered"), ("shipped", "delivered"), ("created", "closed"),
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _found(rule: str, reason: str, sure: float = 0.85) -> Finding:
    return Finding(K.FACTUAL_ERROR, f"implausible:{rule}", reason, sure)


def number(value: Any) -> float | None:
    """Return a finite number (not a truth value) as a float, else None."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            as_float = float(value)
        except OverflowError:
            return None
        return as_float if math.isfinite(as_float) else None
    return None


def bounds(body: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return the first number outside of what nature or the calendar allows."""
    for key, value in body.items():
        if not isinstance(key, str):
            continue
        name = snake(key)
        if dates.is_impossible(value):
            return _found("date", f"{key} is a day that no calendar has")
        size = number(value)
        if size is None:
            continue
        for pattern, low, high, what in _BOUNDS:
            if pattern.search(name) and not low <= size <= high and size not in (-1.0, -1):
                return _found("bounds", f"{key} = {size:g} is not {what}", 0.9)
        if "temp" in name and _WEATHER.search(call.tool[:80]) and not -150 < size < 400:
            return _found("bounds", f"{key} = {size:g} is no weather on earth")
    return _weekday(body)


def _weekday(body: Mapping[str, Any]) -> Finding | None:
    said = next((body[k] for k in ("weekday", "day_of_week", "dayOfWeek") if isinstance(body.get(k), str)), None)
    day = body.get("date")
    if said is None or not dates.is_day(day) or said.lower() not in _WEEKDAYS:
        return None
    at = dates.moment(day)
    if at is None:
        return None
    real = _WEEKDAYS[(int(at // dates_day()) + 3) % 7]  # 1970-01-01 was a Thursday
    return None if real == said.lower() else _found("weekday", f"{day} is a {real.capitalize()}, not a {said[:20]}")


def dates_day() -> int:
    """Return the seconds of a day."""
    return 86_400


def order(body: Mapping[str, Any]) -> Finding | None:
    """Return a pair that stands the wrong way round: check-out before check-in, a minimum above its maximum."""
    fields = {snake(k): v for k, v in body.items() if isinstance(k, str)}
    for first, second in _PAIRS:
        for name, value in fields.items():
            other = _partner(name, first, second, fields)
            if other is None:
                continue
            found = _wrong_way(name, value, other, fields[other])
            if found is not None:
                return found
    return _nights(fields)


def _partner(name: str, first: str, second: str, fields: Mapping[str, Any]) -> str | None:
    if name == first or name.startswith(first + "_") or name.endswith("_" + first) or f"_{first}_" in name:
        other = second.join(name.rsplit(first, 1))
        if other != name and other in fields:
            return other
    return None


def _wrong_way(name: str, value: Any, other: str, second: Any) -> Finding | None:
    a, b = number(value), number(second)
    if a is not None and b is not None:
        ordered = any(w in name for w in ("min", "low", "start", "from", "begin"))
        if ordered and a > b and any(w in name for w in ("min", "low")):
            return _found("order", f"{name} = {a:g} is above {other} = {b:g}")
        return None
    at, until = dates.moment(value), dates.moment(second)
    if at is None or until is None or not isinstance(value, str) or not isinstance(second, str):
        return None
    # Local times of two places differ by up to a day; with zones, or for days, they can be compared.
    slack = 60.0 if dates.has_zone(value) and dates.has_zone(second) else 0.0 if dates.is_day(value) and dates.is_day(second) else 90_000.0
    if at > until + slack:
        return _found("order", f"{name} is after {other}", 0.9)
    return None


def _nights(fields: Mapping[str, Any]) -> Finding | None:
    nights = number(fields.get("nights"))
    start = dates.moment(fields.get("check_in") or fields.get("checkin") or fields.get("check_in_date"))
    end = dates.moment(fields.get("check_out") or fields.get("checkout") or fields.get("check_out_date"))
    if nights is None or start is None or end is None:
        return None
    if abs((end - start) / 86_400 - nights) > 1.01:
        return _found("nights", f"{nights:g} nights do not lie between check-in and check-out")
    return None


def sums(body: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return a total, a conversion or a computed result that does not come out."""
    expression = next((body[k] for k in ("expression", "equation", "formula") if isinstance(body.get(k), str)), None)
    if expression is not None:
        got = next((number(body[k]) for k in ("result", "value", "answer") if number(body.get(k)) is not None), None)
        if got is not None and arithmetic.disagrees(expression, got):
            return _found("arithmetic", f"{expression[:40]} is not {got:g}", 0.95)
    return _lines(body) or _shares(body, call) or _converted(body) or _units(body) or _average(body)


def _lines(body: Mapping[str, Any]) -> Finding | None:
    total = number(body.get("subtotal", body.get("total", body.get("total_amount", body.get("amount_total")))))
    if total is None:
        return None
    if "subtotal" not in body and any(
        isinstance(k, str) and re.search(r"tax|vat|ship|deliver|discount|fee|tip|credit|round|deposit|coupon|surcharge|adjust|gift|refund|paid|promo", k.lower())
        for k in body
    ):
        return None
    for value in body.values():
        if not isinstance(value, list) or not 0 < len(value) <= 200:
            continue
        amounts = [_line_amount(v) for v in value]
        if all(a is not None for a in amounts):
            added = sum(a for a in amounts if a is not None)
            if abs(added - total) > max(0.02 * abs(total), 0.05) and abs(added - total) > 0.01 * abs(added):
                return _found("total", f"the lines add up to {added:g}, not to {total:g}", 0.85)
    return None


def _line_amount(line: Any) -> float | None:
    if not isinstance(line, Mapping):
        return None
    quantity = number(line.get("qty", line.get("quantity")))
    price = number(line.get("unit_price", line.get("unitPrice", line.get("price"))))
    if quantity is None or price is None or any(isinstance(k, str) and re.search(r"discount|tax", k.lower()) for k in line):
        return None
    return quantity * price


_PARTS = re.compile(r"poll|vote|election|survey|share|distribut|breakdown|alloc|composition|split|portfolio|mix", re.IGNORECASE)


def _shares(body: Mapping[str, Any], call: ToolCall) -> Finding | None:
    parts = [number(v) for k, v in body.items() if isinstance(k, str) and re.search(r"(?:_pct|_percent|_percentage|_share)$", snake(k))]
    known = [p for p in parts if p is not None]
    if len(known) < 2 or len(known) != len(parts) or any(p < 0 for p in known):
        return None
    yes_no = {"yes_pct", "no_pct"} <= {snake(k) for k in body if isinstance(k, str)}
    if not (yes_no or _PARTS.search(call.tool[:80])):
        return None
    if sum(known) > 100 + len(known):
        return _found("shares", f"shares of one whole add up to {sum(known):g} %")
    return None


def _converted(body: Mapping[str, Any]) -> Finding | None:
    rate = number(body.get("rate", body.get("exchange_rate")))
    amount = number(body.get("amount", body.get("from_amount")))
    got = next((number(body[k]) for k in ("converted", "converted_amount", "to_amount", "result") if number(body.get(k)) is not None), None)
    if rate is None or amount is None or got is None or rate <= 0 or amount == 0:
        return None
    real = rate * amount
    if abs(got - real) > 0.03 * abs(real) + 0.02:
        return _found("conversion", f"{amount:g} at {rate:g} is {real:g}, not {got:g}")
    return None


def _units(body: Mapping[str, Any]) -> Finding | None:
    for key, value in body.items():
        name = snake(key) if isinstance(key, str) else ""
        if name.endswith("_c") and "temp" in name:
            celsius = number(value)
            fahrenheit = number(body.get(str(key)[:-1] + ("F" if str(key)[-1] == "C" else "f")))
            if celsius is not None and fahrenheit is not None and abs(celsius * 1.8 + 32 - fahrenheit) > 2:
                return _found("units", f"{celsius:g} °C is not {fahrenheit:g} °F")
        if name.endswith("_km"):
            km, miles = number(value), number(body.get(str(key)[:-2] + "miles", body.get(str(key)[:-2] + "mi")))
            if km is not None and miles is not None and km > 1 and abs(km / 1.609344 - miles) > 0.1 * km:
                return _found("units", f"{km:g} km is not {miles:g} miles")
    return None


def _average(body: Mapping[str, Any]) -> Finding | None:
    low, high = number(body.get("min", body.get("minimum"))), number(body.get("max", body.get("maximum")))
    middle = number(body.get("avg", body.get("average", body.get("mean", body.get("median")))))
    if low is not None and high is not None and middle is not None and low <= high and not low <= middle <= high:
        return _found("average", f"an average of {middle:g} does not lie between {low:g} and {high:g}")
    return None


def echo(body: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return an identity in the answer that is not the one asked for: order W1 was asked for, W2 came back."""
    for name, asked in call.arguments.items():
        if not isinstance(asked, str | int) or isinstance(asked, bool) or not isinstance(name, str):
            continue
        if name not in body or not (name == "id" or name.endswith("_id") or name in ("symbol", "ticker", "sku", "isbn", "iata", "expression")):
            continue
        got = body[name]
        if isinstance(got, str | int) and _identity(got) != _identity(asked):
            return _found("echo", f"{name} in the answer is not the one asked for", 0.75)
    return None


def _identity(value: str | int) -> str:
    return re.sub(r"[\W_]", "", str(value)[:200]).lower()
