"""What to do about a failure: an incident, beliefs, the fallback map and policies become a plan, and a plan a text.

In: an incident and what is known about it. Out: a recovery plan, and the context a model reads. Pure: no clock, no
database, no tool call. May use fallback, classify, authored, learning and support.
"""
