# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The rewritten function: same name, file, lines, globals, closure cells and defaults."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any

from opencute.base.errors import LanguageError
from opencute.base.location import Location
from opencute.frontend import control
from opencute.frontend.rewrite.accepted import check
from opencute.frontend.rewrite.conditionals import rewrite_if
from opencute.frontend.rewrite.expressions import rewrite_expression
from opencute.frontend.rewrite.loops import is_trace_time, rewrite_for, rewrite_while
from opencute.frontend.rewrite.returns import normalise
from opencute.frontend.rewrite.scope import RUNTIME, contains, is_constexpr
from opencute.frontend.source import function_tree

__all__ = ["rewritten"]

_cache: dict[types.CodeType, types.CodeType] = {}


class _Rewriter(ast.NodeTransformer):
    """Bottom-up; bodies of nested functions are rewritten in their own scope."""

    def __init__(self, filename: str, function: str) -> None:
        self.filename = filename
        self.function = function
        self.count = 0
        self.depth = 0

    def _next(self) -> int:
        self.count += 1
        return self.count

    def _place(self, new: list[ast.stmt], old: ast.stmt) -> list[ast.stmt]:
        for stmt in new:
            ast.copy_location(stmt, old)
            ast.fix_missing_locations(stmt)
        return new

    def _refuse(self, node: ast.stmt, message: str, hint: str) -> LanguageError:
        loc = Location(self.filename, node.lineno, node.col_offset, function=self.function)
        return LanguageError(message, code="OC1123", loc=loc, hint=hint)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.body = normalise(node.body)
        node.returns = None
        for arg in [*node.args.args, *node.args.posonlyargs, *node.args.kwonlyargs]:
            arg.annotation = None
        for arg in (node.args.vararg, node.args.kwarg):
            if arg is not None:
                arg.annotation = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        self.generic_visit(node)
        if node.value is None:
            return None if not isinstance(node.target, ast.Name) else ast.copy_location(
                ast.Pass(), node
            )  # fmt: skip
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node  # its body runs while tracing, as Python

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        if is_constexpr(node.test):
            return node
        if contains([*node.body, *node.orelse], (ast.Break, ast.Continue), loops=False):
            return (
                node  # belongs to a loop that runs while tracing; a dynamic test is refused there
            )
        return self._place(rewrite_if(node, self._next()), node)

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        if is_trace_time(node.iter):
            return node
        if contains(node.body, (ast.Break, ast.Continue, ast.Return), loops=False):
            return node  # an ordinary loop; LoopRange.__iter__ refuses run-time bounds
        return self._place(rewrite_for(node, self._next()), node)

    def visit_While(self, node: ast.While) -> Any:
        self.generic_visit(node)
        if is_constexpr(node.test):
            return node
        if contains(node.body, (ast.Break, ast.Continue, ast.Return), loops=False):
            return node
        return self._place(rewrite_while(node, self._next()), node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.expr):
            new = rewrite_expression(node)
            if new is not node:
                ast.copy_location(new, node)
                ast.fix_missing_locations(new)
            return new
        return node


def rewritten(fn: types.FunctionType) -> Callable[..., Any]:
    """`fn` with its control flow rewritten; it shares globals and closure cells with `fn`.

    Raises:
        LanguageError: the source is not available, or has a construct that is not accepted.
    """
    code = _cache.get(fn.__code__)
    if code is None:
        code = _cache[fn.__code__] = _compile(fn)
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    cells[RUNTIME] = types.CellType(control)
    closure = tuple(cells[name] for name in code.co_freevars)
    new = types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
    new.__kwdefaults__ = fn.__kwdefaults__
    new.__qualname__ = fn.__qualname__
    return new


def _compile(fn: types.FunctionType) -> types.CodeType:
    tree, filename = function_tree(fn)
    check(tree, filename)
    tree = _Rewriter(filename, fn.__name__).visit(tree)
    # locals() must be called in the frame whose variables it shows, so it cannot hide in a helper.
    tree = _Locals().visit(tree)
    free = [*fn.__code__.co_freevars, RUNTIME]
    params = ast.arguments([], [ast.arg(n) for n in free], None, [], [], None, [])
    give = ast.Return(ast.Name(tree.name, ast.Load()))
    factory = ast.FunctionDef("__oc_factory", params, [tree, give], [], None)
    if "type_params" in ast.FunctionDef._fields:
        factory.type_params = []  # type: ignore[attr-defined]
    module = ast.Module([factory], [])
    ast.copy_location(factory, tree)
    ast.fix_missing_locations(module)
    compiled = compile(module, filename, "exec")
    outer = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
    return next(
        c for c in outer.co_consts if isinstance(c, types.CodeType) and c.co_name == tree.name
    )


class _Locals(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> Any:
        if node.id == "__oc_locals":
            return ast.copy_location(ast.Name("locals", ast.Load()), node)
        return node
