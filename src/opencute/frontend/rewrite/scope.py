# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which names a piece of code assigns, and small builders of syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

__all__ = [
    "RUNTIME",
    "SCOPES",
    "TEMPORARY",
    "VARIABLES",
    "assigned",
    "call",
    "function",
    "is_constexpr",
    "loaded",
    "name_tuple",
    "parameters",
    "reached",
    "returning",
    "scope_values",
    "shared",
    "target_tuple",
    "walrus",
]

RUNTIME = "__oc__"
VARIABLES = "__oc_vars"
TEMPORARY = "__oc_m_"
"""How variables begin that no statement carries: each is bound where it is read."""
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

    def visit_Constant(self, node: ast.Constant) -> None:
        pass

    def generic_visit(self, node: ast.AST) -> None:
        if not node._fields:
            return
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
    names: dict[str, None] = {}
    for inner in _functions(fn):
        declared = {n for s in _scope(inner) if isinstance(s, ast.Nonlocal) for n in s.names}
        # Names that a function in between owns are not ours.
        own = {*assigned(inner.body), *parameters(inner)} - declared
        names.update(dict.fromkeys(sorted(declared)))
        names.update((n, None) for n in shared(inner) if n not in own)
    return list(names)


def parameters(fn: ast.FunctionDef) -> list[str]:
    """The names of a function's parameters."""
    a = fn.args
    args = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    return [arg.arg for arg in args]


def _functions(fn: ast.AST) -> list[ast.FunctionDef]:
    """The functions that stand in a function, not those in them."""
    out: list[ast.FunctionDef] = []
    for child in ast.iter_child_nodes(fn):
        if isinstance(child, ast.FunctionDef):
            out.append(child)
        else:
            out += _functions(child)
    return out


def _scope(fn: ast.AST) -> Iterable[ast.AST]:
    for child in ast.iter_child_nodes(fn):
        yield child
        if not isinstance(child, SCOPES):
            yield from _scope(child)


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
    return [
        n for n in names
        if n not in but and (not n.startswith("__oc_") or n.startswith(TEMPORARY))
    ]  # fmt: skip


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
