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
from btm.classify.keys import Role, snake
from btm.model import ErrorKind as K
from btm.model import ToolCall

_WEATHER = re.compile(r"weather|forecast|climate|conditions", re.IGNORECASE)
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


def of_field(role: Role, key: str, value: Any, call: ToolCall) -> Finding | None:
    """Return a value outside of what nature or the calendar allows under its name."""
    if role.day and dates.is_impossible(value):
        return _found("date", f"{key} is a day that no calendar has")
    if role.bound is None:
        return None
    size = number(value)
    # -1 stands for "unknown" in too many interfaces to be called impossible.
    if size is None or size == -1.0:
        return None
    if not role.bound.low <= size <= role.bound.high:
        return _found("bounds", f"{key} = {size:g} is not {role.bound.what}", 0.9)
    if "temperature" in role.bound.what and _WEATHER.search(call.tool[:80]) and not -150 < size < 400:
        return _found("bounds", f"{key} = {size:g} is no weather on earth")
    return None


def weekday(body: Mapping[str, Any]) -> Finding | None:
    """Return a weekday that is not that of its date."""
    said = next((body[k] for k in ("weekday", "day_of_week", "dayOfWeek") if isinstance(body.get(k), str)), None)
    day = body.get("date")
    if said is None or not dates.is_day(day) or said.lower() not in _WEEKDAYS:
        return None
    at = dates.moment(day)
    if at is None:
        return None
    real = _WEEKDAYS[(int(at // 86_400) + 3) % 7]  # 1970-01-01 was a Thursday
    return None if real == said.lower() else _found("weekday", f"{day} is a {real.capitalize()}, not a {said[:20]}")


Signs = list[tuple[Role, Any, Any]]
"""Fields of one mapping that may be a sign of something: their role, key and value."""


def order(signs: Signs, body: Mapping[Any, Any]) -> Finding | None:
    """Return a pair that stands the wrong way round: check-out before check-in, a minimum above its maximum."""
    fields = {snake(key): value for key, value in body.items() if isinstance(key, str)}
    for role, _, value in signs:
        for other in role.partners:
            if other in fields:
                found = _wrong_way(role.name, value, other, fields[other])
                if found is not None:
                    return found
    return _nights(fields) if "nights" in fields else None


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


def sums(signs: Signs, body: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return a total, a conversion or a computed result that does not come out."""
    names = {role.name for role, _, _ in signs if role.sums}
    if not names.isdisjoint(_EXPRESSIONS):
        found = _expression(body)
        if found is not None:
            return found
    if not names.isdisjoint(_TOTALS):
        return _lines(body)
    if not names.isdisjoint(_RATES):
        return _converted(body)
    if not names.isdisjoint(_MIDDLES):
        return _average(body)
    return _shares(signs, call) or _units(body)


_EXPRESSIONS = frozenset({"expression", "equation", "formula"})
_TOTALS = frozenset({"total", "subtotal", "total_amount", "amount_total"})
_RATES = frozenset({"rate", "exchange_rate"})
_MIDDLES = frozenset({"avg", "average", "mean", "median"})


def _expression(body: Mapping[str, Any]) -> Finding | None:
    expression = next((body[k] for k in _EXPRESSIONS if isinstance(body.get(k), str)), None)
    got = next((number(body[k]) for k in ("result", "value", "answer") if number(body.get(k)) is not None), None)
    if expression is None or got is None or not arithmetic.disagrees(expression, got):
        return None
    return arithmetic.finding(expression, got)


def _lines(body: Mapping[str, Any]) -> Finding | None:
    total = number(body.get("subtotal", body.get("total", body.get("total_amount", body.get("amount_total")))))
    if total is None:
        return None
    for value in body.values():
        if not isinstance(value, list) or not 0 < len(value) <= 200:
            continue
        amounts = [_line_amount(v) for v in value]
        if None in amounts:
            continue
        added = sum(a for a in amounts if a is not None)
        if abs(added - total) > max(0.02 * abs(total), 0.05) and abs(added - total) > 0.01 * abs(added) and not _has_extras(body):
            return _found("total", f"the lines add up to {added:g}, not to {total:g}", 0.85)
    return None


_EXTRAS = re.compile(
    r"tax|vat|ship|deliver|discount|fee|tip|credit|round|deposit|coupon|surcharge|adjust|gift|refund|paid|promo", re.IGNORECASE
)


def _has_extras(body: Mapping[str, Any]) -> bool:
    """Whether something beside the lines goes into the total."""
    return "subtotal" not in body and any(isinstance(key, str) and _EXTRAS.search(key) for key in body)


def _line_amount(line: Any) -> float | None:
    if not isinstance(line, Mapping):
        return None
    quantity = number(line.get("qty", line.get("quantity")))
    price = number(line.get("unit_price", line.get("unitPrice", line.get("price"))))
    if quantity is None or price is None or any(isinstance(k, str) and re.search(r"discount|tax", k.lower()) for k in line):
        return None
    return quantity * price


_SHARE = re.compile(r"(?:_pct|_percent|_percentage|_share)$")
_PARTS = re.compile(r"poll|vote|election|survey|share|distribut|breakdown|alloc|composition|split|portfolio|mix", re.IGNORECASE)


def _shares(signs: Signs, call: ToolCall) -> Finding | None:
    parts = {role.name: number(value) for role, _, value in signs if _SHARE.search(role.name)}
    known = [p for p in parts.values() if p is not None]
    if len(known) < 2 or len(known) != len(parts) or min(known) < 0:
        return None
    if not ({"yes_pct", "no_pct"} <= parts.keys() or _PARTS.search(call.tool[:80])):
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
        if name not in body or body[name] == asked:
            continue
        got = body[name]
        if not _is_identity(name) or type(asked) not in (str, int) or type(got) not in (str, int):
            continue
        if _identity(got) != _identity(asked):
            return _found("echo", f"{name} in the answer is not the one asked for", 0.75)
    return None


_IDENTITIES = frozenset({"id", "symbol", "ticker", "sku", "isbn", "iata"})


def _is_identity(name: object) -> bool:
    return isinstance(name, str) and (name in _IDENTITIES or name.endswith("_id"))


def _identity(value: str | int) -> str:
    return re.sub(r"[\W_]", "", str(value)[:200]).lower()
