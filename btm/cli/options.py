"""Options that several commands share; wrong values of closed sets get the nearest right one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import click

from btm.cli.output import fail
from btm.errors import did_you_mean
from btm.model import Action, ErrorKind

if TYPE_CHECKING:
    _ParamType = click.ParamType[str]
else:
    _ParamType = click.ParamType  # generic only in later versions of click

DEFAULT_DATABASE = "btm.db"

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Number(click.FloatRange):
    """A number in a range; click itself lets nan into every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is no number.", param, ctx)
        return number


_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 7 * 86_400.0}


def age_s(text: str) -> float:
    """Return an age such as 30s, 10m, 12h, 30d or 8w in seconds, or end with what is wrong with it."""
    number, unit = text[:-1], text[-1:]
    try:
        seconds = float(number) * _UNITS[unit]
    except (KeyError, ValueError):
        seconds = 0.0
    if not 0.0 < seconds < math.inf:
        fail(f"{text!r} is no age; give one such as 30s, 10m, 12h, 30d or 8w")
    return seconds


class _Name(_ParamType):
    """One of a closed set of names."""

    def __init__(self, what: str, names: Iterable[StrEnum]) -> None:
        self.name = what
        self._names = [str(name) for name in names]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self._names:
            hint = did_you_mean(str(value), self._names, ".")
            self.fail(f"{value!r} is no {self.name}; there are {', '.join(self._names)}{hint}", param, ctx)
        return str(value)


def all_of(*options: _Decorator) -> _Decorator:
    """Return several options as one decorator."""

    def put(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return put


JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
LOGS = click.argument("logs", nargs=-1, required=True, metavar="LOGS...")
FORMAT = click.option(
    "--format", "form", metavar="NAME", help="The logs' format, instead of telling it from their content."
)
STRICT = click.option("--strict", is_flag=True, help="Stop at the first piece of a log that cannot be read.")
POLICIES = click.option(
    "--policies", default="default", metavar="FILE", help="A policy file: a path, or a shipped one's name."
)


def map_option(what_for: str = "") -> _Decorator:
    """Return the option that names a fallback map; ``what_for`` says what the command takes from it."""
    said = f": says {what_for}." if what_for else "."
    return click.option(
        "--map", "map_name", metavar="FILE", help=f"A fallback map (a path, or a shipped one's name){said}"
    )


def database_option(what: str) -> _Decorator:
    """Return the option that names a database; there is a usual one."""
    return click.option(
        "--db", "database", default=DEFAULT_DATABASE, metavar="FILE", help=f"{what} (path or URL)."
    )


ERROR_KIND = _Name("error kind", ErrorKind)
ACTION = _Name("action", Action)


def kind_option(name: str, **attributes: Any) -> _Decorator:
    """Return an option that takes an error kind."""
    return click.option(name, type=ERROR_KIND, metavar="KIND", **attributes)


def action_option(name: str, **attributes: Any) -> _Decorator:
    """Return an option that takes an action."""
    return click.option(name, type=ACTION, metavar="ACTION", **attributes)


agent_options = all_of(
    click.option(
        "--agent",
        metavar="MODULE:NAME",
        help="Your own agent instead of the scripted one: my_pkg:make_agent.",
    ),
    click.option(
        "--base-url",
        metavar="URL",
        help="A chat model as the agent: an OpenAI-compatible server, with --model.",
    ),
    click.option("--model", metavar="NAME", help="The model's name there."),
    click.option(
        "--api-key-env", metavar="VAR", help="The environment variable that holds the server's key."
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        metavar="S",
        help="Seconds for one answer.  [default: 120]",
    ),
)
"""What :func:`btm.lab.own_agent.agent_name` reads: who plays."""
