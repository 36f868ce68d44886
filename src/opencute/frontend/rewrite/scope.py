# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which names a piece of code assigns, and small builders of syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

__all__ = [
    "RUNTIME",
    "SCOPES",
    "VARIABLES",
    "assigned",
    "call",
    "function",
    "is_constexpr",
    "loaded",
    "name_tuple",
    "reached",
    "returning",
    "scope_values",
    "shared",
    "target_tuple",
    "walrus",
]

RUNTIME = "__oc__"
VARIABLES = "__oc_vars"
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Assigned(ast.NodeVisitor):
    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store | ast.Del) and not node.id.startswith("__oc_"):
            self.names.setdefault(node.id)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if not node.name.startswith("__oc_"):
            self.names.setdefault(node.name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.names.setdefault(node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        pass

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                self.names.setdefault((alias.asname or alias.name).split(".")[0])
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            self.names.setdefault(node.name)
        if isinstance(node, _COMPREHENSIONS):
            # Only a walrus inside of a comprehension reaches the enclosing scope.
            for child in ast.walk(node):
                if isinstance(child, ast.NamedExpr):
                    self.visit(child.target)
            return
        super().generic_visit(node)


def assigned(nodes: Iterable[ast.AST]) -> list[str]:
    """The names that code binds in its own scope, in order of appearance."""
    visitor = _Assigned()
    for node in nodes:
        visitor.visit(node)
    return list(visitor.names)


def shared(fn: ast.FunctionDef) -> list[str]:
    """The variables of a function that functions inside of it assign (`nonlocal`)."""
    inner = [n for n in ast.walk(fn) if isinstance(n, ast.FunctionDef) and n is not fn]
    names = dict.fromkeys(
        name for f in inner for n in ast.walk(f) if isinstance(n, ast.Nonlocal) for name in n.names
    )
    return list(names)


def walrus(fn: ast.FunctionDef) -> list[str]:
    """The variables that expressions of a function assign (`:=`)."""
    names: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.NamedExpr):
                names.setdefault(child.target.id)
            if not isinstance(child, SCOPES):
                visit(child)

    visit(fn)
    return list(names)


def loaded(nodes: Iterable[ast.AST], but: Sequence[str]) -> list[str]:
    """The names that code reads, except some."""
    names: dict[str, None] = {}
    for node in nodes:
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                names.setdefault(child.id)
    return [n for n in names if n not in but and not n.startswith("__oc_")]


def is_constexpr(node: ast.expr) -> bool:
    """Whether an expression is `const_expr(...)`."""
    if not isinstance(node, ast.Call):
        return False
    f = node.func
    return (isinstance(f, ast.Name) and f.id == "const_expr") or (
        isinstance(f, ast.Attribute) and f.attr == "const_expr"
    )


def call(name: str, *args: ast.expr) -> ast.Call:
    """`__oc__.name(*args)`."""
    target = ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())
    return ast.Call(target, list(args), [])


def name_tuple(names: Sequence[str]) -> ast.Tuple:
    """`('a', 'b')`."""
    return ast.Tuple([ast.Constant(n) for n in names], ast.Load())


def target_tuple(names: Sequence[str]) -> ast.Tuple:
    """`(a, b) =`."""
    return ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())


def scope_values(names: Sequence[str]) -> ast.Call:
    """`__oc__.values(('a', 'b'), locals())`."""
    scope = ast.Call(ast.Name("__oc_locals", ast.Load()), [], [])
    return call("values", name_tuple(names), scope)


def reached(nodes: Iterable[ast.AST], but: Sequence[str]) -> ast.Call:
    """`__oc__.reach(('a', 'b'), locals())`: the objects that code may change without binding."""
    scope = ast.Call(ast.Name("__oc_locals", ast.Load()), [], [])
    return call("reach", name_tuple(loaded(nodes, but)), scope)


def function(
    name: str, names: Sequence[str], body: list[ast.stmt], first: Sequence[str] = ()
) -> ast.FunctionDef:
    """`def name(*first, *__oc_vars): nonlocal names; (names) = __oc_vars; body`.

    The variables stay those of the function around, so that closures see them change.
    """
    rest = ast.arg(VARIABLES) if names else None
    args = ast.arguments([], [ast.arg(p) for p in first], rest, [], [], None, [])
    head: list[ast.stmt] = []
    if names:
        take = ast.Assign([target_tuple(names)], ast.Name(VARIABLES, ast.Load()))
        head = [ast.Nonlocal(list(names)), take]
    node = ast.FunctionDef(name, args, [*head, *body], [], None)
    if "type_params" in ast.FunctionDef._fields:
        node.type_params = []  # type: ignore[attr-defined]
    return node


def returning(names: Sequence[str]) -> ast.Return:
    """`return __oc__.values(('a', 'b'), locals())`: names may be unbound at the end of a branch."""
    return ast.Return(scope_values(names))
