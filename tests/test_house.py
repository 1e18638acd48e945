"""The house: how large a module and a function may be, and that rooms import downwards only."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import btm

PACKAGE = Path(btm.__file__).parent
MODULE_LINES, FUNCTION_LINES = 400, 60


@cache
def parsed() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {str(path.relative_to(PACKAGE)): len(path.read_text("utf-8").splitlines()) for path in parsed()}
    assert {name: lines for name, lines in lengths.items() if lines > MODULE_LINES} == {}


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of what a function does: what it takes and its docstring may be as long as they need."""
    documented = ast.get_docstring(function) is not None and len(function.body) > 1
    first = function.body[1 if documented else 0]
    return (function.end_lineno or 0) - first.lineno + 1


def test_no_function_is_longer_than_60_lines() -> None:
    lengths = {
        f"{path.relative_to(PACKAGE)}: {node.name}": body_lines(node)
        for path, tree in parsed().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES} == {}


def floors() -> dict[str, int]:
    """Each room of the contract in pyproject.toml with its floor, counted from the ground."""
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
    (contract,) = (c for c in project["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    rooms = (layer.split(" | ") for layer in reversed(contract["layers"]))
    return {room: floor for floor, names in enumerate(rooms) for room in names}


def imported(path: Path, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_rooms_import_downwards_only() -> None:
    room_floors = floors()
    wrong = []
    for path, tree in parsed().items():
        module = ".".join(("btm", *path.relative_to(PACKAGE).with_suffix("").parts))
        room = ".".join(module.split(".")[:2])
        for name in imported(path, tree):
            other = ".".join(name.split(".")[:2])
            if room in room_floors and other in room_floors and other != room:
                wrong += [f"{module} -> {name}"] if room_floors[other] >= room_floors[room] else []
    assert wrong == []


def test_every_room_has_its_floor() -> None:
    rooms = {
        f"btm.{path.stem}"
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    entrances = {"btm.__init__", "btm.__main__"}
    assert rooms - entrances - floors().keys() == set()
