"""Logs of agents: files of many formats become conversations of calls and answers, and those become evidence.

In: files or streams. Out: what a fit, an audit or an export needs. May use memory, runtime and the rooms below, so
that a log teaches exactly what the live path would have learned.
"""
