"""`import btm` is light: what it needs is loaded when it is first used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import btm

ROOT = Path(__file__).resolve().parents[1]
HEAVY = (
    *("langchain", "langchain_core", "langgraph", "sqlalchemy", "scipy", "numpy", "networkx"),
    *("jinja2", "pydantic", "yaml", "click", "rich", "asyncio", "sqlite3"),
)
FRAMEWORKS = ("langchain", "langchain_core", "langgraph", "networkx", "matplotlib")

EXAMPLE = "import io, runpy, sys; sys.path.insert(0, 'examples'); sys.stdout = io.StringIO()"


def loaded_by(code: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after ``code``."""
    named = "sorted({name.partition('.')[0] for name in sys.modules})"
    script = f"{code}\nimport sys\nprint(*{named}, file=sys.__stdout__)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


def test_importing_btm_loads_nothing_heavy() -> None:
    assert loaded_by("import btm") & set(HEAVY) == set()


def test_the_vocabulary_and_the_errors_need_the_standard_library_only() -> None:
    assert (
        loaded_by("from btm import Action, BTMError, Effect, ErrorKind, Mode, Outcome, ToolCall") & set(HEAVY)
        == set()
    )


def test_a_memory_loads_no_agent_framework() -> None:
    loaded = loaded_by("from btm import ToolMemory; ToolMemory.open(None, fallback_map='retail').close()")
    assert loaded & set(FRAMEWORKS) == set()


@pytest.mark.parametrize(
    "code",
    [
        "import btm.training",
        "import btm.skills, btm.judge",
        "import btm.adapters.framework, btm.adapters.claude_code",
        f"{EXAMPLE}; runpy.run_path('examples/plain_functions.py')",
        f"{EXAMPLE}; runpy.run_path('examples/chat_completions_loop.py')",
    ],
)
def test_without_langchain_agents_nothing_of_langchain_is_loaded(code: str) -> None:
    """Not by plain functions, the chat loop or other frameworks; LangSmith comes with it, and loads a tracer."""
    assert loaded_by(code) & {*FRAMEWORKS, "langsmith", "torch", "trl"} == set()


def test_a_memory_does_without_scipys_statistics() -> None:
    code = "from btm import ToolMemory; ToolMemory.open(None).close(); import sys; assert 'scipy.stats' not in sys.modules"
    assert "scipy" in loaded_by(code)


@pytest.mark.parametrize("name", btm.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(btm, name) is not None
    assert name in dir(btm)


def test_a_public_name_is_what_it_says_also_when_its_module_was_imported_first() -> None:
    code = "import btm.classify, btm.memory, btm; [getattr(btm, n) for n in btm.__all__]; import types; " \
        "assert not any(isinstance(getattr(btm, n), types.ModuleType) for n in btm.__all__)"  # fmt: skip
    loaded_by(code)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nobody'"):
        _ = btm.Nobody
