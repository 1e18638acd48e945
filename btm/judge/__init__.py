"""Judges: does a call that seems to have worked fit what was wanted?

In: recorded conversations with the agent's intent. Out: verdicts of two judges, one line of JSON each; where both agree that
a call failed after all, its evidence moves, once. What they disagree about waits for a person. May use logs and everything
below; models are asked in :mod:`btm.judge.models` alone.
"""
