"""The fault injector: makes the tools of a session fail in nine ways, reproducibly.

::

    plan = RandomFaults(FaultSettings(seed=7, rate=0.4), episode="task-1")
    call = Injector(session.call, plan)
    call("get_order", {"order_id": "W1"})   # now and then: a timeout, a 429, half a JSON text, an old record ...

    tools = inject(tools, FaultSettings(rate=0.3))   # your own: functions and LangChain tools

The same seed gives the same faults, to the byte, and the faults behind one call do not depend on the calls made
before it. So two agents on the same task meet the same faults for as long as they make the same calls.
"""

from btm.lab.faults.around import inject
from btm.lab.faults.clock import VirtualClock
from btm.lab.faults.draw import Draw
from btm.lab.faults.injector import InjectedCall, Injector
from btm.lab.faults.kinds import FAULT_KINDS, RAISED, REPEAT_HEALS, RETURNED
from btm.lab.faults.plan import Fault, FaultPlan, NoFaults, RandomFaults, Site
from btm.lab.faults.settings import FaultSettings, Trigger, When, fault_kinds
from btm.lab.faults.shape import Shapes, ToolShape

__all__ = [
    "FAULT_KINDS",
    "RAISED",
    "REPEAT_HEALS",
    "RETURNED",
    "Draw",
    "Fault",
    "FaultPlan",
    "FaultSettings",
    "InjectedCall",
    "Injector",
    "NoFaults",
    "RandomFaults",
    "Shapes",
    "Site",
    "ToolShape",
    "Trigger",
    "VirtualClock",
    "When",
    "fault_kinds",
    "inject",
]
