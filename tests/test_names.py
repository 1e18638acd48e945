"""One class name, one meaning, over the whole package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import btm

PACKAGE = Path(btm.__file__).parent


def test_a_class_name_means_one_thing_in_the_whole_package() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert not twice, "\n".join(f"{name}: {', '.join(found)}" for name, found in twice.items())
