"""Labelled outcomes are counted by library and by confidence; rows without a label are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from btm.classify.scoring import by_library, library_of, score
from btm.cli.classify import classify as command


def row(identity: str, text: str, label: str, source: str) -> dict[str, object]:
    outcome = {"form": "result", "value": text, "is_error": None}
    return {
        "id": identity, "tool": "get_order", "effect": "read", "called_at": None, "outcome": outcome, "label": label,
        "source": source,
    }  # fmt: skip


ROWS = [
    row("a", "Error: Order 12 not found", "not_found", "provoked: shop.errors.OrderNotFound"),
    row("b", "Error: connection refused", "timeout", "shop 2"),
    row("c", "Order 12 was shipped.", "ok", "own text"),
    row("d", "Order 12 was shipped.", "not_found", "own text"),
]


def test_rows_are_counted_exactly_by_family_and_by_library() -> None:
    found = score(ROWS)
    assert (found.total, found.exact.total(), found.family.total()) == (4, 2, 3)
    assert (found.unflagged, found.passed, found.false_errors) == (3, 1, [])
    assert {name: each.total for name, each in by_library(ROWS).items()} == {"shop": 2, "text": 2}


@pytest.mark.parametrize(
    ("source", "library"),
    [("provoked: botocore.exceptions.X", "botocore"), ("cli tar", "tar"), ("", "unknown"), (None, "unknown")],
)
def test_a_source_names_its_library(source: object, library: str) -> None:
    assert library_of(source) == library


def test_the_calibration_error_is_the_weighted_distance_of_confidence_and_share() -> None:
    found = score([])
    found.confidences = [(0.9, True), (0.9, False), (0.6, True)]
    found.rows["ok"] = 3
    assert found.calibration_error == pytest.approx((2 * 0.4 + 1 * 0.4) / 3)


def test_the_command_prints_the_score_and_names_rows_without_a_label(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    lines = [*map(json.dumps, ROWS), json.dumps({**ROWS[0], "label": "not_fond"}), "a bare text"]
    file.write_text("\n".join(lines), encoding="utf-8")
    result = CliRunner().invoke(command, [str(file), "--score", "--json"])
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert (document["rows"], document["exact"], document["passed"]) == (4, 0.5, 1)
    assert [each["library"] for each in document["libraries"]] == ["shop", "text"]
    assert "rows.jsonl:5: no kind of failure: 'not_fond'" in result.stderr
    shown = CliRunner().invoke(command, [str(file), "--score"]).stdout
    assert "expected calibration error" in " ".join(shown.split())
