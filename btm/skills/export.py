"""Cards as Agent Skills: a folder each with a SKILL.md, as other agents read them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from btm.skills.card import SkillCard, card_yaml
from btm.support.untrusted import harmless, tool_name

_NAME_LIMIT = 64  # characters; the format's own limit


def skill_name(card: SkillCard) -> str:
    """Return the folder's name, which the format wants equal to the skill's: lower case, digits and single hyphens."""
    return card.id[:_NAME_LIMIT].strip("-")


def skill_md(card: SkillCard) -> str:
    """Return a card as a SKILL.md: front matter with name and description, then the steps and what they rest on."""
    tool, kind = tool_name(card.trigger.tool), card.trigger.kind
    about = harmless(f"What to do when {tool} fails with {kind}: {card.text}")
    steps = [f"{n}. {_step(card, n - 1)}" for n in range(1, len(card.steps) + 1)]
    avoid = [f"- Do not {action} first: it hardly ever worked here." for action in card.avoid]
    said = card.evidence
    evidence = [f"Worked {said.worked:.0f} of {said.tried:.0f} times in {said.tasks} task(s) of past runs."]
    if card.verified is not None:
        v = card.verified
        evidence.append(f"Replayed in {harmless(v.by)}: {v.worked} of {v.tried} tasks done.")
    front = f"---\nname: {skill_name(card)}\ndescription: {json.dumps(about, ensure_ascii=False)}\n---\n"
    body = [f"# After {kind} of {tool}", "", *steps, *([""] if avoid else []), *avoid, "", *evidence]
    return front + "\n" + "\n".join(body) + "\n"


def _step(card: SkillCard, index: int) -> str:
    step = card.steps[index]
    given = f" with {json.dumps(step.arguments)}" if step.arguments else ""
    changed = f" with other {', '.join(map(tool_name, step.changes))}" if step.changes else ""
    then = f", then call {tool_name(card.trigger.tool)} again" if step.action.value == "repair" else ""
    return harmless(f"{step.action} {tool_name(step.tool or card.trigger.tool)}{given}{changed}{then}.")


def export_skills(cards: Iterable[SkillCard], folder: str | Path) -> tuple[Path, ...]:
    """Write one folder a card, with its SKILL.md and the card itself (``card.yaml``); return the folders."""
    made = []
    for card in cards:
        into = Path(folder) / skill_name(card)
        into.mkdir(parents=True, exist_ok=True)
        (into / "SKILL.md").write_text(skill_md(card), encoding="utf-8")
        (into / "card.yaml").write_text(card_yaml(card), encoding="utf-8")
        made.append(into)
    return tuple(made)
