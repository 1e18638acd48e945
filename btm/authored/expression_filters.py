"""The filters, tests and operators that the sandbox allows, each bounded in what it can produce."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import Any

from jinja2 import Undefined, pass_context

from btm.errors import TemplateError, did_you_mean
from btm.support.untrusted import bounded_json, text_of

MAX_TEXT = 20_000
"""Characters that a template may produce, and that one text inside it may grow to."""
MAX_ITEMS = 10_000
"""Length that an operator may give."""
MAX_TURNS = 2_000
"""Numbers of a range, and turns that all loops of one rendering may take together."""
MAX_WORK = 200_000
"""Items that one rendering may look at, over all its filters; a turn of a loop counts as a hundred."""
MAX_BITS = 512

LOOP = "btm loop"  # names with a space: no template can write them
CONCAT = "btm concat"
BUDGET = "btm budget"

_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items", "last", "length",
    "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "select", "selectattr", "sort",
    "title", "trim", "unique", "upper",
)  # fmt: skip
_TESTS = (
    "boolean", "defined", "undefined", "divisibleby", "eq", "equalto", "==", "ne", "!=", "lt", "lessthan", "<", "le",
    "<=", "gt", "greaterthan", ">", "ge", ">=", "in", "integer", "float", "number", "string", "mapping", "sequence",
    "iterable", "none", "true", "false", "even", "odd", "lower", "upper",
)  # fmt: skip


class WorkBudget:
    """The work that one rendering has left: items looked at, turns of loops, and characters by the fifty."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_WORK

    def spend(self, work: int) -> None:
        """Take some of it; raises TemplateError when there is not enough."""
        self.left -= work
        if self.left < 0:
            raise TemplateError(
                "the template takes too much work: too many items, or too many loops over them"
            )

    def look_at(self, value: Any) -> None:
        """Take what going over a value once costs."""
        if isinstance(value, Sized) and not isinstance(value, Undefined):
            self.spend(1 + (len(value) // 50 if isinstance(value, str | bytes) else len(value)))


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
        if operator == "*" and isinstance(a, Sized) and isinstance(b, int):
            if not isinstance(a, str):
                raise TemplateError("repeating a list is not allowed")
            if len(a) * b > MAX_ITEMS:
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
    budget: WorkBudget = context.resolve(BUDGET)
    made = []
    for item in items:
        budget.spend(MAX_WORK // MAX_TURNS)
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


def _containing(value: Any, part: Any) -> bool:
    """``in`` with its sides changed, for ``select('containing', 'x')``."""
    return isinstance(value, str | list | tuple | Mapping) and part in value


def _limited(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter or test that pays for what it looks at; it is called with the context in front."""
    inner = getattr(function, "jinja_pass_arg", None)

    @pass_context
    def limited(context: Any, value: Any = None, *args: Any, **kwargs: Any) -> Any:
        budget: WorkBudget = context.resolve(BUDGET)
        for looked_at in (value, *args):
            budget.look_at(looked_at)
        if hasattr(value, "__next__"):
            value = _counted(value, budget)
        passed = {
            None: (),
            "context": (context,),
            "environment": (context.environment,),
            "eval_context": (context.eval_ctx,),
        }[inner.name if inner is not None else None]
        return function(*passed, value, *args, **kwargs)

    return limited


def _counted(items: Any, budget: WorkBudget) -> Iterator[Any]:
    for item in items:
        budget.spend(1)
        yield item


def _sum(value: Iterable[Any], attribute: str | None = None) -> Any:
    """The sum of numbers; lists are not added up, since that could give a list of any length."""
    picked = (item[attribute] for item in value) if attribute is not None else value
    return sum(picked)


@pass_context
def _flatten(context: Any, value: Iterable[Any]) -> list[Any]:
    """The members of the lists in a list, one level deep; what is no list stands for itself."""
    members = (m for item in value for m in (item if isinstance(item, list | tuple) else (item,)))
    return list(_counted(members, context.resolve(BUDGET)))


def allowed_filters(shipped: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return the filters of the sandbox: some of jinja2's own, bounded, and bounded twins of others."""
    return {
        **{name: _limited(shipped[name]) for name in _FILTERS},
        "flatten": _flatten,
        "join": _limited(_join),
        "replace": _limited(_replace),
        "round": _round,
        "string": _string,
        "sum": _limited(_sum),
        "tojson": _tojson,
        "truncate": _truncate,
        LOOP: _loop,
        CONCAT: _concat,
    }


def allowed_tests(shipped: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return the tests of the sandbox: none that tells about anything but plain values."""
    return {
        **{name: shipped[name] for name in _TESTS},
        "in": _limited(shipped["in"]),
        "containing": _limited(_containing),
    }


def unknown(sort: str, name: str, known: Iterable[str]) -> str:
    """Say that a filter or test does not exist, with the nearest one that does."""
    return f"there is no {sort} {name!r}{did_you_mean(name, (n for n in known if ' ' not in n))}"


def short(problem: Exception) -> str:
    """Return an exception's text in one short line; never raises."""
    return " ".join(text_of(problem, 200).split())
