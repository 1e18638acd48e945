"""What a forked child needs of its own."""

from __future__ import annotations

import gc
import os

import pytest

from btm.support.forks import go_on_in_children


class Thing:
    def __init__(self) -> None:
        self.told = 0

    def after_fork(self) -> None:
        self.told += 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_what_goes_on_is_told_in_the_child_and_only_there() -> None:
    thing, gone = Thing(), Thing()
    for each in (thing, gone):
        go_on_in_children(each)
    del gone, each
    gc.collect()
    pid = os.fork()
    if pid == 0:  # the child
        os._exit(thing.told)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    assert thing.told == 0
