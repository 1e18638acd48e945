"""Fixtures that several test modules share. That this file is here also puts this folder on the import path."""

from __future__ import annotations

import pytest
from core_kit import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()
