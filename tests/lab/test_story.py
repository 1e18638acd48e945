from btm.lab.story import Story, lines, most_telling
from btm.model import SUCCESS, Action, ErrorKind, Outcome, ToolCall
from btm.runtime.drivers import Handled, Move

CALL = ToolCall("get_order", {"order_id": "W1"})
FAILED = Outcome(ErrorKind.TIMEOUT, detail="timed out")
FIRST = Move(None, CALL, FAILED)
RETRIED = Move(Action.RETRY, CALL, FAILED, 1.25)
SWITCHED = Move(Action.SWITCH, ToolCall("list_orders", {"user_id": "u1"}), SUCCESS)


def told(task: str, *trail: Move) -> Story:
    return Story("switch_needed", task, "where is my order?", Handled(CALL, trail[-1].outcome, trail=trail))


def test_the_story_with_most_different_moves_that_ends_well_is_told() -> None:
    short, rich = told("t1", FIRST, SWITCHED), told("t2", FIRST, RETRIED, SWITCHED)
    long = told("t3", FIRST, RETRIED, RETRIED, SWITCHED)
    lost = told("t4", FIRST, RETRIED, SWITCHED, Move(Action.VERIFY, CALL, FAILED))
    assert most_telling([short, long, rich, lost]) is rich
    assert most_telling([told("t5", FIRST)]) is None
    assert most_telling([]) is None


def test_each_move_is_told_with_what_came_of_it() -> None:
    said = lines((FIRST, RETRIED, SWITCHED))
    assert [line.did for line in said] == [
        'the agent called get_order {"order_id":"W1"}',
        'waited 1.25 s, then repeated get_order {"order_id":"W1"}',
        'switched to list_orders {"user_id":"u1"}',
    ]
    assert [line.outcome for line in said] == ["timeout: timed out", "timeout: timed out", "worked"]
    assert [line.ok for line in said] == [False, False, True]


def test_long_arguments_and_errors_are_cut() -> None:
    call = ToolCall("note", {"text": "x" * 500})
    line = lines((Move(None, call, Outcome(ErrorKind.TIMEOUT, detail="y" * 290)),))[0]
    assert len(line.did) < 160
    assert len(line.outcome) < 140
    assert line.did.endswith("…")
