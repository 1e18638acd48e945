"""What a command's exit code says in a log: one rule for all readers."""

from __future__ import annotations

import pytest

from btm.logs.answers import ended_badly


@pytest.mark.parametrize(
    ("code", "bad"), [(0, False), (1, True), (127, True), (-9, True), (-11, True), (-1, False)]
)
def test_a_signal_is_a_bad_end_and_a_command_that_still_runs_has_none(code: int, bad: bool) -> None:
    assert ended_badly({"exit_code": code}) is bad
    assert ended_badly({"extras": {"metadata": {"exit_code": code}}}) is bad
