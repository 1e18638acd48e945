"""An MCP server of anyone's as an environment. Skipped where fastmcp or the MCP SDK is absent."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from btm.cli.main import cli
from btm.errors import AuthoredFileError, EvaluationError
from btm.lab.environment import load_environment
from btm.lab.environment_check import check_environment

pytest.importorskip("fastmcp", reason="fastmcp is not installed")
pytest.importorskip("mcp.server", reason="the MCP SDK is not installed")

HERE = Path(__file__).parent
SERVER = f"{sys.executable} {HERE / 'clinic_server.py'}"


def test_a_server_is_proved_and_measured_like_a_class() -> None:
    environment = load_environment(f"mcp:{HERE / 'clinic_tasks.yaml'}|{SERVER}")
    report = check_environment(environment)
    assert report.sound, report.flaws
    assert (report.gold, report.tasks, report.cut_short) == (2, 2, 0)
    assert "reset_all" not in environment.tools
    assert environment.tools["cancel_visit"].effect == "write"


def test_the_command_runs_on_a_server() -> None:
    words = ["eval", "--mcp", SERVER, "--tasks", str(HERE / "clinic_tasks.yaml"), "--arms", "bare,btm"]
    run = CliRunner().invoke(cli, [*words, "--scenario", "retry_works,switch_needed", "--json"])
    assert run.exit_code == 0, run.stderr
    solved = {(r["arm"], r["scenario"]): r["success"] for r in json.loads(run.stdout)["results"]}
    assert solved["btm", "switch_needed"] == solved["btm", "retry_works"] == 1.0
    assert solved["bare", "switch_needed"] == 0.0


def test_without_a_reset_the_server_is_started_anew(tmp_path: Path) -> None:
    text = (HERE / "clinic_tasks.yaml").read_text("utf-8").replace("reset: reset_all\n", "")
    (tmp_path / "tasks.yaml").write_text(text.replace("map: clinic.yaml\n", ""))
    environment = load_environment(f"mcp:{tmp_path / 'tasks.yaml'}|{SERVER}")
    task = environment.tasks[0]
    first = environment.open(task)
    start = first.digest()
    for step in task.steps:
        first.call(step.tool, step.arguments)
    assert first.digest() == task.goal != start
    assert environment.open(task).digest() == start


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("version: 1\nstate: []\ntasks: []\nservr: x\n", "servr"),
        ("version: 1\nstate: []\ntasks:\n  - request: hi\n", "gold"),
    ],
)
def test_a_wrong_file_is_told_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "tasks.yaml").write_text(text)
    with pytest.raises(AuthoredFileError, match=r"tasks\.yaml:\d+") as raised:
        load_environment(f"mcp:{tmp_path / 'tasks.yaml'}|x")
    assert says in str(raised.value)


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "tasks.yaml").write_text("version: 1\nstate: []\ntasks: []\n")
    with pytest.raises(EvaluationError, match="did not start"):
        _ = load_environment(f"mcp:{tmp_path / 'tasks.yaml'}|no-such-program-here").tools
