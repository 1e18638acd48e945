"""btm for Claude Code, through its command hooks: what a hook is told, and what it answers.

In: the JSON of a hook event. Out: the JSON that Claude Code reads. No package of Claude's is needed.
"""
