"""What a field's name promises of its value, remembered per name so that a common result costs a few look-ups."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import NamedTuple

_SPLIT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=4_096)
def _snake(name: str) -> str:
    return _SPLIT.sub("_", name).lower().replace("-", "_").replace(" ", "_")


def snake(name: str) -> str:
    """Return a field name in snake_case, at most 64 characters of it: ``nextPageToken`` is ``next_page_token``."""
    return _snake(name[:64])


class Bound(NamedTuple):
    """The range in which a number under a name is possible at all."""

    low: float
    high: float
    what: str


class Role(NamedTuple):
    """What a field may be a sign of; ``""``, None and False where it is none.

    ``partial`` and ``stale`` name the sign (see `btm.classify.partial` and `btm.classify.stale`), ``bound`` the
    possible range, ``partners`` the names that must not come before it (the end of a start), ``sums`` a part of a
    calculation.
    """

    name: str
    partial: str
    stale: str
    bound: Bound | None
    day: bool
    partners: tuple[str, ...]
    sums: bool


def _rules(*pairs: tuple[str, str]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((sign, re.compile(pattern)) for sign, pattern in pairs)


_PARTIAL = _rules(
    (
        "flag",
        r"^(?:is_|was_|output_|response_|content_|results?_)?truncated$"
        r"|^(?:is_)?incomplete(?:_results)?$"
        r"|^(?:is_)?partial(?:_results?|_response)?$|^terminated_early$|^exceeded_?transfer_?limit$",
    ),
    (
        "more",
        r"^has_?more(?:_\w+)?$|^has_?next(?:_page)?$|^more_(?:results|available|items"
        r"|pages)(?:_available)?$",
    ),
    (
        "next",
        r"^_?_?next_?(?:page)?_?(?:token|cursor|link|marker|url)$|^(?:@odata\.)?next_?link$"
        r"|^last_?evaluated_?key$"
        r"|^next_continuation_token$|^next_?(?:page|cursor|token|marker)$|^next$",
    ),
    ("whole", r"^(?:is_)?complete$|^(?:is_)?exhaustive(?:_nb_hits)?$"),
    ("items", r"^(?:results|items|responses|multi_?status|operations)$"),
    (
        "unprocessed",
        r"^unprocessed_?(?:items|keys|records|entries|rows)?$|^failed_?(?:put_count"
        r"|record_count|entry_count|entries)$"
        r"|^(?:sources|providers|suppliers|shards|regions|pages|hosts)_(?:failed|missing|unavailable|skipped|unreachable)$"
        r"|^(?:missing|unavailable|failed|skipped|unreachable)_(?:sources|providers|suppliers|pages|columns)$",
    ),
    (
        "failed",
        r"^(?:failed|failures?|failed_?(?:count|rows|items|records|messages)|num_?failed"
        r"|error_?count|rejected(?:_count)?)$",
    ),
    ("status", r"^status$|^status_code$|^result$|^outcome$"),
    ("shards", r"^_shards$"),
    ("timed_out", r"^timed_?out$"),
    ("errors", r"^errors?$"),
    ("note", r"^(?:notes?|notice|message|warnings?|warning_message|info|remark|hint)$"),
)
_STALE = _rules(
    ("flag", r"^_?(?:is_|data_|served_)?(?:stale|outdated)(?:_if_error|_data|_while_revalidate)?$"),
    ("warning", r"^warning$"),
    ("age", r"^age$"),
    ("note", r"^(?:notes?|notice|message|warnings|info|remark)$"),
    (
        "measured",
        r"^(?:data_)?as_?of(?:_date|_time)?$|^observ(?:ed|ation)_(?:at|time|on|date)$"
        r"|^cached_at$|^fetched_(?:at|on)$"
        r"|^retrieved_(?:at|on)$|^(?:last_)?refreshed(?:_at)?$|^(?:last_)?synced?(?:_at|_time)?$"
        r"|^last_(?:refresh|sync|update|updated|fetched|known|poll|report)(?:ed)?(?:_at|_time"
        r"|_on)?$|^data_(?:timestamp|time|date)$"
        r"|^(?:quote|price|trade|rate|snapshot|sample|reading|measurement)_(?:time|timestamp|date|at)$"
        r"|^(?:measured|sampled|computed|reported)_(?:at|on)$",
    ),
    (
        "live",
        r"^(?:timestamp|time|date|day|generated_at|valid_(?:on|until|to|through|date|for)"
        r"|update_time|updated)$",
    ),
)
_INF = math.inf
_BOUNDS: tuple[tuple[re.Pattern[str], Bound], ...] = tuple(
    (re.compile(pattern), Bound(low, high, what))
    for pattern, low, high, what in (
        (r"^(?:\w+_)?lat(?:itude)?$", -90.0, 90.0, "a latitude"),
        (r"^(?:\w+_)?(?:lon|lng|longitude)$", -180.0, 360.0, "a longitude"),
        (r"^(?:\w+_)?temp(?:erature)?_(?:c|celsius)$", -273.15, _INF, "a temperature above absolute zero"),
        (r"^(?:\w+_)?temp(?:erature)?_(?:k|kelvin)$", 0.0, _INF, "a temperature above absolute zero"),
        (r"^(?:\w+_)?temp(?:erature)?(?:_f|_fahrenheit|_min|_max)?$", -459.67, _INF, "a temperature above absolute zero"),
        (r"^(?:relative_)?humidity(?:_pct|_percent|_percentage)?$", 0.0, 100.0, "a humidity"),
        (r"^battery(?:_level|_pct|_percent)?$|^spo2(?:_pct)?$|^cloud_?cover(?:_pct)?$", 0.0, 100.0, "a percentage"),
        (

                r"^(?:progress|completion|completed|yes|no|occupancy|precipitation_probability"
                r"|rain_probability)"
            r"_?(?:pct|percent|percentage|probability)$",
            0.0, 100.0, "a percentage",
        ),
        (r"^(?:probability|confidence|likelihood)(?:_score)?$", 0.0, 100.0, "a probability"),
        (

                r"^(?:count|qty|quantity|total_count|num_\w+|\w+_count|population|nights|pages"
                r"|seats|available_seats|seats_\w+"
            r"|guests|passengers|stars|attendees)$",
            0.0, _INF, "a count",
        ),
        (

                r"^(?:distance|duration|elapsed|height|weight|length|width|area|volume|speed"
                r"|wind_speed|wind|mileage|size|capacity"
            r"|latency|file_size)(?:_[a-z]{1,8})?$",
            0.0, _INF, "a measure",
        ),
        (r"^age(?:_years)?$", 0.0, _INF, "an age"),
        (r"^heart_?rate(?:_bpm)?$|^bpm$", 0.0, 600.0, "a heart rate"),
        (r"^ph$", -2.0, 16.0, "a pH"),
        (r"^pressure_(?:hpa|mb|mbar)$", 300.0, 1_200.0, "an air pressure"),
        (r"^month$", 1.0, 12.0, "a month"),
        (r"^hour$", 0.0, 24.0, "an hour"),
    )
)  # fmt: skip
_DAY = re.compile(
    r"(?:^|_)(?:date|day|on|at|start|end|from|to|until|departure|arrival|check_?in|check_?out|due"
    r"|birth\w*|expir\w+)(?:_date|_day)?$"
)
_PAIRS = tuple(
    tuple(pair.split(":"))
    for pair in [
        "check_in:check_out",
        "checkin:checkout",
        "start:end",
        "starts:ends",
        "begin:end",
        "begins:ends",
        "from:to",
        "min:max",
        "minimum:maximum",
        "low:high",
        "created:updated",
        "created:closed",
        "opened:closed",
        "issued:due",
        "birth:death",
        "born:died",
        "pickup:dropoff",
        "pick_up:drop_off",
        "from:until",
        "since:until",
        "ordered:delivered",
        "shipped:delivered",
    ]
)
"""What must not come after what: words of two field names that are alike otherwise."""

_SUMS = re.compile(
    r"^(?:sub)?total(?:_amount)?$|^amount_total$|^expression$|^equation$|^formula$|^rate$"
    r"|^exchange_rate$|(?:_pct|_percent|_percentage|_share)$"
    r"|temp\w*_[cf]$|_km$|^avg$|^average$|^mean$|^median$"
)


def role_of(name: object) -> Role | None:
    """Return what a field name may be a sign of, or None for most names, and for keys that are not text."""
    return _look(snake(name)) if isinstance(name, str) else None


@lru_cache(maxsize=4_096)
def _look(low: str) -> Role | None:
    role = Role(
        name=low,
        partial=next((sign for sign, pattern in _PARTIAL if pattern.search(low)), ""),
        stale=next((sign for sign, pattern in _STALE if pattern.search(low)), ""),
        bound=next((bound for pattern, bound in _BOUNDS if pattern.search(low)), None),
        day=_DAY.search(low) is not None,
        partners=_partners(low),
        sums=_SUMS.search(low) is not None,
    )
    return role if any(role[1:]) else None


def _partners(name: str) -> tuple[str, ...]:
    found = []
    for first, second in _PAIRS:
        if f"_{first}_" in f"_{name}_":
            found.append(f"_{name}_".replace(f"_{first}_", f"_{second}_", 1)[1:-1])
    return tuple(found)
