"""One module a log format: ``NAME``, ``LOOKS_FOR`` (a sentence), ``matches(sample)`` and ``read(log)``."""
