"""A fork while another thread loads a module that few need: the child must not wait for it for ever."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADING = """
import importlib.abc, os, signal, sys, threading, time

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "{module}" and threading.current_thread() is not threading.main_thread():
            begun.set()
            time.sleep(0.5)

sys.meta_path.insert(0, Slow())
begun = threading.Event()
{setting}
thread = threading.Thread(target=work)
thread.start()
assert begun.wait(20)
child = os.fork()
if not child:
    signal.alarm(20)  # ends a child that waits
    work()
    os._exit(0)
thread.join()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

REFIT = """
from btm.learning.posterior import Decay, Priors, pooled
from btm.runtime.evidence import Credit
from btm.store import Snapshot
credit = Credit(Snapshot(Decay(), Priors(), b"key"), pooled)
work = lambda: credit._refit(0.0)
"""
SHAPE = """
from btm.classify.shape import lower_bound
work = lambda: lower_bound(9.0, 1.0)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")
@pytest.mark.parametrize(
    ("module", "setting"),
    [("btm.learning.priors", REFIT), ("scipy.special._basic", SHAPE)],
    ids=["refit", "shape"],
)
def test_a_fork_waits_while_a_module_is_loaded(module: str, setting: str) -> None:
    script = LOADING.format(module=module, setting=setting)
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=90, check=False
    )
    assert ran.returncode == 0, ran.stderr
