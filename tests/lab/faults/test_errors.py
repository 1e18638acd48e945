import pytest

from btm.lab.faults import RAISED, Draw
from btm.lab.faults.errors import APIStatusError, ClientError, HTTPError, garble, make_error
from btm.model import ErrorKind


@pytest.mark.parametrize("kind", RAISED)
def test_an_error_comes_in_several_wordings_of_which_the_draw_chooses(kind: ErrorKind) -> None:
    looks = {str(make_error(kind, "get_order", Draw((n,)))) for n in range(60)}
    assert len(looks) >= 4
    assert str(make_error(kind, "get_order", Draw((3,)))) == str(make_error(kind, "get_order", Draw((3,))))


def test_a_timeout_is_mostly_a_timeout_error() -> None:
    made = [make_error(ErrorKind.TIMEOUT, "get_order", Draw((n,))) for n in range(60)]
    assert sum(isinstance(e, TimeoutError) for e in made) > 40


def test_a_rate_limit_says_how_long_to_wait_where_its_look_has_a_place_for_it() -> None:
    told = 0
    for n in range(60):
        error = make_error(ErrorKind.RATE_LIMIT, "get_order", Draw((n,)))
        if isinstance(error, APIStatusError):
            assert error.status_code == 429
            assert error.retry_after is not None
            assert 1 <= error.retry_after <= 20
            told += 1
        elif isinstance(error, HTTPError):
            assert 1 <= int(error.response.headers["Retry-After"]) <= 20
            told += 1
        else:
            assert isinstance(error, ClientError)
            assert error.response["Error"]["Code"] == "ThrottlingException"
    assert told > 30


def test_no_template_is_left_unfilled() -> None:
    for kind in RAISED:
        for n in range(40):
            text = str(make_error(kind, "get_order", Draw((n,))))
            assert "{tool}" not in text
            assert "{seconds}" not in text
            assert "{{" not in text


def test_a_silent_fault_cannot_be_raised() -> None:
    with pytest.raises(ValueError, match="is not an exception"):
        make_error(ErrorKind.STALE_DATA, "get_order", Draw())


def test_garbled_results_are_cut_off_pages_or_noise() -> None:
    texts = [garble({"order_id": "W1", "status": "pending"}, Draw((n,))) for n in range(60)]
    assert any(t.startswith("{") for t in texts)
    assert any(t.lower().startswith(("<!doctype", "<html")) for t in texts)
    assert any("\ufffd" in t for t in texts)
