"""Where recorded inputs lie when they are there: a folder ``shared`` beside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(relative: str) -> Path:
    """Return the path of a shared input, or skip the calling test when it is absent."""
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"recorded inputs are not here: no {relative} in a folder 'shared' beside the repository")
    return path
