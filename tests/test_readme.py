"""The README's promises about itself: its commands are the ones that are checked, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("command", ["pip install -e . && btm demo", 'pip install -e ".[test]" && pytest'])
def test_the_two_commands_are_exactly_those_that_ci_runs(command: str) -> None:
    assert command in README.splitlines()
    assert command in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()


def test_every_relative_link_leads_to_a_file() -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", README)
    assert targets
    assert [t for t in targets if not (ROOT / t).exists()] == []


def test_python_blocks_are_python() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        compile(block, "README.md", "exec")
