"""What a sequence of calls teaches: incidents, attempts and Beta posteriors with pooled priors.

In: calls and their outcomes, in order. Out: incidents, attempts and beliefs. Pure: no clock, no database. May use
nothing but the vocabulary (``btm.model``) and support.
"""
