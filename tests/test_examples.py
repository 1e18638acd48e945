from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
HELPERS = {"orders.py"}
RUNNABLE = sorted(path for path in EXAMPLES.glob("*.py") if path.name not in HELPERS)
EXPECTED = {
    "chat_completions_loop.py": r'Done: \[\{"order_id":"o1".*"shipped"',
    "langchain_callbacks.py": r"after auth_error of get_order, switch list_orders: 0\.\d\d \(n=1\)",
    "langchain_middleware.py": r"What the model was told:\n<recovery[\s\S]*next: switch to list_orders[\s\S]*"
    r"Done: .*shipped[\s\S]*switch list_orders: 0\.\d\d \(n=1\)",
    "langchain_tools.py": r"btm: \{'served_by': 'list_orders'",
    "plain_functions.py": r"next: switch to list_orders",
}


def test_there_is_an_example_for_every_way_in() -> None:
    assert {path.name for path in RUNNABLE} == EXPECTED.keys()


@pytest.mark.parametrize("path", RUNNABLE, ids=lambda path: path.stem)
def test_an_example_runs_as_it_stands(path: Path) -> None:
    # No key, no network to speak of, and warnings are errors: an example must not teach a deprecated way.
    environment = {k: v for k, v in os.environ.items() if "KEY" not in k and "TOKEN" not in k}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        cwd=EXAMPLES.parent,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(EXPECTED[path.name], done.stdout), done.stdout


@pytest.mark.parametrize("path", RUNNABLE, ids=lambda path: path.stem)
def test_an_example_says_which_line_to_change_for_a_real_model(path: Path) -> None:
    assert re.search(r"real model replace the line above|No model is needed here", path.read_text())


@pytest.mark.parametrize("name", ["langchain_callbacks", "langchain_middleware"])
def test_an_example_that_lacks_its_extra_says_which_one(name: str) -> None:
    code = f"""
import runpy, sys
sys.path.insert(0, {str(EXAMPLES)!r})
sys.modules.update({{"langchain": None, "langchain.agents": None, "langgraph": None, "langgraph.graph": None}})
runpy.run_path({str(EXAMPLES / name)!r} + ".py")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'pip install -e ".[langchain]"' in done.stderr
