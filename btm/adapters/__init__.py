"""btm inside an agent: one module or folder per framework, on a shared kit.

In: a framework's own tool calls and messages. Out: the same, recovered or annotated. Each framework is imported here
and nowhere else. May use every room below.
"""
