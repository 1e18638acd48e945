"""Every adapter, with the real framework, in fourteen situations. Frameworks that are absent are skipped."""

from __future__ import annotations

import warnings

import pytest
from conformance_kit import SITUATIONS, FrameworkDriver
from framework_drivers import drivers, is_there


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("driver", drivers(), ids=lambda driver: driver.name)
async def test_an_adapter_gets_every_situation_right(driver: FrameworkDriver, situation: str) -> None:
    if not is_there(driver):
        pytest.skip(f"{driver.name} is not installed: pip install 'bayesian-tool-memory[{driver.extra}]'")
    if situation in driver.impossible:
        pytest.skip(f"not possible with {driver.name}: {driver.impossible[situation]}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the frameworks' own
        await SITUATIONS[situation](driver)
