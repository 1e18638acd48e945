"""From gold calls to a script: run them once in a clean session and note where each argument's value was shown.

This is where the gate is made: a value that neither the user gave nor an earlier result showed is an
``UnboundError``, and the task cannot be scripted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from btm.errors import EvaluationError
from btm.lab.environment import ExpectedAnswer, Given, ScriptStep, Session, ShownValue, Source
from btm.lab.jsonvalue import ABSENT, Pair, Path, at, element_path, equal, field_name, leaves, pairs, parsed
from btm.model import Effect


class UnboundError(EvaluationError):
    """A gold call needs a value that neither the user gave nor a result showed before it."""


@dataclass(frozen=True, slots=True)
class Gold:
    """One call of the gold solution. ``requires`` are places (step, path) that must have been seen before it."""

    tool: str
    arguments: Mapping[str, Any]
    requires: tuple[tuple[int, Path], ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedScript:
    """A script, and what its calls gave in the clean session, step by step."""

    steps: tuple[ScriptStep, ...]
    results: tuple[Any, ...]

    def answer(self, *places: tuple[int, Path], text: str | None = None) -> ExpectedAnswer:
        """Return an answer that rests on these places, by default the value at the first of them.

        Raises UnboundError when a place shows nothing.
        """
        sources = tuple(seen(self.results, *place) for place in places)
        return ExpectedAnswer(str(sources[0].value) if text is None else text, sources)


def is_word_in(word: str, text: str) -> bool:
    """Whether a text holds a word as one of its own, not as a part of a longer one, an address or a number."""
    return re.search(_as_word(word), text) is not None


def with_word_replaced(word: str, text: str, new: str) -> str:
    """Return a text with ``new`` wherever it holds a word as :func:`is_word_in` finds it."""
    return re.sub(_as_word(word), lambda _: new, text)


def _as_word(word: str) -> str:
    return rf"(?<![\w.]){re.escape(word)}(?![\w@]|\.\w)"


def bind(
    calls: Sequence[Gold],
    session: Session,
    given: Callable[[Path, Any], bool],
    effects: Mapping[str, Effect],
    *,
    knows: bool = False,
) -> RecordedScript:
    """Run the gold calls in a clean session and return the script.

    ``given(path, value)`` says whether an argument's leaf came from the user or is the agent's own; with ``knows`` the agent
    is taken to know what nothing shows. Raises UnboundError for any other leaf that is neither given nor shown, and
    whatever a gold call raises.
    """
    steps: list[ScriptStep] = []
    results: list[Any] = []
    for gold in calls:
        sources = tuple(
            (path, Given() if given(path, value) else _shown(results, gold.tool, path, value, knows=knows))
            for path, value in leaves(gold.arguments)
            if path
        )
        requires = tuple(seen(results, *place) for place in gold.requires)
        result = session.call(gold.tool, gold.arguments)
        effect = effects[gold.tool]
        evidence = _news(results, parsed(result)) if effect is Effect.WRITE else ()
        steps.append(ScriptStep(gold.tool, gold.arguments, sources, requires, evidence, effect))
        results.append(parsed(result))
    return RecordedScript(tuple(steps), tuple(results))


def seen(results: Sequence[Any], step: int, path: Path) -> ShownValue:
    """Return the place with the value it shows; raises UnboundError when there is none."""
    value = at(results[step], path) if step < len(results) else ABSENT
    if value is ABSENT:
        raise UnboundError(f"the result of step {step} shows nothing at {path}")
    return ShownValue(step, path, value, _beside(results[step], path))


def _beside(result: Any, path: Path) -> tuple[Pair, ...]:
    """Return what stands with a value in the same element of a list, in a fixed order."""
    element = element_path(path)
    if element is None:
        return ()
    others = pairs(at(result, element)) - {(field_name(path), at(result, path))}
    return tuple(sorted(others, key=repr)) if len(path) > len(element) else ()


def _shown(results: Sequence[Any], tool: str, path: Path, value: Any, *, knows: bool) -> Source:
    """Find where a value was shown: under the argument's own name if anywhere, else at the first place."""
    places = [
        (step, place)
        for step, result in enumerate(results)
        for place, found in leaves(result)
        if equal(found, value)
    ]
    if not places and knows:
        return Given()
    if not places:
        raise UnboundError(
            f"{tool} needs {_dotted(path)} = {value!r}, which the user does not give and no call shows"
        )
    name = field_name(path).removeprefix("new_").removesuffix("s")
    same = [(step, place) for step, place in places if field_name(place) in (name, f"{name}s")]
    return seen(results, *(same or places)[0])


def _news(earlier: Sequence[Any], result: Any) -> tuple[tuple[str, Any], ...]:
    """Return the pairs that a write's result shows and nothing before it did, in a fixed order."""
    old = set[tuple[str, Any]]().union(*(pairs(e) for e in earlier)) if earlier else set()
    return tuple(sorted(pairs(result) - old, key=repr))


def _dotted(path: Path) -> str:
    return ".".join(str(key) for key in path)
