"""``btm classify``: rows and bare texts in, names out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from shared_data import shared

from btm.cli.classify import classify


def run(arguments: list[str], stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(classify, arguments, input=stdin)


def row(number: int, value: Any, **more: Any) -> str:
    return json.dumps(
        {"id": f"r{number}", "tool": "get_order", "outcome": {"form": "result", "value": value, **more}}
    )


def test_rows_become_one_json_document() -> None:
    done = run(
        ["-", "--json"],
        "\n".join([row(1, "Error: user not found"), row(2, {"id": 1}), row(3, "no", is_error=True)]),
    )
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert [(d["id"], d["kind"], d["family"]) for d in document] == [
        ("r1", "not_found", "caller"),
        ("r2", None, None),
        ("r3", "unknown", "unknown"),
    ]
    assert set(document[0]) == {
        "id", "kind", "family", "ambiguous", "silent", "confidence", "retry_after_s", "reason", "rule",
    }  # fmt: skip


def test_a_bare_text_a_line_is_read_too() -> None:
    done = run(
        ["-", "--json"],
        'Error: user not found\n\nall fine\n{"error": "Too many requests", "retry_after": 9}\n',
    )
    document = json.loads(done.stdout)
    assert [(d["id"], d["kind"]) for d in document] == [("1", "not_found"), ("3", None), ("4", "rate_limit")]
    assert document[2]["retry_after_s"] == 9.0


def test_a_broken_row_is_named_and_the_others_are_classified(tmp_path: Path) -> None:
    file = tmp_path / "outcomes.jsonl"
    file.write_text(
        "\n".join(
            [
                row(1, "Error: x not found"),
                '{"id": "r2", "outcome": {',
                '{"id": "r3", "outcome": 7}',
                row(4, "ok"),
            ]
        )
    )
    done = run([str(file), "--json"])
    assert done.exit_code == 0
    assert [d["id"] for d in json.loads(done.stdout)] == ["r1", "r4"]
    assert f"{file}:2: broken JSON" in done.stderr
    assert f"{file}:3: " in done.stderr


@pytest.mark.parametrize("content", ["", "\n\n", '{"id": "r1", "outcome": '])
def test_nothing_readable_is_wrong_usage(content: str) -> None:
    done = run(["-"], content)
    assert done.exit_code == 2
    assert "no outcome" in done.stderr


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    done = run([str(tmp_path / "missing.jsonl")])
    assert done.exit_code == 2
    assert "cannot read" in done.stderr


def test_people_get_a_table_and_a_summary() -> None:
    done = run(["-"], "\n".join([row(1, "Error: [bold]user[/bold] not found"), row(2, "fine")]))
    assert done.exit_code == 0
    assert "not_found" in done.stdout
    assert "2 outcomes: not_found 1, ok 1" in done.stdout


def test_odd_bytes_and_surrogates_are_survived() -> None:
    lines = b'\xff\xfe Error: not found\n{"id": "\\ud800", "tool": "x", "outcome": {"form": "result", "value": NaN}}\n'
    done = run(["-", "--json"], lines)
    assert done.exit_code == 0
    assert len(json.loads(done.stdout)) == 1  # in a file with rows a line that is none is named instead
    assert "<stdin>:1" in done.stderr


def test_the_shared_rows_are_all_read() -> None:
    path = shared("data/errors/visible.jsonl")
    done = run([str(path), "--json"])
    assert done.exit_code == 0
    assert len(json.loads(done.stdout)) == len(path.read_text().splitlines())
