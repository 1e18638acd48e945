"""A function's handler as serverless hosts run one: a request a line, an answer a line, nothing closed; see ``flush``."""

from __future__ import annotations

import sys

from shop_tools import MEMORY, look_up

for line in sys.stdin:
    said = look_up(order_id=line.strip())
    print(MEMORY.flush(), said, flush=True)
