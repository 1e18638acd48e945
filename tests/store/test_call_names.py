"""The same id for another call, met in the database: an earlier process used it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core_kit import NO_MAP, Clock, Tools, call, key, known, memory_of, recounted, stored

RETRY = key("get_order", "timeout", "retry")
SLOW = TimeoutError("timed out")


def run(path: Path, *made: tuple[str, Any]) -> tuple[list[str], dict[Any, tuple[float, float]]]:
    """Make calls of one conversation, all with the id "0"; return the names in the log, and what is believed."""
    with memory_of(Clock(), path=path, fallback_map=NO_MAP) as memory:
        for order, reply in made:
            memory.call(call("get_order", "talk", "0", order_id=order), Tools(get_order=[reply]))
        assert memory.flush()
        store: Any = memory._store
        assert stored(store) == recounted(store)
        return [row["call_id"] for row in store.log("calls")], known(memory)


def test_another_call_under_an_id_of_an_earlier_process_is_learned_from(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    run(path, ("o1", "fine"))
    names, _ = run(path, ("o2", SLOW))
    assert names[0] == "0"
    assert names[1].startswith("0~")
    assert run(path, ("o2", SLOW), ("o3", "fine"))[0][:2] == names, "the same call again counts once"
    assert len(run(path)[0]) == 3


def test_the_names_are_the_same_whichever_process_gives_them(tmp_path: Path) -> None:
    together, _ = run(tmp_path / "one.db", ("o1", "fine"), ("o2", SLOW))
    run(tmp_path / "two.db", ("o1", "fine"))
    apart, _ = run(tmp_path / "two.db", ("o2", SLOW))
    assert together == apart
