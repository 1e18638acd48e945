"""Authored YAML files read strictly: every problem has a file, a line, a column and, where there is one, a cure.

The text is parsed into a tree of :class:`~btm.authored.yaml_tree.Node` that remembers places, then checked against a
pydantic model.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from btm.authored.validation_errors import problem, problems_of
from btm.authored.yaml_tree import Node, NodePath, Place, parse
from btm.errors import AuthoredFileError, nearest
from btm.support.open_files import read_whole

__all__ = [
    "Node",
    "NodePath",
    "Place",
    "authored",
    "authored_folder",
    "first_of",
    "load_authored",
    "parse",
    "problem",
    "read_text",
    "validate",
]

Model = TypeVar("Model", bound=BaseModel)

_PACKAGE = Path(__file__).resolve().parents[1]


def load_authored(
    text: str, file: str, model: type[Model], error: type[AuthoredFileError] = AuthoredFileError
) -> Model:
    """Return ``text`` as an instance of ``model``.

    Raises ``error`` for the first problem in the file; further ones are named in the exception's notes.
    """
    node = parse(text, file, error)
    instance, problems = validate(node, model, error)
    if instance is None:
        raise first_of(problems)
    return instance


def validate(
    node: Node, model: type[Model], error: type[AuthoredFileError] = AuthoredFileError
) -> tuple[Model | None, list[AuthoredFileError]]:
    """Check a parsed file against a model: the instance, or None and every problem in the order of the file.

    Types are strict: a number is not text and text is not a number; lists may fill tuples and sets.
    """
    try:
        return model.model_validate_json(orjson.dumps(node.value()), strict=True), []
    except ValidationError as invalid:
        return None, problems_of(invalid, node, model, error)


def first_of(problems: Iterable[AuthoredFileError]) -> AuthoredFileError:
    """Return the first of several problems, with the others as its notes."""
    first, *others = problems
    for other in others[:9]:
        first.add_note(str(other))
    if len(others) > 9:
        first.add_note(f"and {len(others) - 9} more")
    return first


def authored_folder(kind: str) -> Path:
    """Return the folder of shipped files of a kind: ``"fallback_maps"`` or ``"policies"``."""
    shipped = _PACKAGE / "_authored" / kind
    return shipped if shipped.is_dir() else _PACKAGE.parent / kind


def authored(kind: str, name: str, error: type[AuthoredFileError] = AuthoredFileError) -> Path:
    """Return the path of a file the user named: an existing path, or the name of a shipped file (``"retail"``).

    Raises ``error`` when there is neither, naming the shipped file that is nearest.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return path
    folder = authored_folder(kind)
    known = sorted(p.stem for p in folder.glob("*.yaml"))
    if name in known:
        return folder / f"{name}.yaml"
    raise error(
        f"there is no file {name!r} and no shipped one of that name",
        file=name,
        expected=f"a path to a .yaml file, or one of {', '.join(known)}",
        suggestion=nearest(name, known),
    )


def read_text(path: Path, error: type[AuthoredFileError] = AuthoredFileError) -> str:
    """Return a file's text; raises ``error`` when it cannot be read or is not UTF-8."""
    try:
        data = read_whole(path)
    except OSError as problem:
        raise error(f"cannot be read: {problem.strerror or problem}", file=str(path)) from problem
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        before = data[: problem.start]
        line = before.count(b"\n") + 1
        column = len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
        raise error("this is not UTF-8 text", file=str(path), line=line, column=column) from problem
