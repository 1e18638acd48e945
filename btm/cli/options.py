"""Options that several commands share: closed sets whose wrong values get the nearest right one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import click

from btm.errors import nearest
from btm.model import Action, ErrorKind

if TYPE_CHECKING:
    _ParamType = click.ParamType[str]
else:
    _ParamType = click.ParamType  # generic only in later versions of click


class _Name(_ParamType):
    """One of a closed set of names."""

    def __init__(self, what: str, names: Iterable[StrEnum]) -> None:
        self.name = what
        self._names = [str(name) for name in names]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self._names:
            near = nearest(str(value), self._names)
            hint = f" Did you mean {near!r}?" if near else ""
            self.fail(f"{value!r} is no {self.name}; there are {', '.join(self._names)}.{hint}", param, ctx)
        return str(value)


ERROR_KIND = _Name("error kind", ErrorKind)
ACTION = _Name("action", Action)

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def kind_option(name: str, **attributes: Any) -> _Decorator:
    """Return an option that takes an error kind."""
    return click.option(name, type=ERROR_KIND, metavar="KIND", **attributes)


def action_option(name: str, **attributes: Any) -> _Decorator:
    """Return an option that takes an action."""
    return click.option(name, type=ACTION, metavar="ACTION", **attributes)
