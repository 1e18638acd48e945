"""What a tool does to the world, guessed from its name when it is not stated."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

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


def guess_effect(name: str) -> Effect:
    """Guess a tool's effect from its name: a reading verb in front means a read, anything else a write.

    The careful assumption is the write: a read taken for a write costs a verification, a write taken for a read
    may happen twice. A word before the verb may be a namespace ("github_list_issues"), unless it is a writing verb
    itself ("book_list"); the last dotted part counts ("OrderApi.get_order"). A name that joins a writing verb to its
    reading one is a write ("find_or_create"), and so are check-ins and check-outs.
    """
    tail = re.split(r"[./:]|__", name)[-1]
    words = name_words(tail) or name_words(name)
    if len(words) > 1 and words[0] not in READ_VERBS | WRITE_WORDS:
        words = words[1:]
    if not words or words[0] not in READ_VERBS or words[:2] in (("check", "in"), ("check", "out")):
        return Effect.WRITE
    joined = any(word in ("and", "or", "then") for word in words)
    deeds = WRITE_WORDS | _JOINED_DEEDS
    return Effect.WRITE if joined and any(word in deeds for word in words[1:]) else Effect.READ
