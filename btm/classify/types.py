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
_INPUT_TITLE = form("python_errors", "input_title")
_OUTPUT_TITLE = form("python_errors", "output_title")
_VALIDATION = re.compile(r"validation errors? for ([^\n]{1,120})")
_CODE_TOOL = re.compile(r"python|repl|code|exec|script|shell|eval|notebook|run|calc", re.IGNORECASE)
_NO_ATTRIBUTE = form("python_errors", "no_attribute")
_RESPONSE = re.compile(r"\b(?:response|api|payload|returned|upstream|answer|reply|server)\b", re.IGNORECASE)


def of_python_error(error: BaseException, name: str, text: str, call: ToolCall) -> Finding | None:
    """Return what a built-in or validation exception says, given the call that raised it; None when nothing special."""
    if name == "ValidationError":
        return validation(text, attribute(error, "title"), call)
    arguments = attribute(error, "args") if name == "KeyError" else None
    return of_python_text(
        name, text, call, arguments[0] if type(arguments) is tuple and len(arguments) == 1 else None
    )


def of_python_text(name: str, text: str, call: ToolCall, key: Any) -> Finding | None:
    """Return what a built-in exception says, by its class name and text; ``key`` is a KeyError's key, if at hand."""
    if name == "KeyError":
        return _key_error(text if key is None else key, call)
    if name == "AttributeError":
        return _attribute_error(text, call)
    if name in ("NameError", "ModuleNotFoundError", "ImportError"):
        return _name_error(name, text, call)
    if name == "IndexError":
        return Finding(K.UNKNOWN, "type:IndexError", "the tool's own code failed", 0.9)
    return None


def _key_error(key: Any, call: ToolCall) -> Finding | None:
    if isinstance(key, str):
        key = key[:200].strip("'\"")
    if key and key == call.tool:
        return Finding(
            K.UNKNOWN_TOOL,
            "type:KeyError:tool",
            "the tool's name is not in the registry",
            EXACT,
            reached=False,
        )
    if isinstance(key, str) and " " in key:
        # A sentence, not a key: its words decide, but for a key that is missing from an answer.
        if _RESPONSE.search(key):
            return Finding(K.SCHEMA_DRIFT, "type:KeyError:answer", "the answer lacks a field", 0.8)
        return None
    if _is_argument_value(key, call.arguments):
        return Finding(
            K.NOT_FOUND,
            "type:KeyError:argument",
            "a value that was passed is not a known key",
            0.9,
            reached=False,
        )
    if isinstance(key, str) and key and sum(c.isdigit() for c in key) < 3 and _FIELD_NAME.fullmatch(key):
        if key in _keys(call.arguments):
            return None
        return Finding(K.SCHEMA_DRIFT, "type:KeyError", f"the answer has no field {key[:60]!r}", 0.8)
    if key in ("", None):
        return None
    return Finding(
        K.NOT_FOUND, "type:KeyError:value", "a value, not a field, was looked up in vain", WEAK, reached=False
    )


def _is_argument_value(key: object, arguments: object) -> bool:
    if not isinstance(arguments, Mapping):
        return False
    try:
        return any(value == key or str(value)[:200] == key for value in list(arguments.values())[:50])
    except Exception:  # noqa: BLE001 - foreign values may raise from comparison or text
        return False


def _keys(arguments: object) -> frozenset[str]:
    try:
        return (
            frozenset(k for k in list(arguments)[:100] if isinstance(k, str))
            if isinstance(arguments, Mapping)
            else frozenset()
        )
    except Exception:  # noqa: BLE001 - a foreign mapping may raise from iteration
        return frozenset()


def _attribute_error(text: str, call: ToolCall) -> Finding | None:
    found = _NO_ATTRIBUTE.search(text)
    if found and call.tool and (found.group(1) or found.group(3)) == call.tool.rsplit("/", 1)[-1]:
        return Finding(
            K.UNKNOWN_TOOL,
            "type:AttributeError:tool",
            "there is no function of the tool's name",
            EXACT,
            reached=False,
        )
    if _RESPONSE.search(text):
        return None
    return Finding(K.UNKNOWN, "type:AttributeError", "the tool's own code failed", 0.9)


def _name_error(name: str, text: str, call: ToolCall) -> Finding:
    missing = text.split("'")[1:2]
    if missing and missing[0] == call.tool:
        return Finding(
            K.UNKNOWN_TOOL,
            f"type:{name}:tool",
            "there is no function of the tool's name",
            EXACT,
            reached=False,
        )
    if _CODE_TOOL.search(call.tool[:80]):
        kind = K.INVALID_ARGUMENTS if name == "NameError" else K.NOT_FOUND
        return Finding(
            kind, f"type:{name}:code", "the code that was passed names what is not there", 0.8, reached=False
        )
    return Finding(K.UNKNOWN, f"type:{name}", "the tool's own code failed", 0.9)


def validation(text: str, title: object, call: ToolCall) -> Finding | None:
    """Tell a validation error of the answer (the service changed) from one of the arguments, by the model's title.

    ``title`` is pydantic's; without one it is read from the text ("2 validation errors for OrderResponse").
    """
    found = _VALIDATION.search(text[:500])
    name = title if isinstance(title, str) else found.group(1) if found else ""
    name = name.strip().strip(":`'\"")[:120]
    if not name and not found:
        return None
    tool = re.sub(r"[\W_]", "", call.tool.rsplit("/", 1)[-1]).lower()
    of_tool = bool(tool) and re.sub(r"[\W_]", "", name).lower().startswith(tool)
    if _INPUT_TITLE.search(name) or "input schema" in name.lower():
        return Finding(
            K.INVALID_ARGUMENTS, "validation:input", f"{name[:60]} validates arguments", EXACT, reached=False
        )
    if _OUTPUT_TITLE.search(name):
        return Finding(K.SCHEMA_DRIFT, "validation:output", f"{name[:60]} validates an answer", 0.95)
    if of_tool or not _names_argument(text, call.arguments):
        sure = EXACT if of_tool else 0.86
        return Finding(
            K.INVALID_ARGUMENTS, "validation", f"{name[:60]} failed validation", sure, reached=False
        )
    return Finding(
        K.INVALID_ARGUMENTS, "validation:argument", f"{name[:60]} names an argument", 0.9, reached=False
    )


def _names_argument(text: str, arguments: object) -> bool:
    lines = text[:2_000].split("\n")
    return any(line.strip().split(".", 1)[0] in _keys(arguments) for line in lines[1:20:3])
