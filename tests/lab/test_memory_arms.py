from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from btm.lab.desk import error_text
from btm.lab.faults import Draw
from btm.lab.memory_arms import observed, shuffled
from btm.model import Action, ErrorKind, EvidenceKey, Outcome, ToolCall
from btm.runtime.drivers import Handled

ROWS = [
    (EvidenceKey(f"tool_{n}", ErrorKind.TIMEOUT, Action.RETRY, "", 1), float(n), float(n % 3))
    for n in range(12)
]
CALL = ToolCall("get_order", {"order_id": "W1"})


@given(st.integers(0, 1_000))
def test_shuffling_deals_the_same_counters_to_the_same_keys(seed: int) -> None:
    dealt = shuffled(ROWS, Draw((seed,)))
    assert [row[0] for row in dealt] == sorted(row[0] for row in ROWS)
    assert sorted(row[1:] for row in dealt) == sorted(row[1:] for row in ROWS)
    assert dealt == shuffled(list(reversed(ROWS)), Draw((seed,)))


def test_shuffling_changes_what_is_believed() -> None:
    assert any(list(shuffled(ROWS, Draw((seed,)))) != sorted(ROWS) for seed in range(3))


def test_the_agent_sees_a_result_an_error_or_that_its_call_was_refused() -> None:
    answer: Mapping[str, Any] = {"status": "pending"}
    assert observed(Handled(CALL, Outcome(), answer, served_by="list_orders")).served_by == "list_orders"
    failed = observed(Handled(CALL, Outcome(ErrorKind.TIMEOUT), error=TimeoutError("timed out")))
    assert (failed.value, failed.is_error, failed.advice) == ("TimeoutError: timed out", True, None)
    assert observed(Handled(CALL, Outcome(ErrorKind.TIMEOUT), refused=True)).is_error


def test_an_error_that_cannot_be_written_out_is_still_told() -> None:
    class Mute(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise ValueError("no words")

    assert error_text(Mute()).startswith("Mute: ")
