"""What the commands share to say things: sentences, lists, and where a file cannot stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from btm.cli.output import check_writable, console, counted, emit_json, listed, paragraph, percent, table


def test_numbers_agree_with_their_nouns() -> None:
    assert [counted(n, "call") for n in (0, 1, 2, 1_234)] == ["0 calls", "1 call", "2 calls", "1,234 calls"]
    assert percent(0.123) == "12 %"


def test_a_list_is_folded_between_its_items_only() -> None:
    items = ["not_found 7,530", "timeout 3", "unknown 1"]
    assert listed(items, 100) == "not_found 7,530, timeout 3, unknown 1"
    assert listed(items, 26) == "not_found 7,530,\ntimeout 3, unknown 1"
    assert listed(items, 1) == "not_found 7,530,\ntimeout 3,\nunknown 1"
    assert listed([], 10) == ""


def test_a_paragraph_hangs_from_its_first_line_and_is_no_markup() -> None:
    out = Console(width=30, color_system=None)
    with out.capture() as captured:
        paragraph(out, "get_order [red]after[/red] timeout: repeating never worked", first="- ", rest="  ")
        paragraph(out, "")
    assert captured.get().splitlines() == [
        "- get_order [red]after[/red]",
        "  timeout: repeating never",
        "  worked",
        "",
    ]


def test_what_would_steer_the_terminal_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    made = table("tool")
    made.add_row("get\x1b[2J\x07_\x9border\u202e")
    console().print(made)
    paragraph(console(), "evil\x1b]0;title\x07 name")
    assert capsys.readouterr().out.split("\n") == ["tool        ", "get[2J_order", "evil]0;title name", ""]


def test_json_steers_no_terminal_and_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    name = "get\u202e\x9b31m\u2028\ufeff\U000e0041 héλ日😀"
    emit_json([{name: name}])
    said = capsys.readouterr().out
    assert not set(said) & set("\u202e\x9b\u2028\ufeff\U000e0041")
    assert "héλ日😀" in said
    assert json.loads(said) == [{name: name}]


def test_where_a_file_cannot_stand_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    check_writable(str(tmp_path / "new.jsonl"))
    check_writable(str(tmp_path / "file"))
    for path, message in (
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "x", "there is no folder"),
        (tmp_path / "file" / "x", "is no folder"),
    ):
        with pytest.raises(SystemExit) as ended:
            check_writable(str(path))
        assert ended.value.code == 2
        assert message in capsys.readouterr().err
