"""Measurements are made on request alone: a timed test in the ordinary run would flake on a busy machine."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("benchmark_skip"):
        return
    asked_for = pytest.mark.skip(reason="a measurement; run them with: pytest -o addopts= tests/benchmarks")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(asked_for)
