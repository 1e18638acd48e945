"""Cards from runs of the same task, one of which recovered from a failure that the other met.

Pairs are aligned at the first failure of the failing run that the good one recovered from: the same tool and kind, else the
same tool, else the same words from another tool (one server's error); where the good run never failed there, at its call of
that tool that worked, with other arguments. A failing run
whose task has no such good run is set beside good runs of other tasks that recovered from the same failure, and that is
said of the pair. What was done then is the card's step; what all runs came to with it is its evidence. Runs that differ in
something else than what they did about a failure give no card. Nothing of a result's text gets on a card.
(Pairing success and failure of one task: the RSD part of the Agent-Reflex paper; the rules of induction are btm's own.)
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from btm.model import Action, ErrorKind, Family
from btm.skills.card import CardEvidence, CardStep, SkillCard, SkillTrigger, described
from btm.skills.tries import RunRecord, SkillTry, changed

MOST_A_TRIGGER = 2
"""Cards that are kept for one failure of one domain."""

_MOST_NAMED = 20  # pairs that a card names
_MOST_OTHERS = 2  # good runs of other tasks that a failing run is set beside
_AVOID_TRIED, _AVOID_WORKED = 3, 0.1
_SAME = ("same failure", "same words of another tool")
_OFFERS = (Action.RETRY, Action.REVISE, Action.REPAIR, Action.SWITCH)


class SkillPair(NamedTuple):
    """A run that recovered and one of the same task that did not, aligned at what was tried about one failure."""

    task: str
    good: str
    bad: str
    tried: SkillTry
    how: str


@dataclass(frozen=True)
class Mined:
    """What mining came to. ``pairs`` counts all pairs of a good and a bad run of one task; ``used`` are those aligned."""

    runs: int
    tasks: int
    pairs: int
    used: tuple[SkillPair, ...]
    cards: tuple[SkillCard, ...]


_Lesson = tuple[str, ErrorKind, Action, str]


@dataclass
class _Support:
    pairs: list[SkillPair] = field(default_factory=list)

    @property
    def tasks(self) -> set[str]:
        return {pair.task for pair in self.pairs}


def mine(runs: Sequence[RunRecord], domain: str = "", created_at: float = 0.0) -> Mined:
    """Return the cards that runs teach. The same runs give the same cards, whatever their order."""
    runs = sorted({run.name: run for run in runs}.values(), key=lambda run: run.name)
    by_task: dict[str, list[RunRecord]] = defaultdict(list)
    for run in runs:
        if run.task:
            by_task[run.task].append(run)
    pairs, used = 0, []
    for own in by_task.values():
        good, bad = [r for r in own if r.succeeded], [r for r in own if not r.succeeded]
        pairs += len(good) * len(bad)
        used += [pair for g in good for b in bad if (pair := aligned(g, b)) is not None]
    used += _across_tasks(by_task, {pair.bad for pair in used})
    support: dict[_Lesson, _Support] = defaultdict(_Support)
    for pair in used:
        support[_lesson(pair.tried)].pairs.append(pair)
    tally = tallied(runs)
    cards = [_card(lesson, found, tally, domain, created_at) for lesson, found in support.items()]
    return Mined(len(runs), len(by_task), pairs, tuple(used), tuple(_kept(cards)))


def aligned(good: RunRecord, bad: RunRecord) -> SkillPair | None:
    """Return where a good run recovered from what a bad one met, None where they cannot be set side by side."""
    recovered = [t for t in good.tries if t.worked and t.action in _OFFERS]
    for _, tool, kind, _ in bad.failures:
        for one in recovered:
            if (one.tool, one.kind) == (tool, kind):
                return SkillPair(good.task, good.name, bad.name, one, "same failure")
    for _, tool, _, _ in bad.failures:
        for one in recovered:
            if one.tool == tool:
                return SkillPair(good.task, good.name, bad.name, one, "same tool")
    for _, _, kind, wording in bad.failures:
        for one in recovered:
            if wording and (one.kind, one.signature) == (kind, wording):
                return SkillPair(good.task, good.name, bad.name, one, "same words of another tool")
    for place, tool, kind, wording in bad.failures:
        right = good.good_calls.get(tool)
        if right is None or kind.family is not Family.CALLER:
            continue
        changes = changed(bad.bad_calls[place], right)
        if changes:
            tried = SkillTry(tool, kind, wording, Action.REVISE, "", True, place, None, changes)
            return SkillPair(good.task, good.name, bad.name, tried, "right arguments")
    return None


def _across_tasks(by_task: Mapping[str, Sequence[RunRecord]], done: set[str]) -> Iterator[SkillPair]:
    """Give pairs of runs of two tasks, for failing runs that no run of their own task tells anything about."""
    good = [run for own in by_task.values() for run in own if run.succeeded]
    for task, own in by_task.items():
        for bad in own:
            if bad.succeeded or bad.name in done:
                continue
            others = (aligned(run, bad) for run in good if run.task != task)
            same = [pair for pair in others if pair is not None and pair.how in _SAME]
            yield from (pair._replace(task=task, how="another task") for pair in same[:_MOST_OTHERS])


def tallied(runs: Iterable[RunRecord]) -> Mapping[_Lesson, tuple[int, int]]:
    """Return for each (tool, kind, action, target) how often it worked, and how often it was tried, once a run."""
    worked: Counter[_Lesson] = Counter()
    tried: Counter[_Lesson] = Counter()
    for run in runs:
        best: dict[_Lesson, bool] = {}
        for one in run.tries:
            # An agent in a loop has one experience: the first try of each sort tells what the next first try will do.
            best.setdefault(_lesson(one), one.worked)
        for lesson, ok in best.items():
            tried[lesson] += 1
            worked[lesson] += ok
    return {lesson: (worked[lesson], n) for lesson, n in tried.items()}


def _lesson(tried: SkillTry) -> _Lesson:
    return tried.tool, tried.kind, tried.action, tried.target


def _card(
    lesson: _Lesson,
    support: _Support,
    tally: Mapping[_Lesson, tuple[int, int]],
    domain: str,
    created_at: float,
) -> SkillCard:
    tool, kind, action, target = lesson
    examples = [pair.tried for pair in support.pairs]
    worked, tried = tally.get(lesson, (0, 0))
    step = CardStep(
        action=action, tool=target, arguments=_common_arguments(examples), changes=_common_changes(examples)
    )
    avoid = tuple(_avoided(lesson, tally))
    wordings = {one.signature for one in examples}
    named = sorted({f"{pair.good} > {pair.bad}" for pair in support.pairs})
    return SkillCard(
        id=_slug(tool, kind, action, target),
        domain=domain,
        trigger=SkillTrigger(
            tool=tool, kind=str(kind), signature=wordings.pop() if len(wordings) == 1 else ""
        ),
        steps=(step,),
        text=described(tool, kind, (step,), avoid),
        avoid=avoid,
        evidence=CardEvidence(
            worked=worked, tried=tried, pairs=tuple(named[:_MOST_NAMED]), tasks=len(support.tasks)
        ),
        created_at=created_at,
    )


def _common_arguments(examples: Sequence[SkillTry]) -> dict[str, str] | None:
    """Return the templates that all examples agree in."""
    given = [dict(one.arguments) for one in examples if one.arguments is not None]
    if not given:
        return None
    return {k: v for k, v in sorted(given[0].items()) if all(other.get(k) == v for other in given[1:])}


def _common_changes(examples: Sequence[SkillTry]) -> tuple[str, ...]:
    sets = [set(one.changes) for one in examples if one.changes]
    return tuple(sorted(set.intersection(*sets)))[:4] if sets else ()


def _avoided(lesson: _Lesson, tally: Mapping[_Lesson, tuple[int, int]]) -> Iterator[Action]:
    """Give the actions of the failed tool itself that hardly ever worked after this failure."""
    tool, kind, own, _ = lesson
    for action in (Action.RETRY, Action.REVISE):
        worked, tried = tally.get((tool, kind, action, ""), (0, 0))
        if action is not own and tried >= _AVOID_TRIED and worked <= _AVOID_WORKED * tried:
            yield action


def _kept(cards: Iterable[SkillCard]) -> Iterator[SkillCard]:
    """Give the best cards of each trigger: those that work at least as often as not, most tasks behind them first."""
    of_trigger: dict[tuple[str, str], list[SkillCard]] = defaultdict(list)
    for card in cards:
        if card.chance >= 0.5:
            of_trigger[card.trigger.tool, card.trigger.kind].append(card)
    for _, found in sorted(of_trigger.items()):
        best = sorted(found, key=lambda card: (-card.chance, -card.evidence.tasks, card.id))
        yield from best[:MOST_A_TRIGGER]


def _slug(*words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", "-".join(filter(None, words)).lower()).strip("-")[:120]
