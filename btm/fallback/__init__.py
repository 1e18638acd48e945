"""Fallback maps: which tool covers which, written by people in YAML.

::

    retail = FallbackMap.load("retail")
    for candidate in retail.candidates(call, ErrorKind.TIMEOUT, known={"user_id": "u1"}):
        print(candidate.tool, candidate.arguments, candidate.missing, candidate.coverage)

``schema`` is the file format, ``loading`` and ``checking`` read it, ``map`` answers queries, ``graph`` is the map as
a networkx graph (imported when it is asked for).
"""

from btm.fallback.map import FallbackMap
from btm.fallback.offers import Step
from btm.fallback.schema import ToolEntry, ToolRole

__all__ = ["FallbackMap", "Step", "ToolEntry", "ToolRole"]
