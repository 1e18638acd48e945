from __future__ import annotations

from typing import Any

from btm.model import ToolCall
from btm.reads import MAX_TEXT, Reads, behind

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
