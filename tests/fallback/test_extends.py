"""Maps that extend other maps, and maps by name."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from click.testing import CliRunner

from btm.cli.main import cli
from btm.errors import FallbackMapError
from btm.fallback import FallbackMap
from btm.model import Effect, ToolCall

BASE = """
version: 1
domain: base
tools:
  get: {effect: read, timeout: 5s, fallbacks: [{tool: find, coverage: partial}]}
  find: {effect: read}
  put: {effect: write}
"""


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def test_a_map_lies_over_the_one_it_extends(tmp_path: Path) -> None:
    write(tmp_path, base=BASE, own="""
version: 1
domain: own
extends: base.yaml
tools:
  get: {timeout: 9s}
  look: {effect: read, fallbacks: [{tool: find, coverage: full}]}
""")  # fmt: skip
    own = FallbackMap.load(tmp_path / "own.yaml")
    assert own.domain == "own"
    assert own.effect("get") is Effect.READ
    assert own.entry("get").timeout == 9
    assert [c.tool for c in own.candidates(ToolCall("get"), None, {})] == ["find"]
    assert [c.tool for c in own.candidates(ToolCall("look"), None, {})] == ["find"]
    assert set(own.tools) == {"get", "find", "put", "look"}


def test_a_list_of_fallbacks_replaces_the_one_it_lies_over(tmp_path: Path) -> None:
    write(tmp_path, base=BASE, own="""
version: 1
domain: own
extends: base.yaml
tools:
  get: {fallbacks: []}
""")  # fmt: skip
    assert FallbackMap.load(tmp_path / "own.yaml").substitutes("get") == frozenset()


def test_a_problem_is_told_in_the_file_that_has_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        base=BASE.replace("tool: find", "tool: fnid"),
        own="version: 1\ndomain: o\nextends: base.yaml\ntools: {}\n",
    )
    with pytest.raises(FallbackMapError) as caught:
        FallbackMap.load(tmp_path / "own.yaml")
    assert Path(caught.value.file).name == "base.yaml"
    assert (caught.value.line, caught.value.column, caught.value.suggestion) == (5, 55, "find")


def test_a_write_may_not_be_slipped_under_an_inherited_read(tmp_path: Path) -> None:
    own = "version: 1\ndomain: o\nextends: base.yaml\ntools:\n  find: {effect: write}\n"
    write(tmp_path, base=BASE, own=own)
    with pytest.raises(FallbackMapError, match="'find' is a write, offered for the read 'get'"):
        FallbackMap.load(tmp_path / "own.yaml")


def test_maps_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    text = "version: 1\ndomain: d\nextends: {}.yaml\ntools: {{}}\n"
    write(tmp_path, a=text.format("b"), b=text.format("a"), c=text.format("c"))
    for name in ("a", "c"):
        with pytest.raises(FallbackMapError, match=r":3:10: .* extends this map again"):
            FallbackMap.load(tmp_path / f"{name}.yaml")


def test_a_map_to_extend_that_is_not_there_is_named_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, a="version: 1\ndomain: d\nextends: nowhere.yaml\ntools: {}\n")
    with pytest.raises(FallbackMapError, match=r"a\.yaml:3:10: the map 'nowhere\.yaml' cannot be read"):
        FallbackMap.load(tmp_path / "a.yaml")


@pytest.mark.parametrize(
    "content",
    [
        b"password: [hunter2\n",  # no YAML
        b"hunter2: 1\n",  # no map
        b"version: 1\ndomain: d\ntools: {hunter2: {effcet: read}}\n",
        b"version: 1\ndomain: d\nextends: hunter2.yaml\ntools: {}\n",  # a link that leads on, to nothing
        b"version: 1\ndomain: d\nextends: inner.yaml\ntools: {}\n",  # and to what is wrong
        b"\xff hunter2",
        b"",
    ],
)
@pytest.mark.parametrize("absolute", [True, False])
def test_what_a_file_outside_the_maps_folder_holds_is_not_told(
    content: bytes, absolute: bool, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "maps").mkdir()
    secret = tmp_path / "outside" / "secret.yaml"
    secret.write_bytes(content)
    (tmp_path / "outside" / "inner.yaml").write_text("hunter2: 1\n")
    link = str(secret) if absolute else "../outside/secret.yaml"
    write(tmp_path / "maps", own=f"version: 1\ndomain: d\nextends: {link}\ntools: {{}}\n")
    result = CliRunner().invoke(cli, ["map", "check", str(tmp_path / "maps" / "own.yaml")])
    assert result.exit_code == 1
    assert "own.yaml:3:10" in result.output
    assert "hunter2" not in result.output
    with pytest.raises(FallbackMapError, match=r"own\.yaml:3:10") as caught:
        FallbackMap.load(tmp_path / "maps" / "own.yaml")
    told = "".join(traceback.format_exception(caught.value))
    assert "hunter2" not in told.replace(str(tmp_path), "")


def test_a_good_map_outside_the_folder_is_extended(tmp_path: Path) -> None:
    (tmp_path / "maps").mkdir()
    write(tmp_path, base=BASE)
    write(tmp_path / "maps", own="version: 1\ndomain: d\nextends: ../base.yaml\ntools: {}\n")
    assert FallbackMap.load(tmp_path / "maps" / "own.yaml").effect("get") is Effect.READ


def test_a_map_that_does_not_exist_is_named() -> None:
    with pytest.raises(FallbackMapError, match="there is no file 'no-such-map'"):
        FallbackMap.load("no-such-map")
    with pytest.raises(FallbackMapError, match="cannot be read"):
        FallbackMap.load("nowhere/map.yaml")
