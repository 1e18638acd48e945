"""Exception types by name: the libraries are never imported, so that a class is known by what it is called.

``data/types.toml`` lists them: those that say what went wrong whatever the text, those that give the kind only when
neither a code nor the text says more, and those that mean different things in different libraries. What Python's own
say depends on the call: a KeyError is of the arguments or of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from btm.classify import rules
from btm.classify.finding import DEFAULT, EXACT, WEAK, Finding
from btm.classify.reading import attribute
from btm.classify.rules import form
from btm.model import ErrorKind as K
from btm.model import ToolCall

# A class that starts like this never reached the place where a write would have happened.
_NOT_REACHED = re.compile(
    r"Connect(?:ion)?(?:Timeout|Refused)|^ConnectError|PoolTimeout|NewConnection|NameResolution"
    r"|gaierror|herror"
    r"|ClientConnector|EndpointConnection|ServerSelection|TooManyConn|MaxConn|NoBrokers"
    r"|NoValidConn|SMTPConnect"
    r"|CannotConnect|BusyLoading|LockNotAvail|Deadlock|Serializ|BusyResource|BlockingIO"
    r"|ProxyConn|InvalidU"
)
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


class Known(NamedTuple):
    """What a class name says: a kind, how sure, and whether the request may have reached its goal."""

    kind: K
    sure: float
    reached: bool


@cache
def _names() -> dict[str, tuple[K, float]]:
    known = rules.table("types")
    names = {name: (K(kind), DEFAULT) for kind, listed in known["loose"].items() for name in listed.split()}
    names |= {name: (K(kind), EXACT) for kind, listed in known["firm"].items() for name in listed.split()}
    return names | {name: (K(kind), sure) for name, (kind, sure) in known["elsewhere"].items()}


@lru_cache(maxsize=2_048)
def known_type(name: str, root: str = "") -> Known | None:
    """Look a bare class name up, first with its root package; None for a class nobody told us about."""
    found = _names().get(f"{root}.{name}") or _names().get(name)
    if found is None:
        return None
    return Known(found[0], found[1], _NOT_REACHED.search(name) is None)


@lru_cache(maxsize=2_048)
def name_as_words(name: str) -> str:
    """Return a class name as words: ``OrderNotFoundError`` is ``order not found error``."""
    return " ".join(_CAMEL.findall(name[:80].replace("_", " "))).lower()


_FIELD_NAME = re.compile(r"[a-z_][A-Za-z0-9_]{0,60}")
_QUOTED = re.compile(r"'(\w{1,80})'")
_INPUT_TITLE = form("python_errors", "input_title")
_OUTPUT_TITLE = form("python_errors", "output_title")
_VALIDATION = re.compile(r"validation errors? for ([^\n]{1,120})")
_CODE_TOOL = re.compile(r"python|repl|code|exec|script|shell|eval|notebook|run|calc", re.IGNORECASE)
_RESPONSE = re.compile(r"\b(?:response|api|payload|returned|upstream|answer|reply|server)\b", re.IGNORECASE)
_NAMES = frozenset({"NameError", "ModuleNotFoundError", "ImportError"})
_OWN_CODE = _NAMES | {"AttributeError", "IndexError"}
"""What a tool's own code raises where it is wrong."""


def of_python_error(error: BaseException, name: str, text: str, call: ToolCall) -> Finding | None:
    """Return what a built-in or validation exception says, given the call that raised it; None when nothing special."""
    if name == "ValidationError":
        return validation(text, attribute(error, "title"), call)
    if name == "KeyError":
        arguments = attribute(error, "args")
        return _key_error(arguments[0] if type(arguments) is tuple and len(arguments) == 1 else text, call)
    if name not in _OWN_CODE or (name == "AttributeError" and _RESPONSE.search(text)):
        return None
    if call.tool.rsplit("/", 1)[-1] in _QUOTED.findall(text):
        return _found(K.UNKNOWN_TOOL, f"{name}:tool", "there is no function of the tool's name", EXACT)
    if name in _NAMES and _CODE_TOOL.search(call.tool[:80]):
        kind = K.INVALID_ARGUMENTS if name == "NameError" else K.NOT_FOUND
        return _found(kind, f"{name}:code", "the code that was passed names what is not there", 0.8)
    return _found(K.UNKNOWN, name, "the tool's own code failed", 0.9)


def _found(kind: K, rule: str, reason: str, sure: float) -> Finding:
    return Finding(kind, f"type:{rule}", reason, sure, reached=kind in (K.SCHEMA_DRIFT, K.UNKNOWN))


def _key_error(key: Any, call: ToolCall) -> Finding | None:
    key = key[:200].strip("'\"") if isinstance(key, str) else key
    if key in ("", None):
        return None
    if key == call.tool:
        return _found(K.UNKNOWN_TOOL, "KeyError:tool", "the tool's name is not in the registry", EXACT)
    names, values = _sent(call.arguments)
    if key in values:
        return _found(K.NOT_FOUND, "KeyError:argument", "a value that was passed is not a known key", 0.9)
    if isinstance(key, str) and sum(c.isdigit() for c in key) < 3 and _FIELD_NAME.fullmatch(key):
        reason = f"the answer has no field {key[:60]!r}"
        return None if key in names else _found(K.SCHEMA_DRIFT, "KeyError", reason, 0.8)
    return _found(K.NOT_FOUND, "KeyError:value", "a value, not a field, was looked up in vain", WEAK)


def _sent(arguments: Mapping[str, Any]) -> tuple[list[object], list[object]]:
    """Return the names of arguments and those values that can be a key."""
    try:
        values = [value for value in list(arguments.values())[:50] if type(value) in (str, int)]
        return [*list(arguments)[:100]], [*values, *(str(value)[:200] for value in values)]
    except Exception:  # noqa: BLE001 - a foreign mapping may raise from anything
        return [], []


def validation(text: str, title: object, call: ToolCall) -> Finding | None:
    """Tell a validation error of the answer (the service changed) from one of the arguments, by the model's title.

    ``title`` is pydantic's; without one it is read from the text ("2 validation errors for OrderResponse").
    """
    said = _VALIDATION.search(text[:500])
    name = title if isinstance(title, str) else said[1] if said else ""
    name = name.strip().strip(":`'\"")[:120]
    if not name:
        return None
    if _OUTPUT_TITLE.search(name) and not _INPUT_TITLE.search(name):
        return Finding(K.SCHEMA_DRIFT, "validation:output", f"{name[:60]} validates an answer", 0.95)
    tool = re.sub(r"[\W_]", "", call.tool.rsplit("/", 1)[-1]).lower()
    of_tool = bool(tool) and re.sub(r"[\W_]", "", name).lower().startswith(tool)
    of_input = of_tool or _INPUT_TITLE.search(name) or "input schema" in name.lower()
    sure = EXACT if of_input else 0.86
    return Finding(
        K.INVALID_ARGUMENTS, "validation:input", f"{name[:60]} validates arguments", sure, reached=False
    )
