"""What the commands share to say things: sentences, lists, and where a file cannot stand."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from rich.console import Console

from btm.cli.output import (
    check_writable,
    console,
    counted,
    emit_json,
    listed,
    paragraph,
    percent,
    replacing,
    table,
)


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


@pytest.mark.skipif(os.name != "posix", reason="rights of files are POSIX's here")
def test_what_replaces_a_file_is_never_open_to_more_and_follows_no_link(tmp_path: Path) -> None:
    secret, victim = tmp_path / "settings.json", tmp_path / "victim"
    secret.write_text("old")
    secret.chmod(0o600)
    victim.write_text("kept")
    (tmp_path / f".settings.json.{os.getpid()}.part").symlink_to(victim)
    with replacing(secret) as file:
        file.write(b"new")
        file.flush()
        (begun,) = [path for path in tmp_path.glob(".settings.json.*") if not path.is_symlink()]
        assert begun.stat().st_mode & 0o777 == 0o600
    assert (secret.read_text(), victim.read_text()) == ("new", "kept")
    assert secret.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="rights of files are POSIX's here")
@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o640)])
def test_a_new_file_is_its_owners_or_as_the_process_makes_files(
    tmp_path: Path, private: bool, mode: int
) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "new", private=private) as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == mode


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_written_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with replacing(pipe) as file:
        file.write(b"row\n")
    assert os.read(reader, 10) == b"row\n"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
