"""Files that take the place of others, where the system is odd: pipes without a path, mounts, long names, no rights."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from btm.cli import main
from btm.cli.output import replacing

_WRITES = "from btm.cli.output import replacing\nwith replacing('/dev/stdout') as file: file.write(b'rows')"


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout here")
def test_stdout_by_its_name_is_written_in_a_pipe() -> None:
    done = subprocess.run([sys.executable, "-c", _WRITES], capture_output=True, check=True)
    assert done.stdout == b"rows"


def test_a_file_that_a_container_has_mounted_is_written_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(_self: Path, _target: Path) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    target = tmp_path / "out"
    target.write_bytes(b"old and longer")
    monkeypatch.setattr(Path, "replace", busy)
    with replacing(target) as file:
        file.write(b"new")
    assert target.read_bytes() == b"new"
    assert [*tmp_path.iterdir()] == [target]


def test_a_name_may_be_as_long_as_the_system_lets_it(tmp_path: Path) -> None:
    target = tmp_path / ("n" * 255)
    with replacing(target) as file:
        file.write(b"new")
    assert target.read_bytes() == b"new"


def test_two_writers_do_not_meet_and_what_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with replacing(target) as one, replacing(target) as other:
        one.write(b"one")
        other.write(b"other")
    assert target.read_bytes() == b"one"
    with pytest.raises(ZeroDivisionError), replacing(target) as file:
        file.write(1 // 0 * b"half")
    assert target.read_bytes() == b"one"
    assert [*tmp_path.iterdir()] == [target]


@pytest.mark.parametrize("where", ["begin", "end"])
def test_a_folder_without_rights_ends_the_command_in_a_sentence_with_the_users_own_name(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object, **__: object) -> tuple[int, str]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "another name")

    out = tmp_path / "out.jsonl"
    place, name = (tempfile, "mkstemp") if where == "begin" else (Path, "replace")
    monkeypatch.setattr(place, name, refused)
    monkeypatch.setattr(sys, "argv", ["btm", "train-env", "rows", "-o", str(out)])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert str(out) in said
    assert "another name" not in said
    assert "Traceback" not in said
    assert not [*tmp_path.iterdir()]
