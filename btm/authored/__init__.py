"""Files that people write: YAML with positions, readable errors, and sandboxed expressions.

In: the text of a file and a schema. Out: validated models, or every error at once with its line and column. May use
support.
"""
