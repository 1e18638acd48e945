"""Building fine-tuning data: three continuations of runs that went wrong, and runs that went right by themselves.

Every sample is kept only if the environment says that the task is done (ReSFT, the Agent-Reflex paper). That nothing of the
card is left in it is checked by its words, which the paper does not describe (:func:`btm.training.samples.leaks`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from btm.lab.environment import ToolSpec
from btm.lab.faults.draw import Draw
from btm.lab.skill_runs import mined_from
from btm.skills.card import SkillCard
from btm.training.continuations import DONE, NOT_DONE, Policy, PolicyRun, correction, transcript_of
from btm.training.curriculum import S1, S2, Split, held_out
from btm.training.rollout import Stages
from btm.training.samples import SampleKind, SampleMessages, SftSample, leaks, stripped

SCENARIOS = (S1, S2)
"""What can be recovered from."""

_SEEDS = 2**31


@dataclass
class SftData:
    """What was built: samples, preference pairs, the cards that helped, and why runs gave nothing."""

    samples: list[SftSample] = field(default_factory=list)
    pairs: list[dict[str, Any]] = field(default_factory=list)
    cards: tuple[SkillCard, ...] = ()
    dropped: Counter[str] = field(default_factory=Counter)


def build(
    domain: str = "shop",
    *,
    seed: int = 0,
    per_task: int = 3,
    cards: Sequence[SkillCard] | None = None,
    split: Split = "train",
) -> SftData:
    """Return data from a domain's tasks, of those to train on or those held out. The same arguments give the same data.

    ``cards`` help while sampling; without them they are mined from runs of the training tasks under other faults.
    ``per_task`` episodes are run a task and scenario.
    """
    stages = Stages(domain)
    draw = Draw((seed, "sft"))
    found = SftData(cards=tuple(cards) if cards is not None else _mined(stages, draw))
    tasks = [task for task in stages.tasks if held_out(task) is (split == "eval")]
    policy = Policy(stages)
    for task in tasks:
        for scenario in SCENARIOS:
            for number in range(per_task):
                faults = draw.integer(0, _SEEDS, "faults", task, scenario, number)
                if stages.set_up(task, scenario, faults) is None:
                    found.dropped["the scenario cannot be made"] += 1
                    continue
                _add(found, policy, policy.run(task, scenario, faults), draw.at(task, scenario, number))
    return found


def _mined(stages: Stages, draw: Draw) -> tuple[SkillCard, ...]:
    tasks = [task for task in stages.tasks if not held_out(task)]
    stage = stages.stage(draw.integer(0, _SEEDS, "cards"))
    setups = [
        (stage, s) for t in tasks for x in SCENARIOS if (s := stage.set_up(x, stages.tasks[t])) is not None
    ]
    mined, _ = mined_from(setups, stages.fallback_map, 0, stages.domain)
    return mined.cards


def _add(found: SftData, policy: Policy, parent: PolicyRun, draw: Draw) -> None:
    """Add what one run gives: itself, or continuations of it."""
    stages, request = policy.stages, parent.rollout.task.request
    if parent.succeeded and parent.repeats_blindly():
        found.dropped["own: a write was repeated blindly"] += 1
        return
    if parent.succeeded:
        made = transcript_of(parent, request=request)
        made.add("assistant", DONE)
        found.samples.append(_sample(stages, parent, made, 2, SampleKind.OWN))
        return
    wrong = parent.first_wrong
    card = _fitting(found.cards, parent, wrong)
    if wrong is None or card is None:
        found.dropped["no card fits the first wrong step" if wrong is not None else "no call failed"] += 1
        return
    for kind, steps, start, run, made in _continuations(policy, parent, wrong, card, draw, request):
        if not run.succeeded:
            found.dropped[f"{kind}: the task was not done"] += 1
            continue
        if run.repeats_blindly(steps):
            found.dropped[f"{kind}: a write was repeated blindly"] += 1
            continue
        sample = _sample(stages, parent, made, start, kind, card, wrong)
        if any(leaks(sample.messages, card.text)):
            found.dropped[f"{kind}: words of the card are left"] += 1
            continue
        found.samples.append(sample)
        if kind is SampleKind.SELF_REFLECTION:
            found.pairs.append(_pair(sample, start, parent, wrong, request))


def _continuations(
    policy: Policy, parent: PolicyRun, wrong: int, card: SkillCard, draw: Draw, request: str
) -> Iterator[tuple[SampleKind, int, int, PolicyRun, SampleMessages]]:
    """Give each kind with the calls it begins after, the place of its continuation, its run, and its conversation."""
    corrected = transcript_of(parent, request=request)
    corrected.add("assistant", NOT_DONE)
    corrected.add("user", correction(card, draw))
    beginnings = (
        (SampleKind.SELF_REFLECTION, wrong + 1, transcript_of(parent, request=request, upto=wrong + 1)),
        (SampleKind.SKILL_RECOVERY, 0, transcript_of(parent, request=request, upto=0)),
        (SampleKind.USER_CENTRIC, len(parent.calls), corrected),
    )
    for kind, steps, made in beginnings:
        planned = kind is SampleKind.SKILL_RECOVERY
        run = policy.planned(parent, card) if planned else policy.continued(parent, steps, card)
        start = len(made.messages)
        made.note(card.text)
        for one in run.calls[steps:]:
            made.call(one.tool, one.arguments, one.text)
        made.add("assistant", DONE)
        yield kind, steps, start, run, made


def _fitting(cards: Sequence[SkillCard], parent: PolicyRun, wrong: int | None) -> SkillCard | None:
    """Return the best card for the failure before the first wrong step."""
    if wrong is None:
        return None
    tool, kind = parent.calls[wrong].tool, parent.rollout.injector.calls[wrong].fault
    fitting = [c for c in cards if c.trigger.tool == tool and kind in c.trigger.kinds]
    return max(fitting, key=lambda card: (card.chance, card.id), default=None)


def _sample(
    stages: Stages,
    parent: PolicyRun,
    made: SampleMessages,
    start: int,
    kind: SampleKind,
    card: SkillCard | None = None,
    wrong: int | None = None,
) -> SftSample:
    messages = stripped(made.messages)
    fault = None
    if wrong is not None:
        met = parent.rollout.injector.calls[wrong].fault
        fault = {"kind": str(met or "own error"), "tool": parent.calls[wrong].tool}
    return SftSample(
        messages=messages,
        tools=tuple(map(tool_schema, stages.environment.tools.values())),
        kind=kind,
        task_id=parent.task_id,
        domain=stages.domain,
        scenario=parent.scenario,
        seed=parent.seed,
        parent=parent.name,
        train_on=tuple(n for n, m in enumerate(messages) if n >= start and m["role"] == "assistant"),
        skill_id=card.id if card is not None else None,
        first_wrong_step=wrong,
        fault=fault,
    )


def _pair(sample: SftSample, start: int, parent: PolicyRun, wrong: int, request: str) -> dict[str, Any]:
    """Return a preference pair: what was done after the first wrong step's failure, and what should have been."""
    worse = transcript_of(parent, request=request)
    worse.add("assistant", NOT_DONE)
    return {
        "prompt": list(sample.messages[:start]),
        "chosen": list(sample.messages[start:]),
        "rejected": worse.messages[start:],
        "tools": list(sample.tools),
        "task_id": sample.task_id,
        "fault": dict(sample.fault or {}),
        "first_wrong_step": wrong,
    }


def tool_schema(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool in OpenAI's form."""
    about = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": about}
