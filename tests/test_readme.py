"""The README's promises about itself: its commands are the ones that are checked, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from btm.cli.main import cli
from btm.fallback import FallbackMap
from btm.model import ToolCall

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("command", ["pip install -e . && btm demo", 'pip install -e ".[test]" && pytest'])
def test_the_two_commands_are_exactly_those_that_ci_runs(command: str) -> None:
    assert command in README.splitlines()
    assert command in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()


def test_ci_runs_tests_that_are_there() -> None:
    named = re.findall(r"tests/[\w/.]+", (ROOT / ".ci" / "run").read_text("utf-8"))
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_relative_link_leads_to_a_file() -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", README)
    assert targets
    assert [t for t in targets if not (ROOT / t).exists()] == []


def test_the_map_is_one_that_loads_and_checks() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    fallback_map = FallbackMap.from_text(text, "README.md")
    offers = fallback_map.candidates(ToolCall("get_order", {"order_id": "O1"}), None, {"user_id": "u1"})
    assert [(offer.tool, offer.arguments) for offer in offers] == [("list_orders", {"user_id": "u1"})]


def test_python_blocks_are_python() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        compile(block, "README.md", "exec")


def test_the_demos_table_and_the_context_are_what_the_commands_print(tmp_path: Path) -> None:
    database = str(tmp_path / "demo.db")
    printed = CliRunner().invoke(cli, ["demo", "--db", database]).output
    table = README.split("```text\nTasks solved\n")[1].split("```")[0]
    assert table in printed
    call = '{"order_id": "S1001", "amount": 12.5}'
    asked = ["context", "--tool", "issue_refund", "--error", "timeout", "--map", "shop", "--db", database]
    asked += ["--detail", "full"]
    assert CliRunner().invoke(cli, [*asked, "--call", call]).output in README
