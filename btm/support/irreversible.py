"""Which writes cannot be undone, as far as a tool's name tells: what a map says of them comes first."""

from __future__ import annotations

from functools import lru_cache

from btm.support.effect_words import WRITE_WORDS
from btm.support.effects import name_words

# What leaves the house or moves money cannot be called back by a second call, whatever else it is called.
_GONE = frozenset(
    ("delete", "destroy", "drop", "purge", "wipe", "erase", "terminate", "cancel", "refund", "reimburse", "send", "email",
     "mail", "sms", "text", "message", "post", "publish", "tweet", "broadcast", "reply", "pay", "payout", "charge", "bill",
     "invoice", "transfer", "wire", "withdraw", "purchase", "buy", "order", "checkout", "sell", "trade", "donate", "tip",
     "book", "reserve", "ship", "dispatch", "sign", "submit", "fax", "print", "void", "forfeit", "dial")
)  # fmt: skip
_GONE_THINGS = frozenset(
    ("payment", "payments", "money", "refund", "payout", "booking", "reservation", "mail", "letter", "order", "orders",
     "purchase", "trade", "transfer", "charge", "withdrawal", "donation")
)  # fmt: skip
_MAKES = frozenset(
    ("make", "create", "issue", "place", "process", "execute", "initiate", "do", "submit", "confirm", "start")
)


@lru_cache(maxsize=1_024)
def cannot_be_undone(name: str) -> bool:
    """Guess from its name whether a write cannot be undone: its first verb says so, or what it makes does."""
    words = name_words(name)
    verb = next((word for word in words if word in _GONE or word in _MAKES or word in WRITE_WORDS), "")
    return verb in _GONE or (verb in _MAKES and not _GONE_THINGS.isdisjoint(words))
