"""Fallbacks proposed from names, descriptions, schemas and what agents really did; a person accepts them, one by one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from btm.fallback.checking import steps_of
from btm.fallback.schema import MapFile
from btm.maps.evidence import Row, Switch, switches
from btm.maps.observed import Observations
from btm.maps.schemas import fits
from btm.maps.toolinfo import ToolInfo
from btm.model import Effect
from btm.support.effect_words import READ_VERBS
from btm.support.effects import name_words

MIN_SCORE = 0.35
"""Below this a pair is not worth a person's time; the scale is that of :func:`_likeness`, in [0, 1]."""
_STOP = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "given", "id", "in", "is", "it", "its", "of", "on",
     "or", "that", "the", "this", "to", "tool", "use", "used", "when", "with", "will", "you", "your", "returns", "return")
)  # fmt: skip


@dataclass(frozen=True)
class Suggestion:
    """One proposed fallback, with its reasons. ``fallback`` is what would be written into the map."""

    tool: str
    target: str
    score: float
    reasons: tuple[str, ...]
    fallback: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the suggestion as JSON values."""
        return {
            "tool": self.tool,
            "target": self.target,
            "score": round(self.score, 3),
            "reasons": list(self.reasons),
            "fallback": dict(self.fallback),
        }


def suggest(
    model: MapFile,
    tools: Iterable[ToolInfo] = (),
    rows: Iterable[Row] = (),
    *,
    observed: Observations | None = None,
    limit: int = 3,
) -> list[Suggestion]:
    """Propose fallbacks that the map does not have yet, best first, at most ``limit`` for a tool.

    Tools come from the map, made richer by ``tools`` where they are given. A write is never proposed for a read nor
    a read for a write. ``rows`` is evidence as :func:`btm.maps.evidence.rows_of` gives it; what logs showed of arguments
    (``observed``) goes before what their names say.
    """
    known = _tools_of(model, tools)
    weights = _weights(known.values())
    seen = switches(rows)
    found: list[Suggestion] = []
    for name, entry in model.tools.items():
        if entry.role is not None:
            continue
        present = {steps_of(fallback)[-1].tool for fallback in entry.fallbacks}
        offers = [
            made
            for other, target in model.tools.items()
            if other != name
            and other not in present
            and target.role is None
            and target.effective is entry.effective
            if (
                made := _pair(
                    known[name], known[other], entry.effective, weights, seen.get((name, other), [])
                )
            )
        ]
        best = sorted(offers, key=lambda s: (-s.score, s.target))[:limit]
        found.extend(_given(one, observed) if observed is not None else one for one in best)
    return sorted(found, key=lambda s: (-s.score, s.tool, s.target))


def _given(suggestion: Suggestion, observed: Observations) -> Suggestion:
    """Return a suggestion with the arguments that were seen."""
    seen = observed.arguments(suggestion.tool, suggestion.target)
    if not seen:
        return suggestion
    arguments = {**suggestion.fallback.get("arguments", {}), **seen}
    reason = f"in the logs these arguments were the same: {', '.join(sorted(seen))}"
    fallback = {**suggestion.fallback, "arguments": arguments}
    return replace(suggestion, reasons=(*suggestion.reasons, reason), fallback=fallback)


def _tools_of(model: MapFile, tools: Iterable[ToolInfo]) -> dict[str, ToolInfo]:
    real = {tool.name: tool for tool in tools}
    made: dict[str, ToolInfo] = {}
    for name, entry in model.tools.items():
        if name in real:
            made[name] = real[name]
            continue
        properties: dict[str, Any] = {argument: {} for argument in entry.argument_names}
        schema = {"type": "object", "properties": properties, "required": list(entry.required_arguments)}
        made[name] = ToolInfo(
            name, entry.description, schema if entry.takes is not None else {}, entry.returns
        )
    return made


def _pair(
    failed: ToolInfo,
    target: ToolInfo,
    effect: Effect | None,
    weights: Mapping[str, float],
    seen: list[Switch],
) -> Suggestion | None:
    likeness, reasons = _likeness(failed, target, weights)
    tried, worked = sum(s.tried for s in seen), sum(s.worked for s in seen)
    if tried >= 1:
        # Laplace's rule keeps a single success from counting as certainty.
        likeness = max(likeness, (worked + 1) / (tried + 2))
        reasons.insert(0, _told(seen))
    elif likeness < MIN_SCORE or (effect is Effect.WRITE and likeness < 0.6):
        return None  # a write that merely looks alike may do something else
    arguments = _arguments(failed, target)
    fallback: dict[str, Any] = {"tool": target.name, "coverage": "partial"}
    if arguments:
        fallback["arguments"] = arguments
    lacks = [name for name in failed.returns if name not in target.returns] if target.returns else []
    if lacks:
        fallback["lacks"] = lacks
    return Suggestion(failed.name, target.name, min(1.0, likeness), tuple(reasons), fallback)


def _told(seen: list[Switch]) -> str:
    parts = [
        f"after {s.tool} failed with {s.kind}, agents went to {s.target} {s.tried:.0f} times; it worked {s.worked:.0f} times"
        for s in seen[:3]
    ]
    return "; ".join(parts)


def _likeness(failed: ToolInfo, target: ToolInfo, weights: Mapping[str, float]) -> tuple[float, list[str]]:
    """How alike two tools are in [0, 1]: names count most, then results, descriptions and arguments."""
    reasons: list[str] = []
    names = _overlap(_nouns(failed.name), _nouns(target.name), weights)
    shared = [word for word in dict.fromkeys(_nouns(failed.name)) if word in _nouns(target.name)]
    if shared:
        reasons.append(f"both names speak of {', '.join(shared)}")
    texts = _overlap(_words(failed.description), _words(target.description), weights)
    if texts >= 0.3:
        common = sorted(
            set(_words(failed.description)) & set(_words(target.description)), key=lambda w: (-weights[w], w)
        )
        reasons.append(f"their descriptions share {', '.join(common[:4])}")
    results = 0.0
    if failed.returns and target.returns:
        both = [name for name in failed.returns if name in target.returns]
        results = len(both) / len(failed.returns)
        if both:
            reasons.append(
                f"{target.name} returns {len(both)} of {len(failed.returns)} fields: {', '.join(both[:5])}"
            )
    wanted = [name for name in target.required if name in failed.properties]
    arguments = len(wanted) / len(target.required) if target.required else 0.5
    if wanted and len(wanted) == len(target.required):
        reasons.append(f"all it requires is in the failed call: {', '.join(wanted)}")
    parts = [(names, 0.5), (texts, 0.2), (arguments, 0.1)] + (
        [(results, 0.35)] if failed.returns and target.returns else []
    )
    score = sum(value * weight for value, weight in parts) / sum(weight for _, weight in parts)
    same_job = names >= 0.99 and failed.name.split("_")[0] != target.name.split("_")[0]
    return (max(score, 0.5) if same_job else score), reasons


def _arguments(failed: ToolInfo, target: ToolInfo) -> dict[str, str]:
    """Templates for what the target requires: from the call where a name and type fit, else from what is known."""
    made: dict[str, str] = {}
    for name in target.required:
        if name in failed.properties and fits(failed.types(name), target.types(name)):
            made[name] = f"{{{{ call.{name} }}}}"
        else:
            made[name] = f"{{{{ known.{name} }}}}"
    return made


def _nouns(name: str) -> list[str]:
    words = [_stem(word) for word in name_words(name) if word not in _STOP]
    nouns = [word for word in words if word not in READ_VERBS]
    return nouns or words


def _words(text: str) -> list[str]:
    return [_stem(word) for word in re.findall(r"[a-z]{3,}", text[:2_000].lower()) if word not in _STOP]


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _weights(tools: Iterable[ToolInfo]) -> dict[str, float]:
    """Inverse document frequency: a word that every tool has says nothing."""
    found = list(tools)
    counts = Counter(word for tool in found for word in {*_nouns(tool.name), *_words(tool.description)})
    return {word: math.log((len(found) + 1) / count) + 0.1 for word, count in counts.items()}


def _overlap(one: list[str], other: list[str], weights: Mapping[str, float]) -> float:
    both, either = set(one) & set(other), set(one) | set(other)
    total = sum(weights.get(word, 1.0) for word in either)
    return sum(weights.get(word, 1.0) for word in both) / total if total else 0.0
