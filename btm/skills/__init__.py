"""Skill cards: what recorded runs show gets a failed call going, as advice that competes by its numbers.

In: conversations of the same task, some of which succeeded and some of which did not. Out: cards (authored YAML, one a
file) that a memory offers as steps. May use logs and everything below.
"""

from btm.skills.book import SkillBook
from btm.skills.card import SkillCard, load_cards

__all__ = ["SkillBook", "SkillCard", "load_cards"]
