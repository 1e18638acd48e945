"""docs/quick-start.md, followed as it stands, in an empty folder and without a key."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/quick-start.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
NEEDS = {"LangChain": "langchain", "OpenAI Agents SDK": "agents", "pydantic-ai": "pydantic_ai"}


def blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("section", [name for name, text in SECTIONS.items() if blocks(text)])
def test_a_quick_start_reaches_a_recovered_failure(section: str, tmp_path: Path) -> None:
    package = NEEDS.get(section)
    if package is not None and find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    (tmp_path / "shop.py").write_text(blocks(PAGE)[0], encoding="utf-8")
    (tmp_path / "start.py").write_text("".join(blocks(SECTIONS[section])), encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if "KEY" not in k and "TOKEN" not in k}
    done = subprocess.run(
        [sys.executable, "start.py"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "order o1: shipped" in done.stdout
    if package is not None:
        assert "[tool layer: served by list_orders in place of get_order after an auth error]" in done.stdout
    assert (tmp_path / "btm.db").exists()


def test_every_extra_that_a_page_of_the_docs_names_is_there() -> None:
    extras = re.findall(r"^([\w-]+) = \[", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    for path in (ROOT / "docs").glob("*.md"):
        named = re.findall(r"bayesian-tool-memory\[([\w-]+)\]", path.read_text("utf-8"))
        assert [name for name in named if name not in extras and name != "EXTRA"] == [], path
