"""Writing, checking and looking at fallback maps: what stands behind ``btm map``.

``tools`` reads lists of real tools, ``schemas`` their JSON Schemas; ``check`` and ``against`` find what is wrong,
``init`` and ``suggest`` write, ``editing`` puts new text into an existing file, ``picture`` and its neighbours show.
"""
