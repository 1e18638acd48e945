"""A budget of steps and cost per request, told to the model while there is still something to spend."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """What the agent may spend on one request of the user.

    ``calls`` is a number of tool calls, ``cost`` a sum of the tools' costs (1 a call unless the fallback map says
    otherwise); None means no limit. The model is told from the moment ``warn_from`` of either is spent (0 to 1).
    """

    calls: int | None = None
    cost: float | None = None
    warn_from: float = 0.5

    def spent_by(self, tools: Iterable[str], cost_of: Callable[[str], float]) -> Spent:
        """Return what calling these tools has cost."""
        names = list(tools)
        return Spent(self, len(names), sum(map(cost_of, names)))


@dataclass(frozen=True, slots=True)
class Spent:
    """How much of a budget is gone."""

    budget: Budget
    calls: int
    cost: float

    def allows(self, cost: float) -> bool:
        """Whether one more call of this cost stays within the budget."""
        within_calls = self.budget.calls is None or self.calls + 1 <= self.budget.calls
        within_cost = self.budget.cost is None or self.cost + cost <= self.budget.cost
        return within_calls and within_cost

    @property
    def share(self) -> float:
        """The spent share of the limit that is nearest, in [0, 1] unless overspent."""
        shares = [0.0]
        if self.budget.calls is not None:
            shares.append(self.calls / max(self.budget.calls, 1))
        if self.budget.cost is not None:
            shares.append(self.cost / max(self.budget.cost, 1e-9))
        return max(shares)

    def line(self) -> str:
        """Return the line for the model, or ``""`` while most of the budget is left."""
        if self.share < self.budget.warn_from:
            return ""
        left: list[str] = []
        if self.budget.calls is not None:
            left.append(f"{max(self.budget.calls - self.calls, 0)} of {self.budget.calls} tool calls")
        if self.budget.cost is not None:
            left.append(f"{max(self.budget.cost - self.cost, 0.0):g} of a cost of {self.budget.cost:g}")
        if self.share >= 1.0:
            return "budget: spent. Call no more tools; tell the user what is done and what is not."
        return f"budget: {' and '.join(left)} left for this request. Finish with what matters most."
