# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The rewritten function: same name, file, lines, globals, closure cells and defaults."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any

from opencute.base.bounded import Recent
from opencute.frontend import generated
from opencute.frontend.hints import note_rewritten
from opencute.frontend.rewrite.accepted import check
from opencute.frontend.rewrite.conditionals import rewrite_if
from opencute.frontend.rewrite.definite import bind_later, surely_bound
from opencute.frontend.rewrite.elections import Elections
from opencute.frontend.rewrite.expressions import (
    VALUES,
    note_condition,
    rewrite_expression,
    state_of,
)
from opencute.frontend.rewrite.leaving import (
    RESULT,
    keep_generator,
    leaves_of,
    lower_exits,
    runs_in_python,
)
from opencute.frontend.rewrite.loops import is_trace_time, rewrite_for, rewrite_while
from opencute.frontend.rewrite.matches import lower_match
from opencute.frontend.rewrite.scope import (
    RUNTIME,
    assigned,
    call,
    is_constexpr,
    parameters,
    shared,
    walrus,
)
from opencute.frontend.source import function_tree

__all__ = ["rewritten"]

# By identity, with the key kept alive: code objects that differ only in their file are equal.
_cache: Recent[int, tuple[types.CodeType, types.CodeType]] = Recent(4096)


class _Rewriter(ast.NodeTransformer):
    """Bottom-up; bodies of nested functions are rewritten in their own scope."""

    def __init__(self, filename: str, function: str) -> None:
        self.filename = filename
        self.function = function
        self.count = 0
        self.shared: list[str] = []
        self.owner = ""  # the first parameter of the function that is being rewritten

    def _next(self) -> int:
        self.count += 1
        return self.count

    def _place(self, new: list[ast.stmt], old: ast.AST) -> list[ast.stmt]:
        for stmt in new:
            _locate(stmt, old)
        return new

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        if any(map(_is_ours, node.decorator_list)):
            return node  # the decorator reads its source again
        later: list[str] = []
        if not keep_generator(node):
            later = surely_bound(node, parameters(node))
            node.body = lower_exits(node.body, self._next)
        node.returns = None
        for arg in [*node.args.args, *node.args.posonlyargs, *node.args.kwonlyargs]:
            arg.annotation = None
        for arg in (node.args.vararg, node.args.kwarg):
            if arg is not None:
                arg.annotation = None
        before, owner = self.shared, self.owner
        self.owner = next(iter(parameters(node)), "")
        expressions = walrus(node)
        # Functions beside this one, which it may call, assign those of the function around.
        own = {*assigned(node.body), *parameters(node)}
        names = [*shared(node), *(n for n in before if n not in own)]
        _declare(node, names)
        self.shared = list(dict.fromkeys([*names, *expressions]))
        self.generic_visit(node)
        if self.shared:
            head = self._place(state_of(self.shared, expressions), node)
            node.body = [*_scopes(node.body), *head, *_rest(node.body)]
        later = [n for n in later if n not in self.shared]
        if later:
            at = node.body[0]
            node.body = [*_scopes(node.body), bind_later(later, at), *_rest(node.body)]
        self.shared, self.owner = before, owner
        if not isinstance(node.body[-1], ast.Return):
            last = ast.Expr(call("given", ast.Constant(None)))
            node.body.append(ast.fix_missing_locations(ast.copy_location(last, node.body[-1])))
        return node

    def _shared(self, node: ast.stmt) -> list[str]:
        return self.shared if any(isinstance(n, ast.Call) for n in ast.walk(node)) else []

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        self.generic_visit(node)
        if node.value is None:
            return None if not isinstance(node.target, ast.Name) else ast.copy_location(
                ast.Pass(), node
            )  # fmt: skip
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        self.generic_visit(node)
        node.name = node.name or "__oc_error"
        seen = ast.Expr(call("caught", ast.Name(node.name, ast.Load())))
        node.body = [_locate(seen, node), *node.body]
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        f = node.func
        if isinstance(f, ast.Name) and f.id == "super" and not (node.args or node.keywords):
            # Bodies become functions, where super() does not know its method.
            node.args = [ast.Name("__class__", ast.Load()), ast.Name(self.owner, ast.Load())]
            _locate(node, node)
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> Any:
        self.generic_visit(node)
        if node.exc is not None:
            node.exc = _locate(call("raised", node.exc), node)
        return node

    def visit_Return(self, node: ast.Return) -> Any:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == RESULT:
            return node
        if node.value is not None and not isinstance(node.value, ast.Constant):
            at = node.value if hasattr(node.value, "lineno") else node
            node.value = _locate(call("given", node.value), at)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node  # its body runs while tracing, as Python

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        note_condition(node.test)
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        note_condition(node)
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> Any:
        note_condition(node.test)
        self.generic_visit(node)
        if is_constexpr(node.test) or runs_in_python(node):
            return node
        return self._place(rewrite_if(node, self._next(), self._shared(node)), node.test)

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        if runs_in_python(node) or (is_trace_time(node.iter) and not leaves_of(node)):
            return node
        return self._place(rewrite_for(node, self._next(), self._shared(node)), node.iter)

    def visit_While(self, node: ast.While) -> Any:
        note_condition(node.test)
        self.generic_visit(node)
        if runs_in_python(node):
            return node
        return self._place(rewrite_while(node, self._next(), self._shared(node)), node.test)

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in VALUES and isinstance(node.ctx, ast.Load):
            return _locate(call("builtin", node), node)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not node._fields:
            return node
        super().generic_visit(node)
        if isinstance(node, ast.expr):
            new = rewrite_expression(node, bool(self.shared))
            if new is not node:
                _locate(new, node)
            return new
        return node


def _locate(new: Any, old: Any) -> Any:
    """Place a new node where an old one begins, on one line: Python gives a call that spans lines
    the number of its last one."""
    new.lineno, new.col_offset = old.lineno, old.col_offset
    single = old.end_lineno == old.lineno
    new.end_lineno = old.lineno
    new.end_col_offset = old.end_col_offset if single else old.col_offset + 1
    _fill(new, (new.lineno, new.col_offset, new.end_lineno, new.end_col_offset))
    return new


def _fill(node: ast.AST, at: tuple[int, int, int | None, int | None]) -> None:
    """Give a place to what is new in a node: what has one is not looked into again."""
    for field in node._fields:
        value = getattr(node, field, None)
        for child in value if isinstance(value, list) else (value,):
            if not isinstance(child, ast.AST) or hasattr(child, "lineno"):
                continue
            if "lineno" in child._attributes:
                child.lineno, child.col_offset, child.end_lineno, child.end_col_offset = at  # type: ignore[attr-defined]
            if child._fields:
                _fill(child, at)


def _scopes(body: list[ast.stmt]) -> list[ast.stmt]:
    """The docstring and declarations at the start of a function, which stay first."""
    count = next((i for i, s in enumerate(body) if not _declares(s)), len(body))
    return body[:count]


def _rest(body: list[ast.stmt]) -> list[ast.stmt]:
    return body[len(_scopes(body)) :]


def _declare(fn: ast.FunctionDef, names: list[str]) -> None:
    """Make a function say that variables which functions in it assign are not its own."""
    own = {*assigned(fn.body), *parameters(fn)}
    declared = {n for s in fn.body if isinstance(s, ast.Nonlocal) for n in s.names}
    free = [n for n in names if n not in own and n not in declared]
    if free:
        fn.body = [*_scopes(fn.body), ast.Nonlocal(free), *_rest(fn.body)]


def _declares(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Nonlocal) or (
        isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)
    )


def _is_ours(decorator: ast.expr) -> bool:
    f = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""
    return name in ("jit", "kernel")


def rewritten(fn: types.FunctionType) -> Callable[..., Any]:
    """`fn` with its control flow rewritten; it shares globals and closure cells with `fn`.

    Raises:
        LanguageError: the source is not available, or has a construct that is not accepted.
    """
    found = _cache.get(id(fn.__code__))
    if found is None:
        found = _cache[id(fn.__code__)] = (fn.__code__, _compile(fn))
        note_rewritten(found[1])
    code = found[1]
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    cells[RUNTIME] = types.CellType(generated)
    closure = tuple(cells[name] for name in code.co_freevars)
    new = types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
    new.__kwdefaults__ = fn.__kwdefaults__
    new.__qualname__ = fn.__qualname__
    return new


def _compile(fn: types.FunctionType) -> types.CodeType:
    tree, filename = function_tree(fn)
    kinds = check(tree, filename)
    tree = _mangled(tree, fn)
    if ast.With in kinds:
        tree = Elections().visit(tree)
    if ast.Match in kinds:
        tree = _Matches(tree).visit(tree)
    tree = _Rewriter(filename, fn.__name__).visit(tree)
    # locals() must be called in the frame whose variables it shows, so it cannot hide in a helper.
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "__oc_locals":
            node.id = "locals"
    free = dict.fromkeys([*fn.__code__.co_freevars, RUNTIME])
    # Under its own name the function would be a variable of the factory, which recursion captures.
    tree.name = "__oc_function"
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
    code = next(
        c for c in outer.co_consts if isinstance(c, types.CodeType) and c.co_name == tree.name
    )
    named: dict[str, Any] = {"co_name": fn.__code__.co_name}
    if hasattr(code, "co_qualname"):
        named["co_qualname"] = fn.__qualname__
    return code.replace(**named)


def _mangled(tree: ast.FunctionDef, fn: types.FunctionType) -> ast.FunctionDef:
    """Private names (`self.__x`) as the class around the function spells them."""
    owner = fn.__qualname__.rpartition(".")[0].rpartition(".")[2].lstrip("_")
    if not owner or owner.endswith("<locals>"):
        return tree
    for node in ast.walk(tree):
        for field in ("attr", "id", "arg", "name"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                setattr(node, field, f"_{owner}{name}")
    return tree


class _Matches(ast.NodeTransformer):
    """Replaces `match` first, so that everything else sees `if`."""

    def __init__(self, root: ast.FunctionDef) -> None:
        self.root = root
        self.count = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        if node is self.root or not any(map(_is_ours, node.decorator_list)):
            self.generic_visit(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    def visit_Match(self, node: ast.Match) -> Any:
        self.generic_visit(node)
        return lower_match(node, self._next)

    def _next(self) -> int:
        self.count += 1
        return self.count
