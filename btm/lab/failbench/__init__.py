"""FailBench: how an agent treats failures, in five dimensions, on cases whose ids never change.

The dimensions are recognition, recovery, loops, self-checking and idempotency; self-checking has a twin without faults, so
that whoever always doubts does not win. After the failure-pattern taxonomies of agents' tools; cases and texts are our own.
"""

from btm.lab.failbench.cases import VERSION, Dimension, FailureCase, cases
from btm.lab.failbench.play import CaseScore, Row, check, play, rows

__all__ = ["VERSION", "CaseScore", "Dimension", "FailureCase", "Row", "cases", "check", "play", "rows"]
