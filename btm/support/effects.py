"""What a tool does to the world, and whether that can be undone: guessed from its name and description where not stated."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from btm.model import Effect
from btm.support.effect_words import (
    ALSO_NOUNS,
    CLEAR_READS,
    DEEDS,
    DOES,
    FACTS,
    FOR_SALE,
    LAST_READS,
    LOOKED_UP,
    MAINLY_NOUNS,
    NOUN_DEEDS,
    NOUN_READS,
    NOUNS,
    READ_VERBS,
    TELLS,
    THINGS,
    WRITE_WORDS,
)

_OPENING = re.compile(
    r"(?:(?:this|an?|the)\s+)?(?:(?:tool|function|method|endpoint|api|use(?:\s+this)?|used|useful|call\s+this)\b\s*)?"
    r"(?:(?:tool|function)\b\s*)?(?:(?:that|which|to|for|is\s+used\s+to|allows\s+you\s+to|lets\s+you|can|will)\s+)*",
    re.IGNORECASE,
)
_FIRST = re.compile(r"([A-Za-z]+)(?:\s+([a-z]+))?")
_JOINED = re.compile(r"(?:\b(?:and|or|then|also|to)|[,;/&])\s+([a-z]+)", re.IGNORECASE)
_DETERMINERS = frozenset(
    ("a", "an", "the", "this", "that", "these", "one", "some", "any", "all", "new", "it", "your", "my", "their", "money")
)  # fmt: skip
_DEEPEST = 4  # words of a namespace before the verb
_READ_FAR = 400  # characters of a description

_PARTS = re.compile(r"[./:]|__")
_LONGEST = 300  # characters of a name that is remembered
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def name_words(name: str) -> tuple[str, ...]:
    """Split a tool's name into lower-case words: ``getOrderV2``, ``get_order.v2`` and ``GET-order`` alike."""
    return tuple(word.lower() for word in _WORD.findall(name[:200]))


_SHELLS = frozenset(
    ("bash", "shell", "sh", "zsh", "powershell", "terminal", "repl", "interpreter", "python", "browser", "sql", "curl",
     "http", "https", "cmd", "ssh", "graphql", "js", "javascript", "jupyter", "computer")
)  # fmt: skip
_RUNS = frozenset(("execute", "exec", "run", "eval", "evaluate"))
_RUN = frozenset(("code", "command", "commands", "script", "query", "notebook", "program", "statement"))
_GOES = frozenset(
    ("fetch", "browse", "navigate", "request", "requests", "open", "goto", "visit", "scrape", "download", "api")
)  # fmt: skip
_COMMANDS = frozenset(("command", "commands", "cmd", "sql", "script", "javascript"))
_ADDRESSES = frozenset(("url", "uri", "endpoint"))


def is_general(name: str, arguments: Mapping[str, Any]) -> bool:
    """Guess whether a tool takes a command of any kind, so that its calls have nothing in common but the tool.

    Its name says so (bash, execute_code, run_sql), it goes to any address (http_request, fetch with a url), or it takes
    little but a command, a script or SQL.
    """
    is_shell, goes = _reach(name) if len(name) <= _LONGEST else _reach.__wrapped__(name)
    if is_shell:
        return True
    given = {str(argument).lower() for argument in itertools.islice(arguments, 20)}
    if goes and not given.isdisjoint(_ADDRESSES):
        return True
    return len(given) <= 3 and not given.isdisjoint(_COMMANDS)


@lru_cache(maxsize=4_096)
def _reach(name: str) -> tuple[bool, bool]:
    """Say by a tool's name whether it runs anything, and whether it may go anywhere: asked again at every call."""
    words = frozenset(name_words(_PARTS.split(name)[-1]))
    is_shell = not words.isdisjoint(_SHELLS) or not (words.isdisjoint(_RUNS) or words.isdisjoint(_RUN))
    return is_shell, not words.isdisjoint(_GOES)


class Guess(NamedTuple):
    """A guessed effect; ``known`` says whether anything spoke for it, or it is the careful assumption."""

    effect: Effect
    known: bool


def guess_effect(name: str) -> Effect:
    """Guess a tool's effect from its name alone, a write where nothing tells; see :func:`guess`."""
    return guess(name).effect


def guess(name: str, description: str = "") -> Guess:
    """Guess a tool's effect from its name and the first words of its (English) description.

    The careful assumption is the write: a read taken for a write costs a verification, a write taken for a read
    may happen twice. So a description that tells of a deed outweighs a name that reads ("get_refund": "Issue a
    refund"), one that tells of a look outweighs only a name that says nothing ("tide_table": "Returns the tides").
    """
    named, told = _named(name), _told(description)
    if told is Effect.WRITE or named is None:
        return Guess(told or Effect.WRITE, told is not None)
    if named is Effect.WRITE and told is Effect.READ and _may_be_a_noun(name):
        return Guess(Effect.READ, known=True)
    return Guess(named, named is Effect.READ or told is None)


def _may_be_a_noun(name: str) -> bool:
    """Whether a name that holds a writing verb may name a fact instead: ``order_status``, ``exchange_rates``."""
    words = name_words(name)
    return words[-1] in FACTS and not any(word in WRITE_WORDS - ALSO_NOUNS for word in words)


def _named(name: str) -> Effect | None:
    """Return what a name says: a read by its verb, a write by a verb that changes something, or nothing.

    Words before a reading verb may be a namespace ("github_list_issues", "domain_zone_get"), unless one of them is a deed
    ("book_list"); the last dotted part counts ("OrderApi.get_order"). A name that joins a deed to its reading verb
    is a write ("find_or_create"), and so are check-ins, what is put up for sale ("list_item"), and a deed done to what is
    also a noun ("list_create", "status_update").
    """
    tail = _PARTS.split(name)[-1]
    words = name_words(tail) or name_words(name)
    if not words:
        return None
    place = _reading_verb(words)
    if place is not None:
        return Effect.WRITE if _does_more(words, place) else Effect.READ
    if words[0] in WRITE_WORDS or any(word in WRITE_WORDS - ALSO_NOUNS for word in words):
        return Effect.WRITE
    if len(words) > 2 and words[0] not in READ_VERBS and words[1] in WRITE_WORDS:  # trello_move_card
        return Effect.WRITE
    return Effect.READ if words[-1] in LOOKED_UP and NOUN_DEEDS.isdisjoint(words) else None


def _reading_verb(words: Sequence[str]) -> int | None:
    """Return the place of the reading verb; None where a deed comes before it, or there is none."""
    if len(words) > 1 and words[-1] in CLEAR_READS and DEEDS.isdisjoint({*words[:-1]} - MAINLY_NOUNS):
        return len(words) - 1
    for place, word in enumerate(words[: _DEEPEST + 1]):
        if word in READ_VERBS:
            plural = words[-1].endswith("s") and word in ("list", "search", "read", "query")
            last = place == len(words) - 1
            if place == 0 or (word in LAST_READS if last else word not in NOUN_READS or plural):
                return place
        if word in DEEDS:
            return None
    return None


def _does_more(words: Sequence[str], place: int) -> bool:
    """Whether what follows a reading verb makes a deed of it."""
    verb, rest = words[place], words[place + 1 :]
    if verb == "check" and rest and (rest[0] in ("in", "out", "off") or rest[-1] in ("in", "out", "off")):
        return True
    if any(word in ("and", "or", "then") for word in rest) and any(word in DEEDS for word in rest):
        return True
    if verb == "list" and rest and (rest[-1] in FOR_SALE or "sale" in rest):
        return True
    if verb in NOUN_READS and rest:
        deeds = DEEDS if verb in THINGS else DEEDS - NOUN_DEEDS
        return rest[0] in deeds or rest[-1] in deeds
    return False


def _told(description: str) -> Effect | None:
    """Return what a description says by the verb it begins with, and by deeds that it joins to it."""
    text = description[:_READ_FAR].strip()
    sentence = re.split(r"\n\s*\n|[.!?](?:\s|$)", text, maxsplit=1)[0]
    opening = _OPENING.match(sentence)
    first = _FIRST.match(sentence, opening.end() if opening else 0)
    if first is None:
        return None
    verb, beside = _bare(first[1].lower(), TELLS | DOES), (first[2] or "").lower()
    if verb in DOES and verb != "return":
        return Effect.WRITE if verb not in NOUNS or beside in _DETERMINERS else None
    if verb not in TELLS:
        return None
    joined = (_bare(found.lower(), DOES) for found in _JOINED.findall(sentence, first.end(1)))
    return None if any(word in DOES and word != "return" for word in joined) else Effect.READ


def _bare(verb: str, known: frozenset[str]) -> str:
    """Return a verb without its ending, where that is a known one: ``searches``, ``copies``, ``looking``, ``getting``."""
    endings: tuple[str, ...] = ()
    if verb.endswith("ing"):
        endings = (verb[:-3], f"{verb[:-3]}e", verb[:-4])
    elif verb.endswith("s"):
        endings = (verb[:-1], verb[:-2], f"{verb[:-3]}y")
    return verb if verb in known else next((bare for bare in endings if bare in known), verb)


# -- what cannot be undone --------------------------------------------------------------------------------------------

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
