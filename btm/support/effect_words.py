"""Words of tools' names: those that say that a tool only looks, and those that say that it does something."""

from __future__ import annotations

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
# Writing verbs that are as often nouns: in front they are a deed, behind a reading verb what is read ("get_log").
NOUN_DEEDS = frozenset(
    (
        "acknowledge", "apply", "archive", "backup", "ban", "block", "book", "charge", "claim", "comment", "copy",
        "deposit", "dismiss", "email", "exchange", "export", "flag", "fork", "hold", "import", "invite", "issue", "label",
        "lock", "log", "mark", "message", "note", "notify", "draft", "report", "open",
        "order", "patch", "pin", "place", "post", "purchase",
        "redeem", "refund", "release", "renew", "reply", "request", "reserve", "return", "review", "run", "save",
        "schedule", "share", "star", "store", "swap", "sync", "tag", "trade", "transfer", "vote", "watch", "follow",
    )
)  # fmt: skip
OTHER_DEEDS = frozenset(
    (
        "accept", "adjust", "advance", "allocate", "ask", "attach", "authorize", "auth", "begin", "bind", "bulk", "call",
        "checkin", "checkout", "clone", "complete", "compose", "configure", "connect", "convert", "decline", "dequeue",
        "destroy", "detach", "disconnect", "dispatch", "download", "duplicate", "emit", "empty", "enqueue",
        "enroll", "erase", "escalate", "expire", "extend", "finish", "fire", "forget", "forward", "fulfill", "generate",
        "give", "handle", "hide", "ignore", "increment", "ingest", "init", "initialize", "invoke", "join", "launch",
        "leave", "like", "link", "load", "make", "manage", "migrate", "mint", "mute", "mutate", "offer", "pause", "perform",
        "pop", "print", "process", "promote", "provision", "purge", "queue", "raise", "rebuild", "receive", "record",
        "refresh", "register", "reindex", "reorder", "resend", "resize", "resolve", "restore", "retry",
        "revert", "rewrite", "rollback", "rotate", "scale", "seed", "ship", "shutdown", "sign", "skip", "snooze", "split",
        "stage", "subscribe", "swap", "take", "terminate", "toggle", "train", "truncate", "turn", "unarchive",
        "unban", "unblock", "unfollow", "unlink", "unpin", "unshare", "unstar", "unsubscribe", "use", "vacuum", "void",
        "wipe",
    )
)  # fmt: skip
DEEDS = WRITE_WORDS | NOUN_DEEDS | OTHER_DEEDS
# Reading verbs that are as often nouns: "list_create" makes a list, "status_update" changes a status.
NOUN_READS = frozenset(
    ("check", "count", "diff", "display", "estimate", "head", "help", "list", "look", "preview", "query", "read", "scan",
     "search", "show", "stat", "status", "summarize", "tail", "tree", "view")
)  # fmt: skip
THINGS = frozenset(("status", "stat", "head", "tail", "tree", "help"))  # no verbs at all, mostly
# At the end of a name they read what stands before ("domain_get"); "message_read" may mark it as read.
LAST_READS = frozenset(("list", "show", "status", "view"))
# Before a verb that is no noun itself these are what is read: "order_get", "email_search".
CLEAR_READS = frozenset(("get", "find", "lookup", "describe", "search", "fetch", "retrieve"))
MAINLY_NOUNS = frozenset(
    ("backup", "book", "comment", "email", "export", "invite", "issue", "label", "log", "message", "note", "order", "post",
     "refund", "request", "review", "schedule", "share", "tag", "trade", "transfer")
)  # fmt: skip
FOR_SALE = frozenset(
    ("item", "product", "property", "asset", "nft", "token", "house", "home", "car", "vehicle")
)
# Writing verbs that are as often nouns or adjectives: what they stand beside says which.
ALSO_NOUNS = frozenset(
    (
        "book", "change", "charge", "close", "commit", "copy", "drop", "edit", "exchange", "grant", "install", "issue",
        "merge", "move", "open", "order", "place", "post", "purchase", "push", "put", "refund", "reset", "return", "run",
        "schedule", "set", "start", "stop", "touch", "transfer", "trigger", "update", "upload",
    )
)  # fmt: skip
LOOKED_UP = frozenset(
    ("weather", "forecast", "wikipedia", "arxiv", "calculator", "dictionary", "statistics", "stats")
)
FACTS = frozenset(
    (
        "availability", "balance", "details", "forecast", "history", "info", "information", "list", "price", "prices",
        "rate", "rates", "schedule", "stats", "status", "summary", "table",
    )
)  # fmt: skip
# What descriptions begin with where names do not.
TELLS = READ_VERBS | {
    "answer", "classify", "convert", "divide", "evaluate", "extract", "give", "multiply", "obtain", "parse", "predict",
    "provide", "recommend", "report", "return", "subtract", "suggest", "tell",
}  # fmt: skip
DOES = DEEDS - OTHER_DEEDS | {
    "adjust", "authenticate", "bill", "broadcast", "contact", "dispatch", "donate", "fill", "fund", "invoice", "join",
    "leave", "login", "logout", "make", "mention", "press", "register", "reimburse", "remit", "rent", "resolve", "retweet",
    "settle", "ship", "sign", "subscribe", "talk", "turn", "unfollow", "unsubscribe", "wire",
}  # fmt: skip
# Of these, what a description may also begin with as a noun ("Comments on an issue"): an article behind it tells.
NOUNS = ALSO_NOUNS | NOUN_DEEDS | {
    "bill", "contact", "fund", "invoice", "mention", "press", "rent", "ship", "sign", "turn", "wire",
}  # fmt: skip
