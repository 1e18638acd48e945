"""What the pages about btm's own structure say is so."""

from __future__ import annotations

import re
from pathlib import Path

import btm

ROOT = Path(__file__).parent.parent
PACKAGE = Path(btm.__file__).parent


def test_the_architecture_page_draws_every_room() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert {room for room in rooms if f"{room}[" not in page} == set()


def test_every_file_that_the_architecture_page_names_is_there() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:/|\.py|\.yaml))`", page)
    assert len(named) > 30
    assert [name for name in named if not (PACKAGE / name).exists() and not (ROOT / name).exists()] == []


def test_the_stability_page_names_what_the_face_test_takes_as_opaque() -> None:
    from test_public_face import OPAQUE

    page = (ROOT / "docs/stability.md").read_text(encoding="utf-8")
    for name, members in OPAQUE.items():
        assert f"`{name}`" in page
        assert [member for member in members if f"`{member}`" not in page] == []
