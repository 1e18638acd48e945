"""Expressions and templates of authored files, run where they can read the values given to them and nothing else.

jinja2's immutable sandbox, narrowed: no statement but ``if`` and ``for``, no attribute but a mapping's keys and a
few methods of text and mappings, no filter or test that is not listed here, and every result, loop and number
bounded. Values are never evaluated as templates, whatever text they hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import islice
from types import BuiltinMethodType, MappingProxyType
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, Undefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from btm.authored import expression_filters as bounded
from btm.authored.expression_syntax import narrow
from btm.errors import TemplateError, UndefinedResultError

MAX_SOURCE = 4_000

_LOOP = frozenset(("index", "index0", "first", "last", "length", "revindex", "revindex0"))
_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(
        ("lower", "upper", "strip", "lstrip", "rstrip", "startswith", "endswith", "split", "splitlines",
         "title", "capitalize", "removeprefix", "removesuffix", "isdigit", "isalpha", "find", "count")
    ),
    dict: frozenset(("get", "keys", "values", "items")),
    list: frozenset(("index", "count")),
    MappingProxyType: frozenset(("get", "keys", "values", "items")),
}  # fmt: skip
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z", re.ASCII)
_ONE_EXPRESSION = re.compile(r"\s*\{\{(?!-)((?:(?!\{\{|\}\}|\{%|\{#).)*?)(?<!-)\}\}\s*\Z", re.DOTALL)
_HOLE = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}", re.ASCII)
_KEYWORDS = frozenset(
    ("true", "false", "none", "True", "False", "None", "not", "and", "or", "in", "is", "if", "else")
)
_MISSING: Any = object()


def _attribute(value: Any, name: str) -> Any:
    """A mapping's key of that name, or an allowed method of a plain value, or the mark for neither."""
    if isinstance(value, Mapping) and name in value:
        return value[name]
    if name in _METHODS.get(type(value), ()):
        return getattr(value, name)
    return _MISSING


class _Sandbox(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))

    def getattr(self, obj: Any, attribute: str) -> Any:
        found = _attribute(obj, attribute)
        if found is _MISSING and type(obj).__name__ == "LoopContext" and attribute in _LOOP:
            return getattr(obj, attribute)
        return self.undefined(obj=obj, name=attribute) if found is _MISSING else found

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(argument, int | slice) and isinstance(obj, list | tuple | str):
            try:
                return obj[argument]
            except IndexError:
                return self.undefined(obj=obj, name=str(argument))
        if isinstance(obj, Mapping) and isinstance(argument, str | int) and argument in obj:
            return obj[argument]
        return self.undefined(obj=obj, name=str(argument))

    def is_safe_callable(self, obj: Any) -> bool:
        owner = getattr(obj, "__self__", None)
        method = type(obj) is BuiltinMethodType and obj.__name__ in _METHODS.get(type(owner), ())
        return method or obj is bounded.small_range

    def call(self, context: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
        budget: bounded.WorkBudget = context.resolve(bounded.BUDGET)
        budget.look_at(getattr(obj, "__self__", None))
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        bounded.check_operands(operator, left, right)
        return super().call_binop(context, operator, left, right)


def _environment() -> _Sandbox:
    made = _Sandbox(undefined=StrictUndefined, autoescape=False, finalize=bounded.finalize, cache_size=0)
    filters: dict[str, Any] = bounded.allowed_filters(made.filters)
    tests: dict[str, Any] = bounded.allowed_tests(made.tests)
    made.globals = {"range": bounded.small_range}
    made.filters, made.tests = filters, tests
    return made


_ENVIRONMENT = _environment()


_MOST_LOOKED_AT = 100
"""Members of a mapping or list: what people write is short, and what tools answer is defined."""


class Expression:
    """One expression, such as ``result.status == 'cancelled'``. Call it with names; the result keeps its type."""

    __slots__ = ("_compiled", "_dotted", "_tree", "paths", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        stripped = text.strip()
        root = stripped.partition(".")[0]
        self._compiled: Any = None
        self._tree: nodes.Template | None = None
        self._dotted: tuple[str, ...] = ()
        self.paths: frozenset[str]
        if _DOTTED.match(stripped) and root not in _KEYWORDS and not root.startswith("_"):
            self._dotted = tuple(stripped.split("."))  # most templates: no need of the engine
            self.paths = frozenset((stripped,))
        else:
            self._tree, self.paths = _parse(text, state="variable")

    def __call__(self, **names: Any) -> Any:
        """Evaluate with these names; see :meth:`evaluate`."""
        return self.evaluate(names)

    def evaluate(self, names: Mapping[str, Any]) -> Any:
        """Return the expression's value; raises TemplateError for an undefined name or any failure."""
        try:
            return self._follow(names) if self._dotted else self._run(names)
        except TemplateError:
            raise
        except Exception as problem:  # values are untrusted and may raise anything
            raise _failed(self.text, problem) from problem

    def _follow(self, names: Mapping[str, Any]) -> Any:
        value: Any = names
        for done, part in enumerate(self._dotted):
            value = value.get(part, _MISSING) if not done else _attribute(value, part)
            if value is _MISSING:
                missing = ".".join(self._dotted[: done + 1])
                raise UndefinedResultError(f"{missing!r} is not defined in {self.text!r}")
        return value

    def _run(self, names: Mapping[str, Any]) -> Any:
        if self._compiled is None and self._tree is not None:
            self._compiled = _ENVIRONMENT.from_string(self._tree)
        context = self._compiled.new_context({**names, bounded.BUDGET: bounded.WorkBudget()})
        for _ in self._compiled.root_render_func(context):
            pass
        value = context.vars["result"]
        if _undefined(value):
            raise UndefinedResultError(f"{self.text!r} is not defined")
        return list(value) if hasattr(value, "__next__") else value  # select and map are lazy


def _undefined(value: Any, depth: int = 4) -> bool:
    """Whether a value is undefined, or a mapping or list that the expression made holds one that is."""
    if isinstance(value, Undefined):
        return True
    if depth == 0 or type(value) not in (dict, list, tuple):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return any(_undefined(item, depth - 1) for item in islice(inside, _MOST_LOOKED_AT))


class Template:
    """Text with ``{{ expressions }}``, and ``{% if %}`` and ``{% for %}`` around pieces of it."""

    __slots__ = ("_compiled", "_pieces", "_tree", "paths", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._compiled: Any = None
        self._tree, self.paths = _parse(text, state=None)
        self._pieces = _simple_pieces(text)

    def render(self, names: Mapping[str, Any]) -> str:
        """Return the text; raises TemplateError for an undefined name, too long an output or any failure."""
        try:
            if self._pieces:
                return bounded.gather(
                    [p if isinstance(p, str) else bounded.finalize(p.evaluate(names)) for p in self._pieces]
                )
            if self._compiled is None:
                self._compiled = _ENVIRONMENT.from_string(self._tree)
            context = self._compiled.new_context({**names, bounded.BUDGET: bounded.WorkBudget()})
            return bounded.gather(self._compiled.root_render_func(context))
        except TemplateError:
            raise
        except Exception as problem:  # values are untrusted and may raise anything
            raise _failed(self.text, problem) from problem


def _simple_pieces(text: str) -> tuple[str | Expression, ...]:
    """Text and plain ``{{ a.b }}`` in turn, where a template is nothing else: it needs no engine to be filled."""
    parts = _HOLE.split(text.removesuffix("\n"))  # jinja2 leaves out one last line end too
    literals, names = parts[::2], parts[1::2]
    if any("{" in part or "}" in part or "\r" in part for part in literals):
        return ()
    if any(name.partition(".")[0] in _KEYWORDS for name in names):
        return ()
    return tuple(Expression(part) if index % 2 else part for index, part in enumerate(parts) if part)


def _parse(text: str, state: str | None) -> tuple[nodes.Template, frozenset[str]]:
    if len(text) > MAX_SOURCE:
        raise TemplateError(f"the template has {len(text)} characters; at most {MAX_SOURCE} are allowed")
    try:
        parser = Parser(_ENVIRONMENT, text, state=state)
        if state is None:
            tree = parser.parse()
        else:
            expression = parser.parse_expression()
            if not parser.stream.eos:
                if parser.stream.current.type == "assign":
                    raise TemplateError(f"{text.strip()!r} has a single '='; write '==' to compare")
                raise TemplateError(f"{text.strip()!r} does not end after its first expression")
            tree = nodes.Template([nodes.Output([expression], lineno=1)], lineno=1)
        tree, paths = narrow(tree)
        _check_names(tree)
        if state is not None:
            output: Any = tree.body[0]
            target = nodes.Name("result", "store", lineno=1)
            tree = nodes.Template([nodes.Assign(target, output.nodes[0], lineno=1)], lineno=1)
        tree.set_environment(_ENVIRONMENT)
    except TemplateSyntaxError as problem:
        raise TemplateError(f"{text.strip()[:200]!r} is not a template: {problem.message}") from problem
    except RecursionError as problem:
        raise TemplateError("the template is nested too deep") from problem
    return tree, paths


def _check_names(tree: nodes.Node) -> None:
    for used in tree.find_all((nodes.Filter, nodes.Test)):
        known = _ENVIRONMENT.filters if isinstance(used, nodes.Filter) else _ENVIRONMENT.tests
        if used.name not in known:
            sort = "filter" if isinstance(used, nodes.Filter) else "test"
            raise TemplateError(bounded.unknown(sort, used.name, known))


def _failed(text: str, problem: Exception) -> TemplateError:
    reason = "it is not allowed" if isinstance(problem, SecurityError) else type(problem).__name__
    return TemplateError(f"{text[:200]!r} failed: {reason}: {bounded.short(problem)}")


@lru_cache(maxsize=4_096)
def compile_expression(text: str) -> Expression:
    """Return an expression as a callable over names; raises TemplateError when it is not one."""
    return Expression(text)


@lru_cache(maxsize=4_096)
def compile_template(text: str) -> Template:
    """Return a text template; raises TemplateError when it is not one."""
    return Template(text)


def render(text: str, names: Mapping[str, Any]) -> str:
    """Return ``text`` with its expressions filled from ``names``; raises TemplateError."""
    return compile_template(text).render(names)


def compile_value(text: str) -> Callable[[Mapping[str, Any]], Any]:
    """Return a filler for a text of an authored value: one ``{{ expression }}`` alone keeps the value's type.

    Raises TemplateError when the text is not a template, and so does the filler when a name is undefined.
    """
    alone = _ONE_EXPRESSION.match(text)
    if alone:
        return compile_expression(alone.group(1)).evaluate
    return compile_template(text).render


def referenced_names(text: str, *, expression: bool = False) -> frozenset[str]:
    """Return the dotted paths that a template (or an ``expression``) reads: ``{"call.order_id", "known"}``."""
    return compile_expression(text).paths if expression else compile_template(text).paths
