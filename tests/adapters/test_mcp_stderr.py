from __future__ import annotations

import io
import os
import time

import pytest

from btm.adapters.mcp.stderr import StderrTail, reason_in

PYTHON = """Traceback (most recent call last):
  File "shop.py", line 3, in get_order
requests.exceptions.ConnectTimeout: no answer from 10.0.0.1

The above exception was the direct cause of the following exception:

mcp.server.UnexpectedToolError: Error executing tool get_order
"""
FRAMED = """│ ❱ 213 │   raise X │
╰───────────╯
RuntimeError: 401 Unauthorized: the
token was revoked
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PYTHON, "requests.exceptions.ConnectTimeout: no answer from 10.0.0.1"),
        (FRAMED, "RuntimeError: 401 Unauthorized: the"),
        ("Error: connect ECONNREFUSED 127.0.0.1:5432\n    at f (x.js:1)\n", "Error: connect ECONNREFUSED 127.0.0.1:5432"),
        ("listening\nsomething odd\n\n", "something odd"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_line_that_names_the_cause_is_found(text: str, reason: str) -> None:
    assert reason_in(text) == reason


def written(tail: StderrTail, text: str) -> None:
    os.write(tail.file.fileno(), text.encode())


def wait_for(tail: StderrTail, total: int) -> None:
    for _ in range(500):
        if len(tail.since(0)) >= total:
            return
        time.sleep(0.01)
    raise AssertionError("nothing came")


def test_what_a_server_writes_is_passed_on_and_told_of_the_call_it_came_in() -> None:
    out = io.StringIO()
    tail = StderrTail(out)
    written(tail, "ValueError: before\n")
    wait_for(tail, 19)
    with tail.watch() as watch:
        written(tail, "ValueError: during\n")
        wait_for(tail, 38)
        assert watch.reason() == "ValueError: during"
    tail.close()
    assert out.getvalue() == "ValueError: before\nValueError: during\n"


def test_what_came_while_two_calls_ran_is_told_of_neither() -> None:
    tail = StderrTail(io.StringIO())
    with tail.watch() as one, tail.watch() as other:
        written(tail, "ValueError: whose?\n")
        wait_for(tail, 19)
        assert (one.reason(), other.reason()) == ("", "")
    tail.close()


def test_a_flood_is_kept_to_its_end() -> None:
    tail = StderrTail(io.StringIO())
    with tail.watch() as watch:
        for _ in range(20):
            written(tail, "x" * 9_999 + "\n")
        written(tail, "KeyError: 'the end'\n")
        for _ in range(500):
            if watch.reason().startswith("KeyError"):
                break
            time.sleep(0.01)
        assert watch.reason() == "KeyError: 'the end'"
    tail.close()
