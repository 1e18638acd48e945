"""What stands out in the attempts of a fit, as sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from scipy.special import betaincinv

from btm.model import LAST_RESORTS, Action, ErrorKind, EvidenceKey
from btm.support.signatures import FailureSignature

_MIN_N = 8
_OFTEN = 10
_NEVER = 0.15
_MOSTLY = 0.6


@dataclass(frozen=True, slots=True)
class LogFinding:
    """One sentence about a tool and an error, and the attempts behind it."""

    tool: str
    kind: ErrorKind
    text: str
    n: int


def findings(tried: Mapping[tuple[EvidenceKey, bool], int]) -> list[LogFinding]:
    """Return what is all but certain: recoveries that do not work and recoveries that do, most evidence first.

    A recovery does not work when the 95 % interval of its chance (from Beta(1, 1), all tries together) lies below
    15 %, and works when it lies above 60 %.
    """
    pooled: dict[tuple[str, ErrorKind, Action, str], list[int]] = {}
    for (key, success), times in tried.items():
        if key.action in LAST_RESORTS:
            continue  # a way out, which always "works", and no recovery
        total = pooled.setdefault(key[:4], [0, 0])
        total[0 if success else 1] += times
    found = []
    for (tool, kind, action, target), (worked, failed) in pooled.items():
        n = worked + failed
        low, high = betaincinv(1.0 + worked, 1.0 + failed, (0.025, 0.975))
        if n >= _MIN_N and (high < _NEVER or low > _MOSTLY):
            text = f"{tool} after {kind}: {_DOING[action]}{' ' + target if target else ''} {_verdict(worked, n, low)}"
            found.append(LogFinding(tool, kind, text, n))
    return sorted(found, key=lambda f: (-f.n, f.text))


def seen_once(ways: Mapping[FailureSignature, int]) -> list[FailureSignature]:
    """Return the ways to fail that were seen once: those without a known kind first, then of tools that failed most often.

    Of a tool that failed less than ten times nothing is told but what has no known kind: all that it does is rare.
    """
    by_tool: Counter[str] = Counter()
    for way, times in ways.items():
        by_tool[way.tool] += times
    found = [
        way
        for way, times in ways.items()
        if times == 1 and (by_tool[way.tool] >= _OFTEN or way.kind == ErrorKind.UNKNOWN)
    ]
    return sorted(found, key=lambda way: (way.kind != ErrorKind.UNKNOWN, -by_tool[way.tool], way))


_DOING = {
    Action.RETRY: "repeating unchanged",
    Action.REVISE: "revising the arguments",
    Action.REPAIR: "repairing with",
    Action.SWITCH: "switching to",
    Action.VERIFY: "checking with",
    Action.ESCALATE: "handing over with",
    Action.ABANDON: "giving up",
}


def _verdict(worked: int, n: int, low: float) -> str:
    counts = f"({worked:,} of {n:,})"
    if worked == 0:
        return f"never worked {counts}"
    return f"mostly works {counts}" if low > _MOSTLY else f"hardly ever works {counts}"
