"""Where in a model's request does a recovery context help most? Measured on a real chat model.

::

    from btm.lab.chat.agents import connect
    from btm.lab.chat.request import Server
    from btm.lab.chat.request import PlacementRequest
    from btm.lab.chat.run import measure

    model = connect(Server("http://127.0.0.1:8080/v1", "my-model"))
    episodes = list(measure(PlacementRequest(), model))

``tasks`` are short requests to the built-in shop, ``trouble`` the faults that wait for them, ``arms`` what the model is
told after a failure. ``agents`` is the agent itself: LangChain's ``create_agent`` with the product's own middleware.
``episode`` plays and judges one task, ``run`` all of them, ``report`` sums up.
"""
