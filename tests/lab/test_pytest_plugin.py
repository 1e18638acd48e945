"""The fixture `btm_faults`, in tests as a stranger would write them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool

from btm.errors import EvaluationError
from btm.lab.faults import FAULT_KINDS
from btm.lab.scripted_faults import ScriptedFaults


def get_order(order_id: str) -> dict[str, Any]:
    return {"order_id": order_id, "status": "shipped", "total": 12.5, "at": "2026-01-02"}


def ping() -> None: ...


class Shop:
    def __init__(self) -> None:
        self.orders: list[str] = []

    def place(self, what: str) -> str:
        self.orders.append(what)
        return f"placed {what}"


# Where btm is installed, pytest finds the plugin by itself; in a mere checkout it has to be named.
PLUGIN = () if entry_points(group="pytest11", name="btm") else ("-p", "btm.lab.pytest_plugin")


def run_pytest(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(text, "utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *PLUGIN,
        "-p",
        "no:randomly",
        *options,
        "test_it.py",
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_so_many_calls_fail_and_the_next_goes_through() -> None:
    faults = ScriptedFaults()
    faults.fail("get_order", "timeout", times=2)
    (order,) = faults.around([get_order])
    for _ in range(2):
        with pytest.raises(TimeoutError):
            order("O1")
    assert order(order_id="O2")["order_id"] == "O2"
    assert faults.calls == ["get_order"] * 3
    assert faults.unmet() == []


def test_faults_of_one_tool_follow_each_other_and_leave_other_tools_alone() -> None:
    faults = ScriptedFaults()
    faults.fail("get_order", "rate_limit")
    faults.fail("get_order", "auth_error", times=-1)
    order, place = faults.around([get_order, Shop().place])
    assert place("tea") == "placed tea"
    seen = []
    for _ in range(4):
        with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is drawn
            order("O1")
        seen.append(type(raised.value).__name__)
    assert len(seen) == 4


def test_a_lost_answer_happens_and_a_lost_call_does_not() -> None:
    for lost, placed in ((True, 1), (False, 0)):
        shop, faults = Shop(), ScriptedFaults()
        faults.fail("place", "timeout", lost_answer=lost)
        (place,) = faults.around([shop.place])
        with pytest.raises(TimeoutError):
            place("tea")
        assert len(shop.orders) == placed


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_all_nine_kinds_strike(kind: str) -> None:
    faults = ScriptedFaults()
    faults.fail("get_order", kind)
    (order,) = faults.around([get_order])
    try:
        answer = order("O1")
    except Exception as error:  # noqa: BLE001 - looks of many libraries
        answer = str(error)
    assert answer != get_order("O1")
    assert faults.unmet() == []


def test_async_functions_and_langchain_tools() -> None:
    async def find(name: str) -> str:
        return name

    @tool
    def look(name: str) -> str:
        """Look."""
        return name

    faults = ScriptedFaults()
    faults.fail("find")
    faults.fail("look")
    found, looked = faults.around([find, look])
    with pytest.raises(TimeoutError):
        asyncio.run(found("x"))
    with pytest.raises(TimeoutError):
        looked.invoke({"name": "x"})
    assert asyncio.run(found("x")) == looked.invoke({"name": "x"}) == "x"


def test_what_stands_in_an_object_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop()
    with monkeypatch.context() as patched:
        faults = ScriptedFaults(patched.setattr)
        faults.fail("place", "server_error")
        faults.patch(shop, "place")
        with pytest.raises(Exception):  # noqa: B017, PT011
            shop.place("tea")
    assert shop.place("tea") == "placed tea"


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda f: f.fail("x", "timeuot"), EvaluationError),
        (lambda f: f.fail("x", times=0), ValueError),
        (lambda f: f.fail("x", after=-1), ValueError),
        (lambda f: f.fail("x", "malformed", error=KeyError()), ValueError),
        (lambda f: f.around([3]), TypeError),
    ],
)
def test_nonsense_is_refused(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call(ScriptedFaults())


def test_a_fault_that_no_call_met_says_why() -> None:
    faults = ScriptedFaults()
    faults.fail("get_ordr")
    faults.fail("get_order", after=5)
    faults.fail("ping", "stale_data")
    order, pinged = faults.around([get_order, ping])
    order("O1")
    pinged()
    told = faults.unmet()
    assert "stale_data of ping (the answer has no place for it)" in told
    assert any("did you mean 'get_order'" in line for line in told)
    assert "timeout of get_order (it was called 1 times)" in told


def test_the_fixture_fails_a_test_whose_fault_was_not_met(tmp_path: Path) -> None:
    text = """
def get_order(i): return i
def test_met(btm_faults):
    btm_faults.fail("get_order", "timeout")
    (f,) = btm_faults.around([get_order])
    try: f(1)
    except TimeoutError: pass
def test_unmet(btm_faults):
    btm_faults.fail("get_order", "timeout")
def test_lenient(btm_faults):
    btm_faults.strict = False
    btm_faults.fail("get_order", "timeout")
"""
    run = run_pytest(tmp_path, text)
    assert "3 passed, 1 error" in run.stdout, run.stdout
    assert "no tool of that name was given" in run.stdout


def test_nothing_is_loaded_until_a_test_asks(tmp_path: Path) -> None:
    text = """
import sys
def test_light(): assert not {m for m in sys.modules if m.startswith(("btm.", "langchain", "sqlalchemy", "scipy"))} - {
    "btm.lab", "btm.lab.pytest_plugin"}
"""
    assert "1 passed" in run_pytest(tmp_path, text).stdout
