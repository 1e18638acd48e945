"""Run LangChain's own agent tests with BTMMiddleware in every agent: ``python tests/peers/langchain_suite``.

The tests are those of the source distribution of the installed LangChain; pip fetches it, and nothing of it is kept.
They run once without btm and once for each place (outermost, innermost) and mode (observe, advise). What fails with
btm only must stand in ``differences.toml`` with its reason, and what stands there must fail: anything else ends with
exit code 1. ``--install`` first installs what those tests need.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
ARMS = ("first-observe", "last-observe", "first-advise", "last-advise")
FOLDER = "tests/unit_tests/agents"


def fetch(folder: Path) -> Path:
    """Fetch and unpack the source distribution of the installed LangChain; return its folder."""
    wanted = f"langchain=={version('langchain')}"
    pip(["download", "--no-deps", "--no-binary", "langchain", "--dest", str(folder), wanted])
    (archive,) = folder.glob("langchain-*.tar.gz")
    shutil.unpack_archive(archive, folder)  # tarfile's filters are not in every Python 3.11
    return folder / archive.name.removesuffix(".tar.gz")


def pip(arguments: list[str]) -> None:
    """Run pip of this environment."""
    subprocess.run([sys.executable, "-m", "pip", *arguments, "--quiet"], check=True)


def install(source: Path) -> None:
    """Install what LangChain's tests need, as its own project file states it."""
    groups = tomllib.loads((source / "pyproject.toml").read_text())["dependency-groups"]
    pip(["install", *(need for need in groups["test"] if not need.startswith("langchain-openai"))])


def failed(source: Path, arm: str, chosen: list[str]) -> tuple[set[str], int]:
    """Run the tests with btm placed as ``arm`` says (``""``: without btm); return what failed and how many ran."""
    report = source / "report.xml"
    report.unlink(missing_ok=True)
    environment = os.environ | {
        "BTM_SUITE": arm,
        "PYTHONPATH": os.pathsep.join(map(str, (HERE, ROOT))),
        "LANGGRAPH_STRICT_MSGPACK": "false",
    }
    command = [sys.executable, "-m", "pytest", "-p", "plugin", "-p", "no:cacheprovider", "-q", "--no-header"]
    command += ["-n", "2", "--tb", "short", f"--junitxml={report}", *(chosen or [FOLDER])]
    ran = subprocess.run(command, check=False, cwd=source, env=environment, capture_output=True, text=True)
    (source / f"{arm or 'bare'}.log").write_text(ran.stdout + ran.stderr)
    if not report.exists():
        sys.exit(f"pytest did not run ({arm or 'bare'}):\n{(ran.stdout + ran.stderr)[-3000:]}")
    cases = list(ElementTree.parse(report).iter("testcase"))
    bad = {_name(c) for c in cases if c.find("failure") is not None or c.find("error") is not None}
    return bad, sum(c.find("skipped") is None for c in cases)


def _name(case: ElementTree.Element) -> str:
    module = case.get("classname", "").removeprefix("tests.unit_tests.agents.")
    return f"{module}::{case.get('name')}"


def reviewed(arm: str) -> dict[str, str]:
    """Return the differences that were reviewed for an arm, each with its reason."""
    groups = tomllib.loads((HERE / "differences.toml").read_text())["difference"]
    return {test: group["why"] for group in groups if arm in group["arms"] for test in group["tests"]}


def main() -> int:
    """Run every arm; print what differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--install", action="store_true", help="install what LangChain's tests need")
    parser.add_argument("--source", type=Path, help="an unpacked source distribution, instead of fetching it")
    parser.add_argument("--arm", action="append", choices=ARMS, help="only these arms")
    parser.add_argument("tests", nargs="*", help=f"only these tests (default: {FOLDER})")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        source = options.source or fetch(Path(folder))
        if options.install:
            install(source)
        bare, ran = failed(source, "", options.tests)
        print(f"without btm: {ran} tests ran, {len(bare)} failed")
        for arm in options.arm or ARMS:
            bad, ran = failed(source, arm, options.tests)
            expected = reviewed(arm)
            new = sorted(bad - bare - expected.keys())
            gone = sorted(expected.keys() - bad) if not options.tests else []
            print(f"{arm}: {ran} tests ran, {len(bad - bare)} differ, {len(expected)} of them reviewed")
            for test in new:
                print(f"  not reviewed: {test}")
            for test in gone:
                print(f"  reviewed, but does not differ (any more): {test}")
            wrong += len(new) + len(gone)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
