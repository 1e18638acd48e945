"""Exception types by name: the libraries are never imported, so that a class is known by what it is called.

``data/types.toml`` lists them: those that say what went wrong whatever the text, those that give the kind only when
neither a code nor the text says more, and those that mean different things in different libraries.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from btm.classify import rules
from btm.classify.finding import DEFAULT, EXACT
from btm.model import ErrorKind as K

# A class that starts like this never reached the place where a write would have happened.
_NOT_REACHED = re.compile(
    r"Connect(?:ion)?(?:Timeout|Refused)|^ConnectError|PoolTimeout|NewConnection|NameResolution"
    r"|gaierror|herror"
    r"|ClientConnector|EndpointConnection|ServerSelection|TooManyConn|MaxConn|NoBrokers"
    r"|NoValidConn|SMTPConnect"
    r"|CannotConnect|BusyLoading|LockNotAvail|Deadlock|Serializ|BusyResource|BlockingIO"
    r"|ProxyConn|InvalidU"
)
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


class Known(NamedTuple):
    """What a class name says: a kind, how sure, and whether the request may have reached its goal."""

    kind: K
    sure: float
    reached: bool


@cache
def _names() -> dict[str, tuple[K, float]]:
    known = rules.table("types")
    names = {name: (K(kind), DEFAULT) for kind, listed in known["loose"].items() for name in listed.split()}
    names |= {name: (K(kind), EXACT) for kind, listed in known["firm"].items() for name in listed.split()}
    return names | {name: (K(kind), sure) for name, (kind, sure) in known["elsewhere"].items()}


@lru_cache(maxsize=2_048)
def known_type(name: str, root: str = "") -> Known | None:
    """Look a bare class name up, first with its root package; None for a class nobody told us about."""
    found = _names().get(f"{root}.{name}") or _names().get(name)
    if found is None:
        return None
    return Known(found[0], found[1], _NOT_REACHED.search(name) is None)


@lru_cache(maxsize=2_048)
def name_as_words(name: str) -> str:
    """Return a class name as words: ``OrderNotFoundError`` is ``order not found error``."""
    return " ".join(_CAMEL.findall(name[:80].replace("_", " "))).lower()
