"""The page of notes is what its command makes, and shows what it should."""

from __future__ import annotations

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def made() -> str:
    spec = importlib.util.spec_from_file_location("notes_page", DOCS / "notes_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page: str = module.page()
    return page


def test_the_page_is_what_the_command_makes() -> None:
    page = (DOCS / "what-the-model-sees.md").read_text(encoding="utf-8")
    assert page == made(), "run: python docs/notes_page.py --write"


def test_ten_notes_each_say_what_to_do_and_end_with_it() -> None:
    notes = made().split("```text\n")[1:]
    assert len(notes) == 10
    for note in notes:
        assert note.startswith("<recovery")
        assert "\nnext: " in note
        assert note.partition("\n```")[0].endswith(("above now.", "in this order."))
