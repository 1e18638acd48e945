from __future__ import annotations

import gc
import weakref
from typing import Any

from btm.model import ToolCall
from btm.runtime.known_values import MAX_TEXT, Reads, behind

ORDER = ToolCall("get_order", {"order_id": "O1"}, conversation="c")


def named(call: ToolCall, result: Any) -> str:
    return f"{call.tool} {result}"


def kept(*results: Any) -> Reads:
    reads = Reads()
    for result in results:
        reads.keep(ORDER, result, named)
    return reads


def test_answers_are_unconfirmed_newest_first_and_each_once() -> None:
    reads = kept("pending", "shipped", "pending")
    assert [read.result for read in reads.unconfirmed()] == ["shipped", "pending"]
    reads.confirm(["get_order shipped"])
    assert [read.result for read in reads.unconfirmed()] == ["pending"]


def test_an_answer_that_is_too_long_is_not_kept_nor_named() -> None:
    reads = Reads()
    reads.keep(ORDER, "x" * (MAX_TEXT + 1), lambda call, result: 1 / 0)  # type: ignore[arg-type,return-value]
    assert reads.unconfirmed() == ()


def test_a_doubted_tool_s_latest_answer_is_doubtful_until_it_is_confirmed() -> None:
    reads = kept("pending")
    assert reads.doubtful(ORDER) is None
    reads.doubt("get_order")
    latest = reads.doubtful(ORDER)
    assert latest is not None
    assert latest.result == "pending"
    assert reads.doubtful(ToolCall("get_order", {"order_id": "O2"}, conversation="c")) is None
    reads.confirm([latest.digest])
    assert reads.doubtful(ORDER) is None


def test_what_was_read_is_forgotten_but_not_that_the_tool_was_wrong() -> None:
    reads = kept("pending")
    reads.doubt("get_order")
    reads.forget()
    assert reads.unconfirmed() == ()
    reads.keep(ORDER, "shipped", named)
    assert reads.doubtful(ORDER) is not None


def test_a_call_rests_on_reads_that_share_or_show_a_value_of_its_arguments() -> None:
    reads = kept({"user_id": "u7", "total": 12}).unconfirmed()
    assert behind(ToolCall("refund", {"order_id": "O1"}), reads) == reads
    assert behind(ToolCall("refund", {"user": ["u7"]}), reads) == reads
    assert behind(ToolCall("refund", {"order_id": "O2", "fast": True}), reads) == ()


class Message:
    type = "tool"

    def __init__(self, content: str) -> None:
        self.content = content


def test_an_answer_is_kept_as_values_and_its_object_let_go() -> None:
    reads = Reads()
    message = Message('{"user_id": "u7"}')
    gone = weakref.ref(message)
    reads.keep(ORDER, message, named)
    del message
    gc.collect()
    assert gone() is None
    ((read),) = reads.unconfirmed()
    assert read.result == {"user_id": "u7"}
    assert behind(ToolCall("refund", {"user": "u7"}), [read]) == (read,)


def test_all_answers_together_are_no_longer_than_the_longest_may_be() -> None:
    reads = kept(*(str(n) + "x" * 30_000 for n in range(10)))
    assert [str(read.result)[0] for read in reads.unconfirmed()] == ["9", "8", "7"]


def test_a_read_with_huge_arguments_or_a_result_that_raises_is_not_kept() -> None:
    class Broken:
        @property
        def content(self) -> str:
            raise RuntimeError("no")

    reads = Reads()
    reads.keep(ToolCall("get_order", {"text": "x" * 50_000}), "pending", named)
    reads.keep(ORDER, Broken(), named)
    assert reads.unconfirmed() == ()
