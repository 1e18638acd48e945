"""What the pages of the documentation show is so: python runs, authored files load, commands and their options exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from btm.cli.main import cli
from btm.fallback import FallbackMap
from btm.planning.policy import Policies

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
# Pages whose blocks run elsewhere: they follow one another, or need what a test has to make first.
FOLLOWED = {
    "evaluate.md", "fit-from-logs.md", "judge.md", "mcp.md", "quick-start.md", "skills.md", "training.md", "write-a-map.md",
}  # fmt: skip


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_of_a_page_compiles_and_runs_unless_another_test_runs_it(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "python"):
        compile(block, page.name, "exec")
    own = blocks(page, "python") if page.name not in FOLLOWED else []
    for text in blocks(page, "yaml"):
        if text.startswith("extends:"):
            (tmp_path / "my-policies.yaml").write_text(text)
    for block in own:
        command, environment = [sys.executable, "-c", block], {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
        )
        if "MissingExtraError" in done.stderr:
            pytest.skip(done.stderr.strip().splitlines()[-1])
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_authored_files_of_a_page_load(page: Path) -> None:
    for text in blocks(page, "yaml"):
        if text.startswith("extends:"):
            assert len(Policies.from_text(text).rules) > len(Policies.load("default").rules)
        elif "version: 1" in text and "tools:" in text:
            FallbackMap.from_text(text, page.name)


def commands(text: str) -> list[list[str]]:
    """The btm commands of a shell block, each with its words."""
    found = []
    joined = re.sub(r"\\\n\s*", " ", text)
    for line in joined.splitlines():
        words = re.match(r"(?:\$ )?(?:.*(?:&&|\|) )?(btm [^|>]*)", line)
        if words:
            try:
                found.append(shlex.split(words.group(1), comments=True)[1:])
            except ValueError:  # a quotation that goes on in the next line
                continue
    return found


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_every_command_of_a_page_exists_with_its_options(page: Path) -> None:
    shown = [text for language in ("bash", "console") for text in blocks(page, language)]
    for words in (words for text in shown for words in commands(text)):
        command: click.Command = cli
        rest = list(words)
        while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
            found = command.get_command(click.Context(command), rest.pop(0))
            assert found is not None, f"{page.name}: btm {' '.join(words)}"
            command = found
        # A group that does something by itself (btm mcp) takes the options of what it does.
        makers = [command, *(command.commands.values() if isinstance(command, click.Group) else ())]
        known = {name for one in makers for p in one.params for name in (*p.opts, *p.secondary_opts)}
        if "--" in rest:
            rest = rest[: rest.index("--")]
        options = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
        assert options - known - {"--help", "-h", "--version"} == set(), f"{page.name}: btm {' '.join(words)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_of_a_page_leads_to_a_page(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", prose)
    assert [target for target in targets if not (page.parent / target).exists()] == []
