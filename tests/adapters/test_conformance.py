"""Every adapter, with the real framework, in fifteen situations. Frameworks that are absent are skipped."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from conformance_kit import SITUATIONS, FrameworkDriver
from framework_drivers import drivers, is_there

import btm

ADAPTERS = Path(btm.__file__).parent / "adapters"


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


def test_the_page_on_frameworks_is_in_step_with_the_drivers() -> None:
    page = (Path(__file__).parents[2] / "docs/frameworks.md").read_text("utf-8")
    columns = (
        next(line for line in page.splitlines() if line.startswith("| situation")).strip("| ").split(" | ")
    )
    assert columns[1:] == [driver.name for driver in drivers()]
    rows = [line.split("**")[1] for line in page.splitlines() if line.startswith("| **")]
    assert rows == list(SITUATIONS)
    assert " no |" not in page
    for driver in drivers():
        assert f"`{driver.extra}`" in page
        assert [reason for reason in driver.impossible.values() if reason not in page] == []


def test_an_adapter_is_short() -> None:
    lengths = {
        d.module: len((ADAPTERS / f"{d.module}.py").read_text("utf-8").splitlines()) for d in drivers()
    }
    assert {name: lines for name, lines in lengths.items() if lines > 120} == {}


@pytest.mark.parametrize("driver", drivers(), ids=lambda driver: driver.name)
def test_without_its_framework_an_adapter_says_how_to_get_it(driver: FrameworkDriver) -> None:
    if driver.module == "agno":
        pytest.skip("its hook is a function: nothing of agno is imported")
    script = f"""
import sys
sys.modules[{driver.imported!r}] = None
try:
    import btm.adapters.{driver.module}
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert f"pip install 'bayesian-tool-memory[{driver.extra}]'" in done.stdout
