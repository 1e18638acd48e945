"""What one failing call in advise mode crosses: modules, hops between them, and the kinds of values it meets.

Run it to see (it gates nothing): ``python tests/one_call.py``, with ``--by-room`` for how many of each there are, and
``--by-module`` for who calls whom how often.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from core_kit import MAP, call, memory_of, raising

from btm.model import Mode


class Crossed(NamedTuple):
    """Calls into each module, calls from one module into another, and the value types in arguments and results."""

    modules: Counter[str]
    hops: Counter[tuple[str, str]]
    types: Counter[str]

    def __str__(self) -> str:
        return f"modules {len(self.modules)}, hops {self.hops.total()}, value types {len(self.types)}"


def _module(frame: FrameType | None) -> str:
    name = frame.f_globals.get("__name__", "") if frame is not None else ""
    return name if name.partition(".")[0] == "btm" else ""


def _value_type(value: Any) -> str:
    """Return the name of one of btm's own data types; enums and services are none."""
    kind = type(value)
    if kind.__module__.partition(".")[0] != "btm" or isinstance(value, enum.Enum):
        return ""
    is_data = isinstance(value, tuple) or (
        dataclasses.is_dataclass(kind) and kind.__eq__ is not object.__eq__
    )
    return kind.__name__ if is_data else ""


def crossed_by(work: Callable[[], object]) -> Crossed:
    """Return what ``work`` crosses in this thread."""
    found = Crossed(Counter(), Counter(), Counter())

    def note(frame: FrameType, event: str, argument: Any) -> None:
        module = _module(frame)
        if not module or event not in ("call", "return"):
            return
        values = [argument]
        if event == "call":
            found.modules[module] += 1
            caller = _module(frame.f_back)
            if caller and caller != module:
                found.hops[caller, module] += 1
            code = frame.f_code
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            values = [
                frame.f_locals.get(name) for name in names if name != "self"
            ]  # a service is only "self"
        found.types.update(name for value in values if (name := _value_type(value)))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def failing_call() -> Crossed:
    """Return what a read that times out crosses on its way to its recovery context; caches are warm."""
    memory = memory_of(mode=Mode.ADVISE, fallback_map=MAP)

    def fail(number: int) -> None:
        handled = memory.call(
            call("get_order", f"talk{number}", "c1", order_id=f"O{number}"),
            raising(TimeoutError("timed out")),
        )
        assert handled.context is not None

    fail(0)
    found = crossed_by(lambda: fail(1))
    memory.close()
    return found


def _room(module: str) -> str:
    return module.split(".")[1]


def main() -> None:
    found = failing_call()
    print(found)
    if "--by-room" in sys.argv:
        modules = Counter(map(_room, found.modules))
        hops: Counter[str] = Counter()
        for (_, callee), times in found.hops.items():
            hops[_room(callee)] += times
        for room, times in hops.most_common():
            print(f"{room:10} modules {modules[room]:3}, hops into them {times:3}")
    if "--by-module" in sys.argv:
        for (caller, callee), times in found.hops.most_common():
            print(f"{times:4} {caller} -> {callee}")
        print(*(f"{name} {times}" for name, times in found.types.most_common()), sep=", ")


if __name__ == "__main__":
    main()
