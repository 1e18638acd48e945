"""Fixtures that several test modules share. That this file is here also puts this folder on the import path."""

from __future__ import annotations

import pytest
from core_kit import Clock
from hypothesis import settings

from btm.support import process_state

# An example may take as long as it takes: on a busy machine a deadline fails without a fault.
settings.register_profile("btm", deadline=None)
settings.load_profile("btm")


@pytest.fixture(autouse=True)
def _as_a_new_process() -> None:
    """Forget what the process keeps, so that every test hears the warnings that are logged once."""
    process_state.reset()


@pytest.fixture
def clock() -> Clock:
    return Clock()
