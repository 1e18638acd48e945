"""What an evaluation's parts cost: processor time, which other processes on the machine do not change."""

from __future__ import annotations

import time

from btm.lab.environment import load_environment


def test_opening_a_session_of_the_shop_takes_less_than_two_milliseconds() -> None:
    shop = load_environment("shop")
    task = shop.tasks[0]
    start = time.process_time()
    for _ in range(100):
        shop.open(task)
    assert (time.process_time() - start) / 100 < 0.002
