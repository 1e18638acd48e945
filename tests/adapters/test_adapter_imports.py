from __future__ import annotations

import subprocess
import sys

import pytest

FRAMEWORKS = {"langchain", "langgraph", "langchain_core"}
LOADED = f"import sys; print(sorted({{m.partition('.')[0] for m in sys.modules}} & {FRAMEWORKS}))"


def loaded_by(statement: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{statement}; {LOADED}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("statement", "loaded"),
    [
        ("import btm", "[]"),
        (
            "import btm; from btm.adapters.chat_completions import ChatLoop; ChatLoop(btm.ToolMemory.open(None), [])",
            "[]",
        ),
        ("from btm.adapters.langchain import BTMCallbackHandler, wrap_tools", "['langchain_core']"),
        ("from btm.adapters.langchain import BTMMiddleware", "['langchain', 'langchain_core', 'langgraph']"),
    ],
)
def test_an_adapter_loads_its_own_framework_and_no_more(statement: str, loaded: str) -> None:
    assert loaded_by(statement) == loaded


def test_without_langchain_the_middleware_says_how_to_get_it() -> None:
    script = """
import sys
sys.modules["langchain"] = None
from btm.adapters.langchain import wrap_tools
try:
    from btm.adapters.langchain import BTMMiddleware
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install 'bayesian-tool-memory[langchain]'" in done.stdout
