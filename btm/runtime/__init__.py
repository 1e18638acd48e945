"""One call handled: begun, run, named, learned from, and recovered as the mode allows.

In: a tool call and a way to run tools. Out: a handled call, and events for the store. May use planning, fallback,
classify, store, authored, learning and support.
"""
