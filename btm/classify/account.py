"""How a text was judged, step by step, for ``btm classify --explain``: its layers, its words, the signs for both sides."""

from __future__ import annotations

from dataclasses import dataclass

from btm.classify import carriers, deciding, languages, plain, rules, texts
from btm.classify.engine import classify
from btm.classify.finding import Finding
from btm.model import Outcome, ToolCall


@dataclass(frozen=True, slots=True)
class Account:
    """What was found out about one text, and how.

    ``layers`` are the names of what it is wrapped in, from the outside in, ``inner`` is what is left. ``rule`` is the
    wording that names the kind, with its ``source``; ``runner_up`` is the next one that matches. ``signs`` are those of
    the decision with their weights in logits (above 0: an error text), ``chance`` is what they add up to.
    """

    outcome: Outcome
    layers: tuple[str, ...]
    inner: str
    rule: str
    source: str
    runner_up: str
    signs: tuple[tuple[str, float], ...]
    chance: float


def account_of(text: str, call: ToolCall) -> Account:
    """Return how ``text``, the answer to ``call``, is judged."""
    carried = carriers.strip(text)
    inner = carried.inner if carried is not None else text
    told = plain.read(text, call.tool)
    shown = deciding.evidence(
        text, len(text), call.tool, carried, _said(inner), writes=call.effect.value == "write"
    )
    weights = deciding.weights()
    summed = ((name, weights.get(name, 0.0) * much) for name, much in shown.items())
    signs = sorted(summed, key=lambda sign: -abs(sign[1]))
    wordings = list(rules.wording().matching(texts.unquoted(inner.lower())[: texts.HEAD]))
    foreign = languages.find(inner.lower())
    return Account(
        outcome=classify(call, text),
        layers=carried.layers if carried is not None else (),
        inner=inner,
        rule=wordings[0].pattern if wordings else foreign.reason if foreign is not None else "",
        source=wordings[0].source if wordings else "message catalogues" if foreign is not None else "",
        runner_up=f"{wordings[1].kind}: {wordings[1].pattern}" if len(wordings) > 1 else "",
        signs=tuple(signs),
        chance=told.chance,
    )


def _said(inner: str) -> Finding | None:
    return texts.of_words(inner) if inner else None
