"""One thing that can be done about a failed call: as the map offers it, and with the numbers it is ranked by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from btm.learning.posterior import BetaPosterior
from btm.model import Action, Incident


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that can be done next.

    ``arguments`` are those that the map could fill, ``missing`` names those that the agent must supply. ``coverage`` in
    (0, 1] is the chance that what a substitute gives suffices. For a composition ``via`` names all of its tools in
    order and ``tool`` is the first: the later calls come from :meth:`btm.fallback.FallbackMap.next_step`, and only the
    last result stands for the failed tool's. ``irreversible`` says that it does what cannot be undone.

    The planner adds the rest: ``chance`` is the belief's mean, or a draw from it when exploring; ``score`` is what a unit
    of cost buys, the order in which steps are tried; ``worth_trying`` says whether that is worth it. ``not_before`` (epoch
    seconds) is when a retry may be made whose wait is longer than btm waits by itself. ``above`` is the incident that the
    step answers where that is not the plan's own: the one that a substitute, which failed in turn, was to answer.
    """

    action: Action
    tool: str
    arguments: Mapping[str, Any] | None = None
    missing: tuple[str, ...] = ()
    belief: BetaPosterior | None = None
    chance: float = 1.0
    coverage: float = 1.0
    cost: float = 1.0
    wait_s: float = 0.0
    worth_trying: bool = True
    gives: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    pick: str | None = None
    irreversible: bool = False
    above: Incident | None = None
    score: float = 0.0
    not_before: float | None = None

    def weighed(
        self,
        belief: BetaPosterior,
        *,
        chance: float,
        wait_s: float,
        cost: float,
        score: float,
        worth_trying: bool,
        not_before: float | None = None,
    ) -> Step:
        """Return this step with the numbers it is ranked by (dataclasses.replace takes three times as long)."""
        return Step(
            self.action, self.tool, self.arguments, self.missing, belief, chance, self.coverage, cost, wait_s,
            worth_trying, self.gives, self.lacks, self.via, self.pick, self.irreversible, self.above, score, not_before,
        )  # fmt: skip

    @property
    def complete(self) -> bool:
        """Whether the call can be made as it stands."""
        return not self.missing

    @property
    def target(self) -> str:
        """The name under which evidence about this step is kept: its tool, or its tools in a row.

        Empty for a retry or revise of the tool itself.
        """
        if self.action in (Action.RETRY, Action.REVISE):
            return ""
        return " > ".join(self.via) if self.via else self.tool
