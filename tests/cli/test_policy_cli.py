from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from btm.cli.main import cli
from btm.planning.policy import Policies

OWN = """
extends: default
rules:
  - {id: no-calls-on-sunday, when: call.tool == "charge", forbid: [retry], level: enforce, say: "Not {{ call.tool }}."}
  - {id: no-blind-repeats, when: outcome.kind == "not_found", forbid: [retry], say: "Look first."}
"""


def checked(file: Path) -> dict[str, object]:
    result = CliRunner().invoke(cli, ["policy", "check", str(file), "--json"])
    return {**json.loads(result.output), "exit": result.exit_code}


def test_own_rules_are_added_to_the_shipped_ones_and_take_the_place_of_their_namesakes(
    tmp_path: Path,
) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(OWN)
    shipped = [rule.id for rule in Policies.load("default").rules]
    rules = {rule.id: rule for rule in Policies.load(file).rules}
    assert [*rules] == [*shipped, "no-calls-on-sunday"]
    assert rules["no-blind-repeats"].say == "Look first."
    assert checked(file)["exit"] == 0


def test_a_file_extends_one_beside_it_but_not_itself(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    (tmp_path / "more.yaml").write_text("extends: own.yaml\nrules: []\n")
    assert Policies.load(tmp_path / "more.yaml").rules == Policies.load(tmp_path / "own.yaml").rules
    (tmp_path / "self.yaml").write_text("extends: self.yaml\nrules: []\n")
    assert "it extends itself" in str(checked(tmp_path / "self.yaml")["problems"])


def test_every_error_of_a_file_is_said_at_once_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    wrong = OWN.replace("call.tool ==", "cal.tool ==").replace("forbid: [retry], say", "forbid: [rety], say")
    file.write_text(wrong)
    found = checked(file)
    assert found["exit"] == 1
    problems = found["problems"]
    assert isinstance(problems, list)
    assert len(problems) == 2
    assert ":4:" in problems[0]
    assert "unknown name" in problems[0]
    assert "did you mean 'retry'" in problems[1]


def test_the_shipped_rules_are_listed_for_people() -> None:
    result = CliRunner().invoke(cli, ["policy", "check", "default"])
    assert result.exit_code == 0
    assert "no-blind-repeats (enforce): forbids retry" in result.output
