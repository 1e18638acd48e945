"""Plain functions as tools: from a call's arguments to a mapping by name, and back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling ``function`` gives something that must be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def binder(function: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Return a function that turns a call's arguments into a mapping by parameter name.

    Arguments that do not fit are kept as they came (see :class:`Misfit`): the function itself says what is wrong.
    """
    signature = inspect.signature(function)

    def bind(*args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return dict(signature.bind(*args, **kwargs).arguments)
        except TypeError:
            return Misfit(args, kwargs)

    return bind


class Misfit(dict[str, Any]):
    """Arguments that do not fit a function's parameters, as ``{"args": [...], ...}`` for whoever looks at them."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__({"args": list(args), **kwargs} if args else kwargs)
        self.positional, self.named = args, kwargs


def apply(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call ``function`` with arguments by parameter name, positional-only and variadic ones included.

    Raises whatever the function raises; TypeError, as Python words it, for arguments that do not fit.
    """
    if isinstance(arguments, Misfit):
        return function(*arguments.positional, **arguments.named)
    signature = inspect.signature(function)
    bound = signature.bind_partial()
    # Parameters must stand in the order of the signature for args and kwargs to come apart rightly.
    bound.arguments.update({name: arguments[name] for name in signature.parameters if name in arguments})
    unknown = {name: value for name, value in arguments.items() if name not in signature.parameters}
    return function(*bound.args, **{**bound.kwargs, **unknown})
