"""Processes of multiprocessing that call the tool and end without a word: ``python process_pools.py fork``."""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

from shop_tools import look_up


def look(order_id: str) -> str:
    """Answer with what the tool says."""
    return look_up(order_id=order_id)


def main() -> None:
    """Call it here, in a pool, in an executor and in a process."""
    context = multiprocessing.get_context(sys.argv[1])
    print(look("o0"))
    pool = context.Pool(2)
    print(*pool.map(look, [f"p{number}" for number in range(10)]), sep="\n")
    pool.close()
    pool.join()
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        print(*executor.map(look, [f"e{number}" for number in range(10)]), sep="\n")
    alone = context.Process(target=look, args=("a0",))
    alone.start()
    alone.join()


if __name__ == "__main__":
    main()
