"""The filters, tests and operators that the sandbox allows, each bounded in what it can produce."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any

from jinja2 import Undefined, pass_context

from btm.errors import TemplateError, nearest
from btm.safe import bounded_json, text_of

MAX_TEXT = 20_000
"""Characters that a template may produce, and that one text inside it may grow to."""
MAX_ITEMS = 10_000
"""Items that a filter looks at."""
MAX_TURNS = 2_000
"""Turns that all loops of one rendering may take together."""
MAX_BITS = 512

LOOP = "btm loop"  # names with a space: no template can write them
CONCAT = "btm concat"
BUDGET = "btm budget"

_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items", "last", "length",
    "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "select", "selectattr", "sort", "sum",
    "title", "trim", "unique", "upper",
)  # fmt: skip
_TESTS = (
    "boolean", "defined", "undefined", "divisibleby", "eq", "equalto", "==", "ne", "!=", "lt", "lessthan", "<", "le",
    "<=", "gt", "greaterthan", ">", "ge", ">=", "in", "integer", "float", "number", "string", "mapping", "sequence",
    "iterable", "none", "true", "false", "even", "odd", "lower", "upper",
)  # fmt: skip


class Budget:
    """The turns that the loops of one rendering have left."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_TURNS


def finalize(value: Any) -> Any:
    """Turn an output expression's value into bounded text; undefined values raise here."""
    return value if isinstance(value, str) and len(value) <= MAX_TEXT else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Undefined):
        return str(value)  # StrictUndefined raises, with the name in its message
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        made = bounded_json(value, MAX_TEXT + 1)
    else:
        made = text_of(value, MAX_TEXT + 1)
    return _fits(made)


def _fits(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise TemplateError(f"a template's text grew beyond {MAX_TEXT} characters")
    return text


def gather(pieces: Iterable[str]) -> str:
    """Join rendered pieces, stopping as soon as they are too many."""
    parts: list[str] = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_TEXT:
            raise TemplateError(f"a template's output grew beyond {MAX_TEXT} characters")
        parts.append(piece)
    return "".join(parts)


def small_range(*bounds: int) -> range:
    """``range`` with at most MAX_TURNS numbers."""
    made = range(*bounds)
    if len(made) > MAX_TURNS:
        raise TemplateError(f"a range of more than {MAX_TURNS} numbers is not allowed")
    return made


def check_operands(operator: str, left: Any, right: Any) -> None:
    """Raise TemplateError when an operation could give a huge value or format text."""
    for a, b in ((left, right), (right, left)):
        if operator == "*" and isinstance(a, Sized) and isinstance(b, int) and len(a) * b > MAX_ITEMS:
            raise TemplateError("this repetition is too long")
    if operator == "%" and isinstance(left, str | bytes):
        raise TemplateError("formatting with % is not allowed")
    if operator == "+" and isinstance(left, Sized) and isinstance(right, Sized):
        limit = MAX_TEXT if isinstance(left, str) else MAX_ITEMS
        if len(left) + len(right) > limit:
            raise TemplateError("this sum is too long")
    if isinstance(left, int) and isinstance(right, int):
        bits = (
            left.bit_length() * max(1, abs(right))
            if operator == "**"
            else left.bit_length() + right.bit_length()
        )
        if bits > MAX_BITS:
            raise TemplateError("this number is too large")


@pass_context
def _loop(context: Any, items: Iterable[Any]) -> Iterable[Any]:
    if isinstance(items, Undefined):
        iter(items)  # raises, with the name in its message
    budget: Budget = context.resolve(BUDGET)
    made = []
    for item in items:
        budget.left -= 1
        if budget.left < 0:
            raise TemplateError(f"the loops of a template may take {MAX_TURNS} turns together")
        made.append(item)
    return made


def _concat(parts: list[Any]) -> str:
    return gather(_text(part) if not isinstance(part, str) else part for part in parts)


def _string(value: Any) -> str:
    return finalize(value) if not isinstance(value, str) else value


def _join(value: Iterable[Any], d: str = "", attribute: str | None = None) -> str:
    def pieces() -> Iterable[str]:
        for index, item in enumerate(value):
            if index:
                yield d
            if attribute is not None and not (isinstance(item, Mapping) and attribute in item):
                raise TemplateError(f"an item to join has no {attribute!r}")
            yield _text(item[attribute] if attribute is not None else item)

    return gather(pieces())


def _replace(value: Any, old: str, new: str) -> str:
    text = _string(value)
    if len(text) + text.count(old) * len(new) > MAX_TEXT:
        raise TemplateError(f"a replacement would grow beyond {MAX_TEXT} characters")
    return text.replace(old, new)


def _round(value: float, precision: int = 0) -> float | int:
    if not -15 <= precision <= 15:
        raise TemplateError("a number is rounded to at most 15 places")
    return round(value, precision) if precision else round(value)


def _truncate(value: Any, length: int = 100, end: str = "…") -> str:
    text = text_of(value, MAX_TEXT)
    return text if len(text) <= length else text[: max(0, length - len(end))] + end


def _tojson(value: Any) -> str:
    return _fits(bounded_json(value, MAX_TEXT + 1))


def _limited(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that refuses to look at more than MAX_ITEMS items; jinja2 marks its functions by attributes."""
    passed = getattr(function, "jinja_pass_arg", None)
    position = 1 if passed is not None else 0

    def limited(*args: Any, **kwargs: Any) -> Any:
        value = args[position] if len(args) > position else None
        limit = MAX_TEXT if isinstance(value, str) else MAX_ITEMS
        if isinstance(value, Sized) and not isinstance(value, Undefined) and len(value) > limit:
            raise TemplateError(f"a filter looks at no more than {limit} items")
        return function(*args, **kwargs)

    if passed is not None:
        limited.jinja_pass_arg = passed  # type: ignore[attr-defined]
    return limited


def allowed_filters(shipped: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return the filters of the sandbox: some of jinja2's own, bounded, and bounded twins of others."""
    return {
        **{name: _limited(shipped[name]) for name in _FILTERS},
        "join": _join,
        "replace": _replace,
        "round": _round,
        "string": _string,
        "tojson": _tojson,
        "truncate": _truncate,
        LOOP: _loop,
        CONCAT: _concat,
    }


def allowed_tests(shipped: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return the tests of the sandbox: none that tells about anything but plain values."""
    return {name: shipped[name] for name in _TESTS}


def unknown(sort: str, name: str, known: Iterable[str]) -> str:
    """Say that a filter or test does not exist, with the nearest one that does."""
    close = nearest(name, (n for n in known if " " not in n))
    return f"there is no {sort} {name!r}" + (f"; did you mean {close!r}?" if close else "")


def short(problem: Exception) -> str:
    """Return an exception's text in one short line; never raises."""
    return " ".join(text_of(problem, 200).split())
