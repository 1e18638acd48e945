"""When two arguments are the same that JSON cannot write: they are turned into JSON values, equal only for the same.

* Buffers, arrays, frames and tensors are named by their bytes, type and shape; sets by what is in them, in any order.
* An object is named by its whole state where that is data; else by its text, unless that is Python's default one.
* Everything else (functions made on the way, locks, connections, iterators) is the same only as the same object.

What this costs is bounded: beyond :data:`MAX_VALUES` values of one argument, or :data:`MAX_DEPTH` levels, arguments are
taken to be equal; buffers beyond :data:`MAX_BYTES`, and objects whose state is more than :data:`OBJECT_VALUES` values,
are the same only as the same object. Texts are read whole.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Generic, TypeVar

import orjson

from btm.support.process_state import follows_the_living

MAX_VALUES = 100_000
MAX_DEPTH = 40
MAX_BYTES = 256 * 2**20
OBJECT_VALUES = 2_000

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_PLAIN_BUFFERS = frozenset(
    {"builtins", "array", "mmap", "numpy"}
)  # modules whose buffers are all there is to them
_LONG_TEXT = 1_000
_LONG_NUMBER = 10_000  # bits

T = TypeVar("T")


class Addressed(dict[str, Any]):
    """The arguments of a call on an object; ``receiver`` names the object, which is no argument."""

    receiver: str = ""


class FirstSeen(Generic[T]):
    """What was noted about each object when it was first seen, for as long as the object lives."""

    def __init__(self) -> None:
        self._noted: dict[int, tuple[weakref.ref[Any], T]] = {}

    def __len__(self) -> int:
        return len(self._noted)

    def of(self, value: object, make: Callable[[object], T]) -> T:
        """Return what is noted about ``value``, ``make(value)`` the first time.

        Raises TypeError for objects that no weak reference can be had of.
        """
        key = id(value)
        found = self._noted.get(key)
        if found is not None and found[0]() is value:
            return found[1]
        if found is not None:  # another object had the address
            self._noted.pop(key, None)
        noted = make(value)

        def forget(dead: weakref.ref[Any]) -> None:
            # Another object may have the address by now.
            if (entry := self._noted.get(key)) is not None and entry[0] is dead:
                del self._noted[key]

        # Of two threads that see an object first, the earlier one's note holds.
        return self._noted.setdefault(key, (weakref.ref(value, forget), noted))[1]


def described(arguments: object) -> Any:
    """Return JSON values that stand for ``arguments``. Never raises but for MemoryError; see the module for bounds."""
    if type(arguments) is list:
        return [_Walk(MAX_VALUES).of(item) for item in arguments]
    if isinstance(arguments, dict):  # one that is huge does not hide the others
        return {_key(name): _Walk(MAX_VALUES).of(item) for name, item in arguments.items()}
    return _Walk(MAX_VALUES).of(arguments)


def identity(value: object) -> str:
    """Return a text that names this very object. Unlike ``id()`` it is not given again to a later object."""
    try:
        number = _identities.of(value, lambda _: f"#{next(_numbers)}")
    except TypeError:  # no weak references: then its address must do
        number = f"@{id(value):x}"
    return _type_name(type(value)) + number


_numbers = itertools.count(1)
_identities: FirstSeen[str] = follows_the_living(__name__, FirstSeen())


class _NotDataError(Exception):
    """The state of an object holds something that is not data."""


class _Walk:
    """One walk through one argument. A ``strict`` one, through an object's state, ends where it is not data."""

    def __init__(self, left: int, inside: frozenset[int] = frozenset(), *, strict: bool = False) -> None:
        self._left = left
        self._inside = set(inside)
        self._strict = strict

    def of(self, value: object, depth: int = 0) -> Any:
        """Return JSON values for ``value``."""
        self._left -= 1
        try:
            return self._of(value, depth)
        except _NotDataError:
            raise
        except Exception:  # noqa: BLE001 - a foreign object may raise anything from its attributes
            return self._itself(value)

    def _of(self, value: object, depth: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            if -(2**63) <= value < 2**63:
                return int(value)
            return (
                str(value) if value.bit_length() < _LONG_NUMBER else hex(value)
            )  # Python refuses to write longer ones
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else repr(value)
        if isinstance(value, str):
            return _utf8(value)
        if self._left < 0 or depth > MAX_DEPTH:
            return self._beyond()
        if id(value) in self._inside:
            return "…"
        self._inside.add(id(value))
        try:
            return self._compound(value, depth + 1)
        finally:
            self._inside.discard(id(value))

    def _compound(self, value: object, depth: int) -> Any:
        if isinstance(value, Mapping):
            return {_key(name): self.of(value[name], depth) for name in self._some(value)}
        if isinstance(value, list | tuple):
            return [self.of(item, depth) for item in self._some(value)]
        if isinstance(value, set | frozenset):
            return sorted(orjson.dumps(self.of(item, depth)).decode() for item in self._some(value))
        return self._object(value, depth)

    def _some(self, values: Any) -> Iterator[Any]:
        for value in values:
            if self._left < 0:
                self._beyond()
                return
            yield value

    def _object(self, value: object, depth: int) -> Any:
        kind = type(value)
        held = self._buffer(value, depth)
        if held is not None:
            return [_type_name(kind), *held]
        dump = getattr(value, "model_dump", None)  # pydantic models compare by their fields
        if callable(dump) and not isinstance(value, type):
            return self.of(dump(), depth)
        if isinstance(value, type):
            return _type_name(value)
        if kind is object or isinstance(value, Iterator | AsyncIterator):
            return self._itself(value)
        if isinstance(value, FunctionType | BuiltinFunctionType) and _is_global(value):
            return f"{value.__module__}.{value.__qualname__}"
        state = self._state(value, depth)
        if state is not None:
            return [_type_name(kind), *state]
        text = _text_of(value)
        return self._itself(value) if text is None else [_type_name(kind), text]

    def _buffer(self, value: object, depth: int) -> list[Any] | None:
        """Describe what holds its values in a block of memory, None for anything else."""
        kind = type(value)
        try:
            view: memoryview[Any] | None = memoryview(value)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001 - no buffer, or one of values that buffers cannot have
            view = None
        if view is not None and "O" not in view.format:
            found = [view.format, list(view.shape or ()), self._digest(view, value)]
            return found if kind.__module__ in _PLAIN_BUFFERS else [*found, self._state(value, depth)]
        if hasattr(kind, "__array_interface__"):
            array: Any = value
            interface = array.__array_interface__
            if "O" in interface["typestr"]:
                return [self.of(array.tolist(), depth)]
            about = [str(interface.get("descr", interface["typestr"])), list(interface["shape"])]
            return [
                *about,
                str(getattr(array, "dtype", "")),
                self._digest(memoryview(array.tobytes()), value),
            ]
        if hasattr(kind, "__array__"):  # a frame, a series, a tensor
            frame: Any = value
            labels = [getattr(frame, name, None) for name in ("columns", "index")]
            return [
                self.of(frame.__array__(), depth),
                *(self.of(x, depth) for x in labels if not callable(x)),
            ]
        return None

    def _digest(self, view: memoryview[Any], value: object) -> str:
        if view.nbytes > MAX_BYTES:
            return self._itself(value)
        flat = view.cast("B") if view.c_contiguous and view.ndim and view.nbytes else view.tobytes()
        return hashlib.blake2b(flat, digest_size=16).hexdigest()

    def _state(self, value: object, depth: int) -> list[Any] | None:
        """Return an object's whole state, as pickling would see it; None when it is not data through and through."""
        try:
            reduced = object.__reduce_ex__(value, 2)
        except Exception:  # noqa: BLE001 - it keeps its state out of sight
            return None
        if isinstance(reduced, str):
            return [reduced]
        walk = _Walk(min(OBJECT_VALUES, self._left), frozenset(self._inside), strict=True)
        budget = walk._left
        try:
            # How it is made, from what, its attributes, and the items of lists and mappings.
            parts = [list(part) if isinstance(part, Iterator) else part for part in reduced]
            return [walk.of(part, depth) for part in parts]
        except _NotDataError:
            return None
        finally:
            self._left -= budget - walk._left

    def _beyond(self) -> str:
        if self._strict:
            raise _NotDataError
        return "…"

    def _itself(self, value: object) -> str:
        if self._strict:
            raise _NotDataError
        return identity(value)


def _is_global(function: FunctionType | BuiltinFunctionType) -> bool:
    owner = getattr(function, "__self__", None)
    return "<" not in function.__qualname__ and (owner is None or isinstance(owner, ModuleType))


def _text_of(value: object) -> str | None:
    """Return an object's whole text, None when that is the default one or says where the object lies in memory."""
    kind = type(value)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        return None
    text = _utf8(str(value))
    if _ADDRESS.search(text):
        return None
    return text if len(text) <= _LONG_TEXT else hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _key(name: object) -> str:
    if isinstance(name, str):
        return _utf8(name)
    # Unlike JSON, Python tells 1 from "1".
    return f"{type(name).__name__}:{orjson.dumps(_Walk(_LONG_TEXT).of(name)).decode()}"


def _type_name(kind: type) -> str:
    return _utf8(f"{kind.__module__}.{kind.__qualname__}")


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
