import pytest

from btm.errors import EvaluationError
from btm.lab.faults import FAULT_KINDS, FaultSettings, Trigger, fault_kinds
from btm.model import ErrorKind


def test_there_are_nine_faults_and_each_is_as_likely_as_the_others() -> None:
    assert len(FAULT_KINDS) == 9
    assert set(FaultSettings().weights.values()) == {1.0}
    assert FaultSettings().rate == 0.4


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": 1.5},
        {"lost_response": -0.1},
        {"max_consecutive": 0},
        {"budget": -1},
        {"weights": {ErrorKind.NOT_FOUND: 1.0}},
        {"weights": {ErrorKind.TIMEOUT: 0.0}},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(EvaluationError):
        FaultSettings(**wrong)  # type: ignore[arg-type]


def test_a_trigger_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(EvaluationError, match="counts from 1"):
        Trigger(n=0)
    with pytest.raises(EvaluationError, match="chance"):
        Trigger(chance=2)


def test_kinds_are_read_from_text_and_a_typing_error_gets_the_nearest_name() -> None:
    assert fault_kinds("timeout, rate_limit,timeout") == (ErrorKind.TIMEOUT, ErrorKind.RATE_LIMIT)
    with pytest.raises(EvaluationError, match="did you mean 'rate_limit'"):
        fault_kinds("rate_limits")
    with pytest.raises(EvaluationError, match="no fault is named"):
        fault_kinds(" , ")
