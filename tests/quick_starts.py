"""The quick starts of the documentation, followed as they stand.

``python tests/quick_starts.py`` times them from nothing: for each, a fresh virtual environment, the page's own installation
from this checkout, its files in an empty folder, and a failure that was recovered. It fails where one takes five minutes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 300.0
"""A stranger should not need longer, in seconds."""

PAGE = (ROOT / "docs/quick-start.md").read_text("utf-8")
MCP_PAGE = (ROOT / "docs/mcp.md").read_text("utf-8")
SECTIONS: dict[str, str] = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
SWITCHED = "[tool layer: served by list_orders in place of get_order after an auth error]"


def blocks(text: str) -> list[str]:
    """Return the Python blocks of a page."""
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def follow(section: str, folder: Path, python: str = sys.executable, path: str = "") -> str:
    """Save the files of a section of the quick start in ``folder``, run them, and return what they print."""
    (folder / "shop.py").write_text(blocks(PAGE)[0], encoding="utf-8")
    (folder / "start.py").write_text("".join(blocks(SECTIONS[section])), encoding="utf-8")
    return _ran([python, "start.py"], folder, path)


def follow_mcp(mode: str, folder: Path, python: str = sys.executable, path: str = "") -> str:
    """Save the server and the client of the guide to MCP in ``folder``, run them, and return what the client prints."""
    server, client, _ = blocks(MCP_PAGE)
    (folder / "shop.py").write_text(server, encoding="utf-8")
    (folder / "ask.py").write_text(client, encoding="utf-8")
    return _ran([python, "ask.py", mode], folder, path)


def _ran(command: list[str], folder: Path, path: str) -> str:
    kept = {k: v for k, v in os.environ.items() if "KEY" not in k and "TOKEN" not in k and k != "PYTHONPATH"}
    if path:
        kept["PYTHONPATH"] = path
    kept["HOME"] = str(folder)
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=kept, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


STARTS: dict[str, tuple[str, Callable[[Path, str], str], str]] = {
    "LangChain": (SECTIONS["LangChain"], lambda at, python: follow("LangChain", at, python), SWITCHED),
    "MCP": (
        MCP_PAGE,
        lambda at, python: follow_mcp("act", at, python),
        "[tool layer: after a timeout, 2 retries]",
    ),
    "OpenAI Agents SDK": (
        SECTIONS["OpenAI Agents SDK"],
        lambda at, python: follow("OpenAI Agents SDK", at, python),
        SWITCHED,
    ),
    "pydantic-ai": (SECTIONS["pydantic-ai"], lambda at, python: follow("pydantic-ai", at, python), SWITCHED),
}
"""Each quick start: its page, how it is followed, and the words that tell of the recovery."""


def timed(name: str, folder: Path) -> tuple[str, float, str]:
    """Follow a quick start from an empty folder; return its name, the seconds it took, and what was amiss."""
    page, start, said = STARTS[name]
    (extra,) = re.findall(r'^pip install -e "\.\[([\w-]+)\]"', page, re.MULTILINE)
    begun = time.monotonic()
    venv.create(folder / "venv", with_pip=True)
    python, empty = str(folder / "venv/bin/python"), folder / "empty"
    empty.mkdir()
    subprocess.run([python, "-m", "pip", "install", "-q", "-e", f".[{extra}]"], check=True, cwd=ROOT)
    try:
        printed = start(empty, python)
        amiss = "" if said in printed else f"nothing was recovered:\n{printed}"
    except (AssertionError, subprocess.TimeoutExpired) as error:
        amiss = str(error)
    taken = time.monotonic() - begun
    return name, taken, amiss or ("" if taken < LIMIT_S else f"it took longer than {LIMIT_S:.0f} s")


def main() -> int:
    """Time every quick start, two at a time; 1 if one went wrong."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        places = {name: Path(folder) / str(number) for number, name in enumerate(STARTS)}
        found = list(pool.map(lambda name: timed(name, places[name]), STARTS))
    for name, taken, amiss in found:
        print(f"{name:18} {taken:4.0f} s  {amiss or 'recovered'}")
    return int(any(amiss for _, _, amiss in found))


if __name__ == "__main__":
    sys.exit(main())
