"""Training on recoveries: an environment for RL, rewards, a curriculum, and data for fine-tuning.

Imports no trainer: what needs ``torch``, ``trl`` or ``datasets`` stands in modules of its own (extra ``train``). May use
lab, skills and everything below.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from btm.training.curriculum import Curriculum as Curriculum
    from btm.training.reflect import gamma as gamma
    from btm.training.reflect import group_advantages as group_advantages
    from btm.training.reflect import opd_loss as opd_loss
    from btm.training.rewards import reward as reward
    from btm.training.tool_environment import environment as environment

_HOME = {
    "Curriculum": "btm.training.curriculum",
    "environment": "btm.training.tool_environment",
    "gamma": "btm.training.reflect",
    "group_advantages": "btm.training.reflect",
    "opd_loss": "btm.training.reflect",
    "reward": "btm.training.rewards",
}

__all__ = ["Curriculum", "environment", "gamma", "group_advantages", "opd_loss", "reward"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'btm.training' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
