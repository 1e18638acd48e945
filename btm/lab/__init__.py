"""Does an agent get further with btm? Tasks, faults, arms, and what is measured.

::

    from btm.lab.runner import Request, evaluate
    from btm.lab.report import document

    evaluation = evaluate(Request(domain="shop", arms=("bare", "btm")))
    print(document(evaluation)["results"])

An environment (``environment``) gives tools and tasks; the scripted agent (``agent``) works on them. ``scenarios``
decides which faults wait for a task, an arm (``arms``, ``memory_arms``) stands between agent and tools, ``runner``
brings them together, ``metrics`` and ``report`` sum up.
"""
