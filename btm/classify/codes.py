"""Machine-readable error codes: Slack, Stripe, AWS, Google, gRPC, JSON-RPC, SQLSTATE, MySQL, errno, SMTP.

A code is read without case and punctuation, so that ``TOO_MANY_REQUESTS``, ``tooManyRequests`` and
``TooManyRequestsException`` are one.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from btm.classify.finding import CODE, EXACT, WEAK, Finding, names
from btm.classify.rules import table
from btm.model import ErrorKind as K


@cache
def _kinds() -> dict[str, K]:
    found = {code: K(kind) for kind, listed in table("cloud_codes").items() for code in listed.split()}
    return found | {
        code: K(kind) for kind, listed in table("codes")["codes"].items() for code in listed.split()
    }


def bare(code: str) -> str:
    """Return a code without case and punctuation and the ending that says that it is one."""
    return _SUFFIX.sub("", _PUNCTUATION.sub("", code[:80].lower()))


@cache
def _affixes(which: str) -> tuple[tuple[str, K], ...]:
    return tuple((affix, K(kind)) for affix, kind in table("codes")[which].items())


@cache
def _set(which: str) -> frozenset[str]:
    return names(table("codes")["sets"][which])


_PUNCTUATION = re.compile(r"[\W_]+")
_ABOUT_ACCESS = re.compile(
    r"(?:invalid|missing|expired|bad|no|revoked|malformed)\w{0,12}(?:auth|token|credential|apikey"
    r"|(?:user|license|licence|account|client|app|access)_?key|signature|session|password)"
)
_SUFFIX = re.compile(r"(?:exception|error|err|fault|code)$")


@lru_cache(maxsize=64)
def grpc_kind(number: int) -> K | None:
    """Return the kind that a gRPC status number means, or None for OK and unknown numbers."""
    kinds = table("codes")["grpc"]["kinds"].split()
    return K(kinds[number]) if 0 < number < len(kinds) else None


@lru_cache(maxsize=2_048)
def of_code(code: str) -> Finding | None:
    """Return what a textual code (at most 80 characters of it are read) means, or None when it is not known."""
    key = _PUNCTUATION.sub("", code[:80].lower())
    stem = _SUFFIX.sub("", key)
    last = _PUNCTUATION.sub("", code[:80].lower().rsplit(".", 1)[-1])
    for name in (key, stem, last, _SUFFIX.sub("", last)):
        kind = _kinds().get(name)
        if kind is not None:
            sure = 0.3 if kind is K.UNKNOWN else 0.7 if name in _set("broad") else EXACT
            return Finding(
                kind,
                f"code:{code[:40]}",
                f"error code {code[:40]}",
                sure,
                reached=name not in _set("not_reached"),
            )
    for ending, kind in _affixes("endings"):
        if stem.endswith(ending):
            sure = 0.8 if ending.endswith("required") else CODE
            return Finding(kind, f"code:{code[:40]}", f"error code {code[:40]}", sure)
    if _ABOUT_ACCESS.search(stem):
        return Finding(K.AUTH_ERROR, f"code:{code[:40]}", f"error code {code[:40]}", CODE - 0.01)
    for start, kind in _affixes("starts"):
        if stem.startswith(start):
            return Finding(kind, f"code:{code[:40]}", f"error code {code[:40]}", CODE - 0.01)
    return None


def of_json_rpc(code: int) -> Finding | None:
    """Return what a JSON-RPC or MCP error number means; its message may still say something surer."""
    named = table("codes")["json_rpc"].get(str(code))
    kind = None if named is None else K(named)
    if kind is not None:
        # -32602 is also what servers answer for an unknown tool, so that words go first.
        sure = WEAK if code == -32602 else 0.8
        return Finding(kind, f"json-rpc:{code}", f"JSON-RPC error {code}", sure)
    if -32099 <= code <= -32000:
        return Finding(K.SERVER_ERROR, f"json-rpc:{code}", f"JSON-RPC server error {code}", 0.4)
    return None
