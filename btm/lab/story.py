"""One incident, told step by step from what btm noted down while it handled a call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from btm.model import Action
from btm.runtime.drivers import Handled, Move
from btm.support.untrusted import arguments_text, cut

_WIDTH = 120
"""Characters of arguments that are shown of a call."""


@dataclass(frozen=True, slots=True)
class Story:
    """A call that did not go through at once, and the episode it belongs to."""

    scenario: str
    task_id: str
    request: str
    handled: Handled


@dataclass(frozen=True, slots=True)
class StoryLine:
    """One line of a story: what was done, and what came of it."""

    did: str
    outcome: str
    ok: bool


def most_telling(stories: Iterable[Story]) -> Story | None:
    """Return the story in which the most different things were done and that ended well; the first of equals."""

    def rank(told: Story) -> tuple[bool, int, int]:
        trail = told.handled.trail
        return told.handled.outcome.ok, len({move.action for move in trail}), -len(trail)

    return max((told for told in stories if len(told.handled.trail) > 1), key=rank, default=None)


def lines(trail: Sequence[Move]) -> list[StoryLine]:
    """Tell a trail, one line a move."""
    return [StoryLine(_did(move), _outcome(move), move.outcome.ok) for move in trail]


def _did(move: Move) -> str:
    call = f"{move.call.tool} {cut(arguments_text(move.call.arguments), _WIDTH)}"
    waited = f"waited {move.waited_s:.3g} s, then " if move.waited_s > 0 else ""
    verb = {
        None: "the agent called",
        Action.RETRY: "repeated",
        Action.REVISE: "revised",
        Action.REPAIR: "repaired with",
        Action.SWITCH: "switched to",
        Action.VERIFY: "checked with",
        Action.ESCALATE: "handed over with",
        Action.ABANDON: "gave up",
    }[move.action]
    return f"{waited}{verb} {call}"


def _outcome(move: Move) -> str:
    if move.outcome.ok:
        return "worked"
    what = f"{move.outcome.kind}"
    if move.outcome.ambiguous:
        what += ", and it may have happened"
    detail = move.outcome.detail or move.outcome.reason
    return f"{what}: {cut(detail, _WIDTH)}" if detail else what
