"""Plain functions as tools: what a call's arguments are called, and how a call is made from arguments by name."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from btm.support.argument_identity import Addressed, FirstSeen
from btm.support.process_state import follows_the_living

_Parameters = Mapping[str, inspect.Parameter]
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_PLAIN = (str, bytes, int, float, bool, type(None))
_MOST_ATTRIBUTES = 50
_MOST_ITEMS = 100
_LONG_TEXT = 1_000


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling ``function`` gives something that must be awaited, as far as can be told before it is called."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def is_generator(function: Callable[..., Any]) -> bool:
    """Whether calling ``function`` runs nothing of it yet, but gives a generator."""
    call = type(function).__call__
    return any(inspect.isgeneratorfunction(f) or inspect.isasyncgenfunction(f) for f in (function, call))


class BoundArguments(Addressed):
    """A call's arguments by parameter name, as far as they can be named, and exactly as they were given.

    The object a method is called on is not among the names: it is the ``receiver``.
    """

    def __init__(
        self,
        named_all: Mapping[str, Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        receiver: str = "",
    ) -> None:
        super().__init__(named_all)
        self.args, self.kwargs, self.receiver = args, kwargs, receiver


def binder(function: Callable[..., Any]) -> Callable[..., BoundArguments]:
    """Return a function that takes a call's arguments and returns them by parameter name; it never raises.

    Arguments that do not fit, and those of functions that do not say what their parameters are, are kept as
    ``{"args": [...], ...}``: the function itself says what is wrong.
    """
    parameters = _parameters(function)
    signature = None if parameters is None else inspect.Signature(list(parameters.values()))
    more = next((n for n, p in (parameters or {}).items() if p.kind is inspect.Parameter.VAR_KEYWORD), None)
    leading = _receiver_parameter(function, parameters or {})
    owner = getattr(function, "__self__", None)

    def bind(*args: Any, **kwargs: Any) -> BoundArguments:
        try:
            fitting = signature.bind(*args, **kwargs) if signature is not None else None
        except TypeError:
            fitting = None
        if fitting is not None:
            receiver = fitting.arguments.pop(leading, owner) if leading else owner
            named = _named(fitting.arguments, more)
            return BoundArguments(named, args, kwargs, _receiver_name(receiver))
        if leading and args:
            return BoundArguments(_unnamed(args[1:], kwargs), args, kwargs, _receiver_name(args[0]))
        return BoundArguments(_unnamed(args, kwargs), args, kwargs, _receiver_name(owner))

    return bind


def _named(arguments: dict[str, Any], more: str | None) -> dict[str, Any]:
    """Return bound arguments with those of ``**more`` under their own names, as whoever makes the call knows them."""
    extra: dict[str, Any] | None = arguments.get(more) if more is not None else None
    if not extra or not arguments.keys().isdisjoint(extra):
        return arguments
    return {name: value for name, value in arguments.items() if name != more} | extra


def apply(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call ``function``: as it was called before if ``arguments`` are such a call's own, else with ``arguments`` by name.

    By name means by keyword; positional-only parameters get theirs by position, variadic ones under their own name.
    Raises whatever the function raises; TypeError, as Python words it, for arguments that do not fit.
    """
    if isinstance(arguments, BoundArguments):
        return function(*arguments.args, **arguments.kwargs)
    args, kwargs = _in_place(_parameters(function) or {}, arguments)
    return function(*args, **kwargs)


def used_up(arguments: Mapping[str, Any]) -> bool:
    """Whether a call with these arguments cannot be made a second time: what it read of them is gone.

    That is so of iterators, generators, coroutines and open files, also inside lists, tuples and mappings.
    """
    return any(_is_used_up(value, 3) for value in arguments.values())


def _is_used_up(value: object, depth: int) -> bool:
    kind = type(value)
    if issubclass(kind, str | int | float | bool | bytes | None):
        return False
    if issubclass(kind, list | tuple) or kind is dict:
        inside: Any = value.values() if isinstance(value, dict) else value
        return depth > 0 and any(
            _is_used_up(item, depth - 1) for item, _ in zip(inside, range(_MOST_ITEMS), strict=False)
        )
    once = issubclass(kind, Iterator | AsyncIterator | Coroutine)
    return once or callable(getattr(kind, "read", None))


def _parameters(function: Callable[..., Any]) -> _Parameters | None:
    try:
        return inspect.signature(function).parameters
    except Exception:  # noqa: BLE001 - builtins have none, and an object's own __signature__ may be anything
        return None


def _in_place(parameters: _Parameters, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and keyword arguments of a call from arguments by name."""
    args: list[Any] = []
    kwargs = dict(arguments)
    kinds = {parameter.kind: name for name, parameter in parameters.items()}
    rest: list[Any] = []
    spread = kinds.get(inspect.Parameter.VAR_POSITIONAL)
    if spread in kwargs and isinstance(kwargs[spread], list | tuple):
        rest = list(kwargs.pop(spread))
    for name, parameter in parameters.items():
        if parameter.kind not in _BY_POSITION or not (
            rest or parameter.kind is inspect.Parameter.POSITIONAL_ONLY
        ):
            break
        if name in kwargs:
            args.append(kwargs.pop(name))
        elif parameter.default is not inspect.Parameter.empty:
            args.append(parameter.default)
        else:
            rest = []
            break  # the function says what is missing
    more = kinds.get(inspect.Parameter.VAR_KEYWORD)
    if more in kwargs and isinstance(kwargs[more], Mapping):
        kwargs.update(kwargs.pop(more))
    return [*args, *rest], kwargs


def _unnamed(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    if not args:
        return dict(kwargs)
    name = "args"
    while name in kwargs:
        name += "_"
    return {name: list(args), **kwargs}


# -- the object that a method is called on -------------------------------------------------------------------------


def is_unbound(function: Callable[..., Any]) -> bool:
    """Whether ``function`` is a method as it stands in the body of its class: it needs the object as well."""
    return bool(_receiver_parameter(function, _parameters(function) or {}))


def _receiver_parameter(function: Callable[..., Any], parameters: _Parameters) -> str:
    """Return the name of the parameter that takes the object, ``""`` for anything but a method out of its class."""
    if not inspect.isfunction(function):
        return ""
    first = next(iter(parameters), "")
    scope = function.__qualname__.rpartition(".")[0]
    return first if first in ("self", "cls") and scope and not scope.endswith("<locals>") else ""


def _receiver_name(receiver: object) -> str:
    if receiver is None or isinstance(receiver, ModuleType):
        return ""
    try:
        return _receivers.of(receiver, _object_name)
    except Exception:  # noqa: BLE001 - no weak references to it, or an object that raises at every look
        return type(receiver).__qualname__


def _object_name(receiver: object) -> str:
    """Name an object by its class and plain attributes: a client for one region is not the one for another.

    Objects that are made anew for each call, connections and all, have one name, so that a retry is seen as one.
    """
    kind = receiver if isinstance(receiver, type) else type(receiver)
    about: dict[str, str] = {}
    for name in _attribute_names(receiver):
        try:
            value = object.__getattribute__(receiver, name)
        except Exception:  # noqa: BLE001, S112 - not set, or a property that raises
            continue
        if type(value) in _PLAIN:
            about[name] = repr(value[:_LONG_TEXT] if isinstance(value, str | bytes) else value)
    text = repr([kind.__module__, kind.__qualname__, sorted(about.items())]).encode(
        "utf-8", "backslashreplace"
    )
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _attribute_names(receiver: object) -> list[str]:
    if isinstance(receiver, type):
        return []
    names: list[str] = []
    for kind in type(receiver).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    with contextlib.suppress(AttributeError):
        names += object.__getattribute__(receiver, "__dict__")
    return sorted(name for name in names if isinstance(name, str))[:_MOST_ATTRIBUTES]


_receivers: FirstSeen[str] = follows_the_living(__name__, FirstSeen())


def name_of(function: Callable[..., Any]) -> str:
    """Return the tool name of a function: its own, that of the function inside a partial, else that of its type."""
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))
