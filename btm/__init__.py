"""btm: Bayesian tool-memory for agents whose tools fail.

It watches every tool call, names what went wrong, remembers which recovery works after which error of which tool,
and hands the agent (or carries out) the next step. Names are resolved when first used: ``import btm`` loads no
agent framework, database or numerics. (The classifier is ``btm.classify.classify``: a package's own name stands before
anything resolved lazily.)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from btm.errors import BTMError as BTMError
    from btm.fallback import FallbackMap as FallbackMap
    from btm.memory import ToolMemory as ToolMemory
    from btm.model import Action as Action
    from btm.model import Effect as Effect
    from btm.model import ErrorKind as ErrorKind
    from btm.model import Mode as Mode
    from btm.model import Outcome as Outcome
    from btm.model import ToolCall as ToolCall

__version__ = "0.1.0"

_HOME = {
    "Action": "btm.model",
    "BTMError": "btm.errors",
    "Effect": "btm.model",
    "ErrorKind": "btm.model",
    "FallbackMap": "btm.fallback",
    "Mode": "btm.model",
    "Outcome": "btm.model",
    "ToolCall": "btm.model",
    "ToolMemory": "btm.memory",
}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604 - all of them are strings


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'btm' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
