"""Small tools that every room may use: untrusted values, redaction, identities, clocks, effects.

They know nothing of incidents or plans, and use only the vocabulary (``btm.model``) and ``btm.errors``.
"""
