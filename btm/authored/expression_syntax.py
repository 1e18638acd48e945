"""What an authored template may be written with: a walk over its syntax tree that refuses everything else."""

from __future__ import annotations

from typing import Any

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

from btm.authored import expression_filters as bounded
from btm.errors import TemplateError

MAX_NODES = 400

_ALLOWED_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Name, nodes.Const, nodes.Tuple,
    nodes.List, nodes.Dict, nodes.Pair, nodes.Keyword, nodes.CondExpr, nodes.Filter, nodes.Test, nodes.Call,
    nodes.Getitem, nodes.Getattr, nodes.Slice, nodes.Concat, nodes.Compare, nodes.Operand, nodes.Mul, nodes.Div,
    nodes.FloorDiv, nodes.Add, nodes.Sub, nodes.Mod, nodes.Pow, nodes.Not, nodes.Neg, nodes.Pos, nodes.And, nodes.Or,
)  # fmt: skip


def narrow(tree: nodes.Template) -> tuple[nodes.Template, frozenset[str]]:
    """Return the tree with its loops and joins bounded, and the dotted paths that it reads from outside.

    Raises TemplateError for anything but values, operators, filters, tests, ``if`` and ``for``.
    """
    walk = _Narrow()
    narrowed = walk.visit(tree)
    return narrowed, frozenset(walk.paths)


class _Narrow(NodeTransformer):
    """Refuses what is not allowed, bounds loops and joins, and notes the names that are read from outside."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self._local: list[str] = []
        self._loops = 0
        self._count = 0

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        self._count += 1
        if not isinstance(node, _ALLOWED_NODES):
            raise TemplateError(f"{type(node).__name__.lower()!r} is not allowed in a template")
        if self._count > MAX_NODES:
            raise TemplateError(f"the template is too long: more than {MAX_NODES} parts")
        return super().generic_visit(node, *args, **kwargs)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - jinja2's visitor names
        if node.recursive or self._loops >= 2:
            raise TemplateError("a loop may be nested once, and not be recursive")
        names = [found.name for found in node.target.find_all(nodes.Name)] or [
            getattr(node.target, "name", "")
        ]
        source = self.visit(node.iter)
        node.iter = nodes.Filter(source, bounded.LOOP, [], [], None, None, lineno=node.lineno)
        self._loops += 1
        self._local.extend([*names, "loop"])
        node.body = [self.visit(child) for child in node.body]
        node.test = self.visit(node.test) if node.test is not None else None
        del self._local[-len(names) - 1 :]
        self._loops -= 1
        node.else_ = [self.visit(child) for child in node.else_]
        self._count += 1
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        parts = nodes.List([self.visit(child) for child in node.nodes], lineno=node.lineno)
        return nodes.Filter(parts, bounded.CONCAT, [], [], None, None, lineno=node.lineno)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        """Make ``a in b`` the test of that name, which pays for the search."""
        searches = [operand.op in ("in", "notin") for operand in node.ops]
        if not any(searches):
            return self.generic_visit(node)
        if len(searches) > 1:
            raise TemplateError("'in' may not be chained with other comparisons")
        left, right = self.visit(node.expr), self.visit(node.ops[0].expr)
        found = nodes.Test(left, "in", [right], [], None, None, lineno=node.lineno)
        return nodes.Not(found, lineno=node.lineno) if node.ops[0].op == "notin" else found

    def visit_Name(self, node: nodes.Name) -> nodes.Node:  # noqa: N802
        return self._noted(node, node.name)

    def visit_Getattr(self, node: nodes.Getattr) -> nodes.Node:  # noqa: N802
        return self._noted(node, _path(node))

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        return self._noted(node, _path(node))

    def _noted(self, node: nodes.Node, path: str | None) -> nodes.Node:
        if path is None:
            return self.generic_visit(node)
        self._count += 1
        root = path.partition(".")[0]
        if root.startswith("_"):
            raise TemplateError(f"the name {root!r} is not allowed in a template")
        if root not in self._local and root != "range":
            self.paths.add(path)
        return node


def _path(node: nodes.Node) -> str | None:
    """``known.user.id`` for a chain of plain accesses that starts with a name, else None."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr):
        head = _path(node.node)
        return f"{head}.{node.attr}" if head else None
    if (
        isinstance(node, nodes.Getitem)
        and isinstance(node.arg, nodes.Const)
        and isinstance(node.arg.value, str)
    ):
        head = _path(node.node)
        return f"{head}.{node.arg.value}" if head else None
    return None
