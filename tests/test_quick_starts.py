"""docs/quick-start.md, followed as it stands, in an empty folder and without a key."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from quick_starts import ROOT, SECTIONS, SWITCHED, blocks, follow

NEEDS = {"LangChain": "langchain", "OpenAI Agents SDK": "agents", "pydantic-ai": "pydantic_ai"}


@pytest.mark.parametrize("section", [name for name, text in SECTIONS.items() if blocks(text)])
def test_a_quick_start_reaches_a_recovered_failure(section: str, tmp_path: Path) -> None:
    package = NEEDS.get(section)
    if package is not None and find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    printed = follow(section, tmp_path, path=str(ROOT))
    assert "order o1: shipped" in printed
    if package is not None:
        assert SWITCHED in printed
    assert (tmp_path / "btm.db").exists()


def test_every_extra_that_a_page_of_the_docs_names_is_there() -> None:
    extras = re.findall(r"^([\w-]+) = \[", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    for path in (ROOT / "docs").glob("*.md"):
        named = re.findall(r"(?:bayesian-tool-memory|-e \"?\.)\[([\w-]+)\]", path.read_text("utf-8"))
        assert [name for name in named if name not in extras and name != "EXTRA"] == [], path
