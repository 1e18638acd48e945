"""What a tool does to the world, guessed from its name and its description when it is not stated."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from btm.model import Effect

READ_VERBS = frozenset(
    (
        "analyse", "analyze", "browse", "calc", "calculate", "cat", "check", "compare", "compute",
        "count", "describe", "detect", "diff", "display", "estimate", "exists", "explain", "fetch",
        "filter", "find", "geocode", "get", "grep", "has", "head", "help", "inspect", "is", "list",
        "locate", "look", "lookup", "ls", "peek", "ping", "preview", "pwd", "query", "read",
        "retrieve", "scan", "search", "show", "stat", "status", "summarize", "tail", "think",
        "translate", "tree", "validate", "verify", "view", "wc", "whoami",
    )
)  # fmt: skip
"""Verbs of tools that only look. Left out is what may also do something: track, watch, select, print, convert, cd."""

WRITE_WORDS = frozenset(
    (
        "activate", "add", "append", "approve", "assign", "book", "buy", "cancel", "change", "charge",
        "clear", "close", "commit", "confirm", "copy", "create", "deactivate", "delete", "deploy",
        "disable", "drop", "edit", "enable", "execute", "exchange", "grant", "insert", "install",
        "issue", "kill", "merge", "modify", "move", "open", "order", "pay", "place", "post", "publish",
        "purchase", "push", "put", "refuel", "refund", "reject", "remove", "rename", "replace", "reset",
        "restart", "resume", "return", "revoke", "run", "schedule", "sell", "send", "set", "start",
        "stop", "submit", "suspend", "toggle", "touch", "transfer", "trigger", "uninstall", "unlock",
        "update", "upload", "upsert", "withdraw", "write",
    )
)  # fmt: skip
# Writing verbs that are as often nouns: they count behind an "and" alone.
_JOINED_DEEDS = frozenset(
    (
        "acknowledge", "apply", "archive", "claim", "dismiss", "email", "flag", "hold", "import", "label", "lock",
        "log", "mark", "notify", "pin", "redeem", "renew", "reply", "reserve", "save", "share", "store", "sync", "tag",
    )
)  # fmt: skip
# Writing verbs that are as often nouns or adjectives: what they stand beside says which.
_ALSO_NOUNS = frozenset(
    (
        "book", "change", "charge", "close", "commit", "copy", "drop", "edit", "exchange", "grant", "install", "issue",
        "merge", "move", "open", "order", "place", "post", "purchase", "push", "put", "refund", "reset", "return", "run",
        "schedule", "set", "start", "stop", "touch", "transfer", "trigger", "update", "upload",
    )
)  # fmt: skip
_LOOKED_UP = frozenset(
    ("weather", "forecast", "wikipedia", "arxiv", "calculator", "dictionary", "statistics", "stats")
)
_FACTS = frozenset(
    (
        "availability", "balance", "details", "forecast", "history", "info", "information", "list", "price", "prices",
        "rate", "rates", "schedule", "stats", "status", "summary", "table",
    )
)  # fmt: skip
# What descriptions begin with where names do not.
_TELLS = READ_VERBS | {
    "answer", "classify", "convert", "divide", "evaluate", "extract", "give", "multiply", "obtain", "parse", "predict",
    "provide", "recommend", "report", "return", "subtract", "suggest", "tell",
}  # fmt: skip
_DOES = WRITE_WORDS | _JOINED_DEEDS | {
    "adjust", "authenticate", "bill", "block", "broadcast", "comment", "contact", "dispatch", "donate", "fill", "follow",
    "fund", "invite", "invoice", "join", "leave", "login", "logout", "make", "mention", "message", "press", "register",
    "reimburse", "release", "remit", "rent", "request", "resolve", "retweet", "settle", "ship", "sign", "subscribe",
    "talk", "turn", "unfollow", "unsubscribe", "wire",
}  # fmt: skip
# Of these, what a description may also begin with as a noun ("Comments on an issue"): an article behind it tells.
_NOUNS = _ALSO_NOUNS | _JOINED_DEEDS | {
    "bill", "block", "comment", "contact", "fund", "invoice", "message", "mention", "press", "release", "rent",
    "request", "ship", "sign", "turn", "wire",
}  # fmt: skip
_OPENING = re.compile(
    r"(?:(?:this|an?|the)\s+)?(?:(?:tool|function|method|endpoint|api|use(?:\s+this)?|used|useful|call\s+this)\b\s*)?"
    r"(?:(?:tool|function)\b\s*)?(?:(?:that|which|to|for|is\s+used\s+to|allows\s+you\s+to|lets\s+you|can|will)\s+)*",
    re.IGNORECASE,
)
_FIRST = re.compile(r"([A-Za-z]+)(?:\s+([a-z]+))?")
_JOINED = re.compile(r"(?:\b(?:and|or|then|also|to)|[,;/&])\s+([a-z]+)", re.IGNORECASE)
_DETERMINERS = frozenset(
    (
        "a",
        "an",
        "the",
        "this",
        "that",
        "these",
        "one",
        "some",
        "any",
        "all",
        "new",
        "it",
        "your",
        "my",
        "their",
        "money",
    )
)
_READ_FAR = 400  # characters of a description

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
    words = frozenset(name_words(re.split(r"[./:]|__", name)[-1]))
    given = frozenset(str(argument).lower() for argument in itertools.islice(arguments, 20))
    if not words.isdisjoint(_SHELLS) or not (words.isdisjoint(_RUNS) or words.isdisjoint(_RUN)):
        return True
    if not words.isdisjoint(_GOES) and not given.isdisjoint(_ADDRESSES):
        return True
    return len(given) <= 3 and not given.isdisjoint(_COMMANDS)


class Guess(NamedTuple):
    """A guessed effect; ``known`` says whether anything spoke for it, or it is the careful assumption."""

    effect: Effect
    known: bool


def guess_effect(name: str, description: str = "") -> Effect:
    """Guess a tool's effect, a write where nothing tells; see :func:`guess`."""
    return guess(name, description).effect


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
    return words[-1] in _FACTS and not any(word in WRITE_WORDS - _ALSO_NOUNS for word in words)


def _named(name: str) -> Effect | None:
    """Return what a name says: a read by the verb in front, a write by a verb that changes something, or nothing.

    A word before the verb may be a namespace ("github_list_issues"), unless it is a writing verb itself ("book_list");
    the last dotted part counts ("OrderApi.get_order"). A name that joins a writing verb to its reading one is a write
    ("find_or_create"), and so are check-ins and check-outs.
    """
    tail = re.split(r"[./:]|__", name)[-1]
    whole = name_words(tail) or name_words(name)
    words = whole[1:] if len(whole) > 1 and whole[0] not in READ_VERBS | WRITE_WORDS else whole
    if not words:
        return None
    if words[:2] in (("check", "in"), ("check", "out")) or whole[:2] in (("check", "in"), ("check", "out")):
        return Effect.WRITE
    if words[0] in READ_VERBS:
        joined = any(word in ("and", "or", "then") for word in words)
        deeds = WRITE_WORDS | _JOINED_DEEDS
        return Effect.WRITE if joined and any(word in deeds for word in words[1:]) else Effect.READ
    if whole[0] in WRITE_WORDS or any(word in WRITE_WORDS - _ALSO_NOUNS for word in whole):
        return Effect.WRITE
    if len(words) < len(whole) and words[0] in WRITE_WORDS and len(words) > 1:  # trello_move_card
        return Effect.WRITE
    return Effect.READ if whole[-1] in _LOOKED_UP and _JOINED_DEEDS.isdisjoint(whole) else None


def _told(description: str) -> Effect | None:
    """Return what a description says by the verb it begins with, and by deeds that it joins to it."""
    text = description[:_READ_FAR].strip()
    sentence = re.split(r"\n\s*\n|[.!?](?:\s|$)", text, maxsplit=1)[0]
    opening = _OPENING.match(sentence)
    first = _FIRST.match(sentence, opening.end() if opening else 0)
    if first is None:
        return None
    verb, beside = _bare(first[1].lower(), _TELLS | _DOES), (first[2] or "").lower()
    if verb in _DOES and verb != "return":
        return Effect.WRITE if verb not in _NOUNS or beside in _DETERMINERS else None
    if verb not in _TELLS:
        return None
    joined = (_bare(found.lower(), _DOES) for found in _JOINED.findall(sentence, first.end(1)))
    return None if any(word in _DOES and word != "return" for word in joined) else Effect.READ


def _bare(verb: str, known: frozenset[str]) -> str:
    """Return a verb without its ending, where that is a known one: ``searches``, ``copies``, ``looking``, ``getting``."""
    endings: tuple[str, ...] = ()
    if verb.endswith("ing"):
        endings = (verb[:-3], f"{verb[:-3]}e", verb[:-4])
    elif verb.endswith("s"):
        endings = (verb[:-1], verb[:-2], f"{verb[:-3]}y")
    return verb if verb in known else next((bare for bare in endings if bare in known), verb)
