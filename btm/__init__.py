"""btm: Bayesian tool-memory for agents whose tools fail.

It watches every tool call, names what went wrong, remembers which recovery works after which error of which tool,
and hands the agent (or carries out) the next step.

What stands here is the public face: every type of a public signature can be imported from ``btm``. Names are resolved
when first used, so ``import btm`` loads no agent framework, database or numerics. (The classifier is
``btm.classify.classify``: a package's own name stands before anything resolved lazily.)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from btm.errors import AuthoredFileError as AuthoredFileError
    from btm.errors import BTMError as BTMError
    from btm.errors import DatabaseFailedError as DatabaseFailedError
    from btm.errors import DatabaseUnavailableError as DatabaseUnavailableError
    from btm.errors import EvaluationError as EvaluationError
    from btm.errors import FallbackMapError as FallbackMapError
    from btm.errors import MissingExtraError as MissingExtraError
    from btm.errors import PolicyError as PolicyError
    from btm.errors import RefusedCallError as RefusedCallError
    from btm.errors import StoreError as StoreError
    from btm.errors import TemplateError as TemplateError
    from btm.errors import TraceError as TraceError
    from btm.errors import UnknownFormatError as UnknownFormatError
    from btm.events import ActionTaken as ActionTaken
    from btm.events import BreakerClosed as BreakerClosed
    from btm.events import BreakerOpened as BreakerOpened
    from btm.events import ContextGiven as ContextGiven
    from btm.events import IncidentClosed as IncidentClosed
    from btm.events import IncidentOpened as IncidentOpened
    from btm.events import MemoryEvent as MemoryEvent
    from btm.fallback import FallbackMap as FallbackMap
    from btm.fallback import Step as Step
    from btm.learning.evidence import Evidence as Evidence
    from btm.learning.incidents import Ticket as Ticket
    from btm.learning.posterior import BetaPosterior as BetaPosterior
    from btm.learning.posterior import Priors as Priors
    from btm.memory import ToolMemory as ToolMemory
    from btm.model import Action as Action
    from btm.model import Attempt as Attempt
    from btm.model import BeliefModel as BeliefModel
    from btm.model import Effect as Effect
    from btm.model import ErrorKind as ErrorKind
    from btm.model import EvidenceKey as EvidenceKey
    from btm.model import Family as Family
    from btm.model import Incident as Incident
    from btm.model import IncidentState as IncidentState
    from btm.model import Mode as Mode
    from btm.model import Outcome as Outcome
    from btm.model import ToolCall as ToolCall
    from btm.planning.context import Detail as Detail
    from btm.planning.context import Format as Format
    from btm.planning.plan import Level as Level
    from btm.planning.plan import RecoveryContext as RecoveryContext
    from btm.planning.plan import RecoveryPlan as RecoveryPlan
    from btm.planning.plan import Skills as Skills
    from btm.planning.plan import Verdict as Verdict
    from btm.planning.planner import Settings as Settings
    from btm.planning.policy import Policies as Policies
    from btm.runtime.alarm import NoveltyAlarm as NoveltyAlarm
    from btm.runtime.breaker import Breaker as Breaker
    from btm.runtime.drivers import Handled as Handled
    from btm.runtime.drivers import Move as Move
    from btm.runtime.naming import NamingModel as NamingModel
    from btm.runtime.options import Durability as Durability
    from btm.runtime.options import MemoryHealth as MemoryHealth
    from btm.runtime.options import MemoryOptions as MemoryOptions
    from btm.store import Store as Store
    from btm.support.call_ids import Turn as Turn
    from btm.support.signatures import FailureSignature as FailureSignature

__version__ = "0.1.0"

_NAMES = {
    "btm.errors": (
        "AuthoredFileError",
        "BTMError",
        "EvaluationError",
        "FallbackMapError",
        "MissingExtraError",
        "PolicyError",
        "RefusedCallError",
        "DatabaseFailedError",
        "DatabaseUnavailableError",
        "StoreError",
        "TemplateError",
        "TraceError",
        "UnknownFormatError",
    ),
    "btm.events": (
        "ActionTaken",
        "BreakerClosed",
        "BreakerOpened",
        "ContextGiven",
        "IncidentClosed",
        "IncidentOpened",
        "MemoryEvent",
    ),
    "btm.fallback": ("FallbackMap", "Step"),
    "btm.learning.evidence": ("Evidence",),
    "btm.learning.incidents": ("Ticket",),
    "btm.learning.posterior": ("BetaPosterior", "Priors"),
    "btm.memory": ("ToolMemory",),
    "btm.model": (
        "Action",
        "Attempt",
        "BeliefModel",
        "Effect",
        "ErrorKind",
        "EvidenceKey",
        "Family",
        "Incident",
        "IncidentState",
        "Mode",
        "Outcome",
        "ToolCall",
    ),
    "btm.planning.context": ("Detail", "Format"),
    "btm.planning.plan": ("Level", "RecoveryContext", "RecoveryPlan", "Skills", "Verdict"),
    "btm.planning.planner": ("Settings",),
    "btm.planning.policy": ("Policies",),
    "btm.runtime.alarm": ("NoveltyAlarm",),
    "btm.runtime.breaker": ("Breaker",),
    "btm.runtime.naming": ("NamingModel",),
    "btm.runtime.drivers": ("Handled", "Move"),
    "btm.runtime.options": ("Durability", "MemoryHealth", "MemoryOptions"),
    "btm.store": ("Store",),
    "btm.support.call_ids": ("Turn",),
    "btm.support.signatures": ("FailureSignature",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604 - all of them are strings


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'btm' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
