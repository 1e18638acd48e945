"""What a field's name promises of its value, remembered per name so that a common result costs a few look-ups."""

from __future__ import annotations

import re
from enum import IntFlag


class Trait(IntFlag):
    """What a field may be a sign of."""

    NONE = 0
    PARTIAL = 1  # truncated, has_more, next_token, failed_count, warnings
    STALE = 2  # stale, as_of, observed_at, age, warning headers, notes
    NUMBER = 4  # numbers with natural bounds: latitude, humidity, counts
    ORDER = 8  # pairs in an order: start and end, minimum and maximum
    SUM = 16  # totals, shares, converted amounts, arithmetic


_PARTIAL = re.compile(
    r"truncated|incomplete|^partial|_partial$|is_partial|^has_?(?:more|next)|more_(?:results|available|items|pages)|next_?(?:page|token|cursor|link|marker|offset)|^next$|nextlink"
    r"|last_?evaluated_?key|unprocessed|^failed|_failed$|failures?$|failed_?(?:put|record|entry)?_?(?:count|entr|items|rows)|^errors?$|^warnings?$|_shards|timed_?out|^status$|completeness|^complete$|^exceeded_?transfer"
    r"|^(?:note|notes|message|notice|warning_message|info|remark|hint)$|^terminated_early|missing_(?:fields|sources|data|columns|pages)|unavailable_(?:sources|providers|suppliers)"
)
_STALE = re.compile(
    r"stale|as_?of(?:_|$)|observ(?:ed|ation)_?(?:at|time|on|date)|cached|_at_cache|fetched_?(?:at|on)|retrieved_?(?:at|on)|refreshed|last_?(?:refresh|sync|updat|seen|known|checked|fetched|success|poll|report)"
    r"|synced?_?(?:at|on|time)|data_?(?:timestamp|time|date|age)|(?:quote|price|trade|rate|snapshot|sample|reading|measurement|update)_?(?:time|timestamp|date|at)$|measured_?(?:at|on)|sampled_?at|computed_?at|valid_?(?:on|until|to|through|date|for)"
    r"|^timestamp$|^(?:time|date|day|generated_?at|reported_?at)$|^age(?:_?s|_?seconds|_?hours|_?days|_?minutes)?$|^warning$|^x-cache|outdated|^expired$|^fresh|^(?:note|notes|message|notice|source|warnings?|info|remark|data_source)$"
)
_NUMBER = re.compile(
    r"^lat(?:itude)?$|^(?:lon|lng|long|longitude)$|_lat(?:itude)?$|_(?:lon|lng|longitude)$|temp(?:erature)?(?:_|$)|_temp$|temperature|humidity|battery|progress|completion|probability|confidence|percent|pct|^age$|count$|^qty$|quantity|population|distance|duration|"
    r"^(?:height|weight|length|width|area|volume|speed|seats|nights|pages|size|capacity)|wind_|heart_?rate|^bpm$|spo2|^ph$|pressure|rating|^stars$|_seats$|elapsed|mileage|_date$|^date$|_on$|^check_?(?:in|out)|weekday|day_of_week|price$|^price|_km$|_bytes$|latency|^month$|^hour$|^minute$"
)
_ORDER = re.compile(
    r"^(?:start|end|from|to|begin|begins|ends|starts|since|until|low|high|min|max|open|close|departure|arrival|check_?in|check_?out|created|updated|opened|closed|issued|due|born|died|birth|death|pick_?up|drop_?off|valid_from|valid_to)"
    r"|(?:_|^)(?:start|end|min|max|low|high|minimum|maximum|avg|average|mean|median|from|to)(?:_|$)|_(?:at|on|date|time)$"
)
_SUM = re.compile(
    r"total|^sum|subtotal|amount|^expression$|^result$|^rate$|converted|_pct$|percent|share|^yes|^no$|_f$|_c$|_km$|_miles?$|_mi$|fahrenheit|^count$|^returned$|_count$|equation|formula"
)
_SPLIT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_known: dict[str, int] = {}
_MOST = 8_192


def snake(name: str) -> str:
    """Return a field name in snake_case, at most 64 characters of it: ``nextPageToken`` is ``next_page_token``."""
    return _SPLIT.sub("_", name[:64]).lower().replace("-", "_").replace(" ", "_")


def traits(name: object) -> int:
    """Return the traits of a field name as a bit mask; 0 for most names, and for keys that are not text."""
    found = _known.get(name) if isinstance(name, str) else 0
    if found is not None:
        return found
    return _look(name) if isinstance(name, str) else 0


def _look(name: str) -> int:
    low = snake(name)
    mask = 0
    for trait, pattern in (
        (Trait.PARTIAL, _PARTIAL), (Trait.STALE, _STALE), (Trait.NUMBER, _NUMBER), (Trait.ORDER, _ORDER), (Trait.SUM, _SUM),
    ):  # fmt: skip
        if pattern.search(low):
            mask |= int(trait)
    if len(name) <= 64:
        if len(_known) >= _MOST:
            _known.clear()  # keys that are data (ids) must not grow this without end
        _known[name] = mask
    return mask
