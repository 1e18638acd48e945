"""Write docs/frameworks.md: one line for each framework, and what its adapter was seen to get right.

``python docs/frameworks_page.py --write`` makes an environment for each framework, installs its extra from this checkout,
runs the conformance kit there (some minutes, from the package index) and writes the page. ``--only EXTRA`` takes one
framework and keeps the other rows; ``--venvs FOLDER`` keeps the environments for the next time.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = Path(__file__).with_name("frameworks.md")
sys.path.insert(0, str(ROOT / "tests/adapters"))

from conformance_kit import SITUATIONS, FrameworkDriver  # noqa: E402
from framework_drivers import drivers  # noqa: E402

HEAD = """\
# Agent frameworks

One line puts btm into an agent of any of these. Take the line out and btm is out. `memory` is a
`ToolMemory.open("btm.db", fallback_map="my-map.yaml", mode="advise")`; the line of each framework is also the first line of
its module (`btm.adapters.<name>`), with what it does not cover.

LangChain and LangGraph have [three ways in](quick-start.md#langchain); any MCP client has [the proxy](mcp.md), Claude Code
[hooks](claude-code.md). For a loop of your own there is `btm.adapters.chat_completions.ChatLoop`, and for a plain function
`memory.wrap`.

## The lines
"""

MIDDLE = """
The extra is what `pip install -e ".[EXTRA]"` takes, in a clone of the repository. Not all of these frameworks go together in
one environment.

What they share: a failing tool no longer ends a run; the model reads the error and, with it, what to do next; act mode
repeats and switches before the model sees anything; signals of the framework (approvals, interrupts, cancellation) pass
and teach nothing. In observe mode nothing is changed: a tool that raises does so as without btm.

## What was tried with the real packages

Every cell is a run of an agent of that framework with a scripted model. `yes`: it does what it should. A letter: the
framework does not allow the situation, see below. The Claude Agent SDK and langchain-mcp-adapters cannot run without a
program or a server of their own: their parts are tested.
"""

SITUATION_TEXTS = {
    "fails once": "act mode repeats the call; the model sees the answer only",
    "fails for good": "the run goes on, the model is told what to do, and doing it is learned",
    "another tool stands in": "act mode takes the substitute of the map",
    "parallel siblings": "the other calls of the same turn keep their results",
    "write in doubt": "guard mode refuses the repeat of a write that may have happened",
    "cancelled": "a cancelled run teaches nothing",
    "interrupted": "a signal of the framework passes and teaches nothing",
    "replayed": "a call with the same id counts once",
    "unknown tool": "the run goes on and the model hears of it",
    "bad JSON": "arguments that are no JSON are told to the model, and no tool is run",
    "huge result": "three million characters pass unchanged",
    "secret in the error": "no secret in a recovery context or in the database",
    "hostile text": "an error text cannot pose as a note of btm",
    "long Retry-After": "btm does not wait for an hour: the model hears from when on",
    "empty answer": "a suspicious empty answer keeps its form and gets a note",
}


# Adapters whose framework cannot run without a server or a program of its own: tested in parts.
IN_PARTS = {"Claude Agent SDK": "claude-agent-sdk", "langchain-mcp-adapters": "langchain-mcp"}


def line_of(extra: str) -> str:
    """Return what a user writes: it stands in the first line of the adapter's module."""
    module = (ROOT / "btm/adapters" / f"{extra.replace('-', '_')}.py").read_text("utf-8")
    found = re.search(r"``(.*?)``", module)
    assert found, extra
    return found.group(1)


def results(kept: Mapping[str, Mapping[str, str]], only: str, folder: Path) -> dict[str, Mapping[str, str]]:
    """Return what became of every situation with every framework."""
    found = dict(kept)
    for driver in drivers():
        if only in ("", driver.extra):
            print(driver.name, file=sys.stderr)
            found[driver.name] = _run(driver, folder / driver.extra)
    return found


def _run(driver: FrameworkDriver, folder: Path) -> Mapping[str, str]:
    python = folder / "bin/python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-e", f"{ROOT}[{driver.extra}]"], check=True)
    command = [python, ROOT / "tests/adapters/conformance_run.py", "--json", driver.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if not done.stdout.startswith("{"):
        raise SystemExit(f"{driver.name}: {done.stderr[-2000:]}")
    found: Mapping[str, str] = json.loads(done.stdout.splitlines()[-1])[driver.name]
    for situation, verdict in found.items():
        if verdict not in ("works", "not possible"):
            print(f"  {situation}: {verdict}", file=sys.stderr)
    return found


def read(page: str) -> dict[str, dict[str, str]]:
    """Return the results that a page holds."""
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| **")]
    head = next((line for line in page.splitlines() if line.startswith("| situation")), "")
    names = head.strip("| ").split(" | ")[1:]
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for situation, *cells in rows:
        for name, cell in zip(names, cells, strict=True):
            verdict = {"yes": "works", "no": "no"}.get(cell.strip(), "not possible")
            found[name][situation.strip("*")] = verdict
    return found


def page(found: Mapping[str, Mapping[str, str]]) -> str:
    """Return the page."""
    chosen = [driver for driver in drivers() if driver.name in found]
    lines = [HEAD, "| framework | extra | the line |", "|---|---|---|"]
    named = {**{driver.name: driver.extra for driver in drivers()}, **IN_PARTS}
    lines += [f"| {name} | `{extra}` | `{line_of(extra)}` |" for name, extra in named.items()]
    lines.append(MIDDLE)
    letters: dict[str, str] = {}
    for driver in chosen:
        for reason in driver.impossible.values():
            letters.setdefault(reason, chr(ord("a") + len(letters)))
    lines += [f"| situation | {' | '.join(d.name for d in chosen)} |", f"|---{'|---' * len(chosen)}|"]
    for situation in SITUATIONS:
        cells = []
        for driver in chosen:
            verdict = found[driver.name].get(situation, "no")
            reason = driver.impossible.get(situation)
            cells.append(letters[reason] if reason else "yes" if verdict == "works" else "no")
        lines.append(f"| **{situation}** | {' | '.join(cells)} |")
    lines.append("")
    lines += [f"- {letter}: {reason}" for reason, letter in letters.items()]
    lines += ["", "What each row asks for:", ""]
    lines += [f"- *{name}*: {SITUATION_TEXTS[name]}" for name in SITUATIONS]
    lines += [
        "",
        "Made by `python docs/frameworks_page.py --write`, which installs each framework and runs the situations.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="", metavar="EXTRA")
    parser.add_argument("--venvs", type=Path)
    asked = parser.parse_args()
    kept = read(PAGE.read_text("utf-8")) if PAGE.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        text = page(results(kept, asked.only, asked.venvs or Path(folder)))
    if asked.write:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
