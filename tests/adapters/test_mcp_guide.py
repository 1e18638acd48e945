"""The quick start of docs/mcp.md, followed as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastmcp", reason="the MCP proxy needs the extra 'mcp'")

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/mcp.md").read_text("utf-8")

pytestmark = pytest.mark.xdist_group("mcp")


def follow(folder: Path, mode: str) -> list[str]:
    server, client, _ = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    (folder / "shop.py").write_text(server, encoding="utf-8")
    (folder / "ask.py").write_text(client, encoding="utf-8")
    # Clients start servers with few of their own variables: the package under test is found in the folder.
    (folder / "btm").symlink_to(ROOT / "btm", target_is_directory=True)
    environment = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "ask.py", mode],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_quick_start_shows_what_a_model_is_told(tmp_path: Path) -> None:
    said = follow(tmp_path, "advise")
    assert said[0] == "error"
    shown = GUIDE.split("```text\n")[1].split("\n...")[0].splitlines()
    own = re.compile(r'(?<= id=")\w+')
    assert own.sub("", "\n".join(said[2:4])) == own.sub("", "\n".join(shown))


def test_the_quick_start_reaches_a_recovered_failure(tmp_path: Path) -> None:
    said = follow(tmp_path, "act")
    assert said[0] == "answer"
    assert said[-1] == "[tool layer: after a timeout, 2 retries]"
