"""Pages of what was learned and of what was found, and what an evaluation's page shows of its memories."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from btm.cli.main import cli
from btm.cli.output import write_file
from btm.lab.html_page import Chance, Section, table_page


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    words = [
        "eval",
        "--tasks",
        "6",
        "--arms",
        "bare,btm",
        "--db",
        str(folder / "b.db"),
        "--html",
        str(folder / "r.html"),
    ]
    run = CliRunner().invoke(cli, words)
    assert run.exit_code == 0, run.stderr
    return folder


def foreign(page: str) -> list[str]:
    """What a page would load from elsewhere, or run."""
    return re.findall(r"<script|<link|<img|(?:src|href)=|url\(|@import", page)


def test_an_evaluations_page_shows_what_was_learned_and_an_incident_step_by_step(made: Path) -> None:
    page = (made / "r.html").read_text("utf-8")
    assert "What btm had learned at the end" in page
    assert "One incident, step by step: btm, switch_needed" in page
    assert "the agent called" in page
    assert "What bare had learned" not in page
    assert foreign(page) == []


def test_several_processes_give_the_same_page(made: Path) -> None:
    def page(workers: str) -> str:
        file = made / f"w{workers}.html"
        words = ["eval", "--tasks", "3", "--arms", "bare,btm", "--workers", workers, "--html", str(file)]
        assert CliRunner().invoke(cli, words).exit_code == 0
        return file.read_text("utf-8")

    assert page("1") == page("2")


def test_an_arm_that_learned_nothing_has_no_picture_of_it(tmp_path: Path) -> None:
    file = tmp_path / "clean.html"
    words = ["eval", "--scenario", "clean", "--tasks", "1", "--arms", "bare,btm", "--html", str(file)]
    run = CliRunner().invoke(cli, words)
    assert run.exit_code == 0, run.stderr
    assert "had learned" not in file.read_text("utf-8")


def test_what_was_learned_is_a_page(made: Path) -> None:
    file = made / "show.html"
    run = CliRunner().invoke(cli, ["show", "--db", str(made / "b.db"), "--html", str(file)])
    assert run.exit_code == 0, run.stderr
    page = file.read_text("utf-8")
    assert "What was learned" in page
    assert "after" in page
    assert "<svg" in page
    assert foreign(page) == []


def test_what_was_found_in_logs_is_a_page(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    asked: list[dict[str, object]] = [{"role": "user", "content": "Where is order 1?"}]
    for number in range(6):
        call = {"name": "get_order", "arguments": '{"id": "1"}'}
        made = {"id": f"c{number}", "type": "function", "function": call}
        asked.append({"role": "assistant", "content": None, "tool_calls": [made]})
        asked.append({"role": "tool", "tool_call_id": f"c{number}", "content": "Error: timed out"})
    log.write_text(json.dumps({"messages": asked}))
    file = tmp_path / "audit.html"
    run = CliRunner().invoke(cli, ["audit", str(log), "--html", str(file)])
    assert run.exit_code == 0, run.stderr
    page = file.read_text("utf-8")
    assert "What was found in the logs" in page
    assert "get_order" in page
    assert foreign(page) == []


def test_foreign_text_is_escaped_and_cannot_turn_the_page(tmp_path: Path) -> None:
    bad = "<b>x</b>\u202e\x1b[31m"
    section = Section(bad, ("a",), ((bad,),), (Chance(bad, 0.5, 0.1, 0.9, 3.0),))
    page = table_page("t", bad, [section], {"logs": bad})
    assert "<b>x" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page


def test_a_page_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        write_file(str(tmp_path / "no" / "page.html"), "x")
    run = CliRunner().invoke(
        cli, ["show", "--db", str(tmp_path / "none.db"), "--html", str(tmp_path / "p.html")]
    )
    assert run.exit_code == 1
