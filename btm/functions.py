"""Plain functions as tools: from a call's arguments to a mapping by name, and back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any


def binder(function: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Return a function that turns a call's arguments into a mapping by parameter name.

    Arguments that do not fit are given as ``{"args": [...], ...}``: the function itself says what is wrong with them.
    """
    signature = inspect.signature(function)

    def bind(*args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return dict(signature.bind(*args, **kwargs).arguments)
        except TypeError:
            return {"args": list(args), **kwargs} if args else dict(kwargs)

    return bind


def apply(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call ``function`` with arguments by parameter name, positional-only and variadic ones included.

    Raises whatever the function raises; TypeError, as Python words it, for arguments that do not fit.
    """
    signature = inspect.signature(function)
    bound = signature.bind_partial()
    unknown = {}
    for name, value in arguments.items():
        if name in signature.parameters:
            bound.arguments[name] = value
        else:
            unknown[name] = value
    if "args" in unknown and isinstance(unknown["args"], list):
        return function(*unknown.pop("args"), **unknown)
    # Parameters must stand in the order of the signature for args and kwargs to come apart rightly.
    ordered = {name: bound.arguments[name] for name in signature.parameters if name in bound.arguments}
    bound.arguments.clear()
    bound.arguments.update(ordered)
    return function(*bound.args, **{**bound.kwargs, **unknown})
