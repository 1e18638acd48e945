"""Environments and agents of one's own, by name: ``my_pkg.envs:ClinicEnv``."""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from btm.errors import EvaluationError, did_you_mean
from btm.fallback import FallbackMap
from btm.lab.declared import ClassEnvironment, is_declared
from btm.lab.environment import Environment
from btm.lab.toolspec import where

_MEMBERS = ("fallback_map", "tools", "tasks", "left_out", "open")


def load_named(name: str, what: str) -> Any:
    """Import ``module:attribute``, from the current folder too.

    Raises EvaluationError that says what is missing, with file and line where the module itself fails.
    """
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise EvaluationError(f"{what} {name!r} is no module:attribute, such as my_pkg.envs:ClinicEnv")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not module_name.startswith(error.name):
            raise EvaluationError(
                f"{_last_line(error)}: {module_name} needs {error.name!r}, which is absent"
            ) from error
        raise EvaluationError(
            f"there is no module {error.name!r}: it is neither in the current folder nor installed"
        ) from error
    except Exception as error:
        raise EvaluationError(f"{_last_line(error)}: {type(error).__name__}: {error}") from error
    if not hasattr(module, attribute):
        raise EvaluationError(
            f"{module.__file__} has no {attribute!r}{did_you_mean(attribute, vars(module))}"
        )
    return getattr(module, attribute)


def _last_line(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}:{frame.lineno}"


def own_environment(name: str) -> Environment:
    """Return the environment that a name stands for: a declared class, an Environment, or a function that makes one."""
    found = load_named(name, "the domain")
    if not is_declared(found) and callable(found):
        _refuse_undeclared(found)
        found = found()
    if is_declared(found):
        return ClassEnvironment(found, name)
    missing = [member for member in _MEMBERS if not hasattr(found, member)]
    if missing:
        raise EvaluationError(
            f"{where(type(found))}: {name} has no {', '.join(missing)}: it is no Environment"
        )
    made: Environment = found
    return made if getattr(made, "domain", "") == name else Remapped(made, made.fallback_map, name)


def _refuse_undeclared(found: Any) -> None:
    """Refuse a class that is neither declared nor an Environment, with what it lacks of either."""
    if isinstance(found, type) and not all(hasattr(found, member) for member in _MEMBERS[1:]):
        lacks = "tasks" if not hasattr(found, "tasks") else "a method marked with @tool"
        raise EvaluationError(
            f"{where(found)}: {found.__name__} has no {lacks}; expected a class as in btm.lab.declared, or an Environment"
        )


@dataclass(frozen=True)
class Remapped:
    """An environment under another fallback map, or name."""

    environment: Environment
    fallback_map: str
    domain: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.environment, name)


def map_of(environment: Environment) -> FallbackMap:
    """Return the map of an environment, an empty one where it names none. Raises FallbackMapError."""
    named = environment.fallback_map
    return FallbackMap.load(named) if named else FallbackMap.empty()
