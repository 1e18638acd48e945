"""What a tool does to the world, guessed from its name when nobody said."""

from __future__ import annotations

import re

from btm.model import Effect

READ_VERBS = frozenset(
    (
        "analyse", "analyze", "browse", "calc", "calculate", "check", "compare", "compute", "count",
        "describe", "detect", "diff", "display", "estimate", "exists", "explain", "fetch", "filter",
        "find", "get", "has", "help", "inspect", "is", "list", "locate", "look", "lookup", "ls",
        "monitor", "peek", "ping", "preview", "print", "query", "quote", "read", "retrieve", "scan",
        "search", "select", "show", "stat", "status", "summarize", "test", "think", "track",
        "translate", "validate", "verify", "view", "watch", "whoami", "cat", "convert", "grep", "head",
        "pwd", "tail", "tree", "wc",
    )
)  # fmt: skip
"""First words of names whose tools only look. ``cd`` is left out: it moves the place where later calls act."""

_WRITE_WORDS = frozenset(
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
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def name_words(name: str) -> tuple[str, ...]:
    """Split a tool's name into lower-case words: ``getOrderV2``, ``get_order.v2`` and ``GET-order`` alike."""
    return tuple(word.lower() for word in _WORD.findall(name[:200]))


def guess_effect(name: str) -> Effect:
    """Guess a tool's effect from its name: a reading verb in front means a read, anything else a write.

    The careful assumption is the write: a read taken for a write costs a verification, a write taken for a read
    may happen twice. A name with a writing verb after its reading one ("check_and_update") is a write; the verb of
    the last dotted part counts ("OrderApi.get_order"). A "find_or_create" is a write.
    """
    tail = re.split(r"[./:]|__", name)[-1]
    words = name_words(tail) or name_words(name)
    if not words or words[0] not in READ_VERBS:
        return Effect.WRITE
    joined = any(word in ("and", "or", "then") for word in words)
    return Effect.WRITE if joined and any(word in _WRITE_WORDS for word in words[1:]) else Effect.READ
