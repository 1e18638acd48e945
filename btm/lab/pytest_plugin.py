"""A pytest plugin: the fixture ``btm_faults`` makes an agent's tools fail as a test says.

::

    def test_the_agent_survives_two_timeouts(btm_faults):
        btm_faults.fail("get_order", "timeout", times=2)
        get_order, cancel_order = btm_faults.around([get_order, cancel_order])
        assert "cancelled" in my_agent([get_order, cancel_order]).run("Cancel order O1.")

Installed with btm, and idle until a test asks for the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from btm.lab.scripted_faults import ScriptedFaults


@pytest.fixture
def btm_faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedFaults]:
    """Faults for this test: ``fail`` says which, ``around`` or ``patch`` say of which tools.

    A fault that no call met fails the test when it ends; ``btm_faults.strict = False`` lets it pass.
    """
    from btm.lab.scripted_faults import ScriptedFaults  # noqa: PLC0415 - only tests that ask for it pay

    faults = ScriptedFaults(monkeypatch.setattr)
    yield faults
    unmet = faults.unmet()
    if unmet and faults.strict:
        pytest.fail("faults that no call met: " + "; ".join(unmet), pytrace=False)
