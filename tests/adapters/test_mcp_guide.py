"""The quick start of docs/mcp.md, followed as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("fastmcp", reason="the MCP proxy needs the extra 'mcp'")

from quick_starts import MCP_PAGE, ROOT, follow_mcp

pytestmark = pytest.mark.xdist_group("mcp")


def follow(folder: Path, mode: str) -> list[str]:
    # Clients start servers with few of their own variables: the package under test is found in the folder.
    (folder / "btm").symlink_to(ROOT / "btm", target_is_directory=True)
    return follow_mcp(mode, folder).splitlines()


def test_the_quick_start_shows_what_a_model_is_told(tmp_path: Path) -> None:
    said = follow(tmp_path, "advise")
    assert said[0] == "error"
    shown = MCP_PAGE.split("```text\n")[1].split("\n...")[0].splitlines()
    own = re.compile(r'(?<= id=")\w+')
    assert own.sub("", "\n".join(said[2:4])) == own.sub("", "\n".join(shown))


def test_the_quick_start_reaches_a_recovered_failure(tmp_path: Path) -> None:
    said = follow(tmp_path, "act")
    assert said[0] == "answer"
    assert said[-1] == "[tool layer: after a timeout, 2 retries]"
