# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Expressions whose parts Python would evaluate conditionally, and builtins that need a value.

`a if c else b`, `and`, `or`, `not`, chained comparisons, `in`; calls of range, min, max, any, all,
int, float and bool by their plain names.
"""

from __future__ import annotations

import ast
from typing import TypeGuard

from opencute.frontend.rewrite.scope import (
    RUNTIME,
    call,
    function,
    name_tuple,
    returning,
    target_tuple,
)

__all__ = ["BUILTINS", "VALUES", "note_condition", "rewrite_expression", "state_of"]

STATE = "__oc_state"
SETTER = "__oc_set_"

BUILTINS = frozenset({
    "range", "min", "max", "any", "all", "int", "float", "bool", "len", "enumerate", "zip", "next",
})  # fmt: skip
VALUES = frozenset({"min", "max", "any", "all"})
"""Of them, those that are right under another name too: ``g = max``, ``functools.reduce(max, xs)``.
The others are classes, which `isinstance` is asked about, or need nothing but their argument."""
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
    ast.Is: "is_", ast.IsNot: "is_not", ast.In: "in_", ast.NotIn: "not_in",
}  # fmt: skip


def _later(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def note_condition(test: ast.expr) -> None:
    """Note which operands of `and` and `or` are asked for nothing but their truth."""
    if isinstance(test, ast.BoolOp):
        logic = ast.Compare | ast.BoolOp
        test.oc_asked = [  # type: ignore[attr-defined]
            not (isinstance(x, logic) or _is_not(x)) for x in test.values
        ]
        for value in test.values:
            note_condition(value)
    elif _is_not(test):
        note_condition(test.operand)


def _is_not(node: ast.expr) -> TypeGuard[ast.UnaryOp]:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _logic(node: ast.BoolOp, state: bool) -> ast.Call:
    """`and_` or `or_`; in a condition objects are true or not, since values of one kind only can be
    joined."""
    name = "and_" if isinstance(node.op, ast.And) else "or_"
    new = _with_state(call(name, *map(_later, node.values)), state)
    asked = getattr(node, "oc_asked", [False] * len(node.values))
    new.args = [
        _later(call("decides", x) if ask else x) for ask, x in zip(asked, node.values, strict=True)
    ]
    return new


def rewrite_expression(node: ast.expr, state: bool = False) -> ast.expr:
    """The replacement of an expression whose parts are already rewritten.

    Args:
        node: the expression.
        state: the function has variables that expressions may assign; see `state_of`.
    """
    if isinstance(node, ast.IfExp):
        parts = node.test, _later(node.body), _later(node.orelse)
        return _with_state(call("ifexp", *parts), state)
    if isinstance(node, ast.BoolOp):
        return _logic(node, state)
    if _is_not(node):
        return call("not_", node.operand)
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return _with_state(_chain(node), state)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        found = call("contains", node.left, node.comparators[0])
        return found if isinstance(node.ops[0], ast.In) else call("not_", found)
    if isinstance(node, ast.Compare) and _by_parts(node):
        name = ast.Attribute(ast.Name(RUNTIME, ast.Load()), "compare", ast.Load())
        op = ast.Attribute(name, _COMPARE[type(node.ops[0])], ast.Load())
        return ast.Call(op, [node.left, node.comparators[0]], [])
    if isinstance(node, ast.NamedExpr) and state:
        return ast.Call(ast.Name(SETTER + node.target.id, ast.Load()), [node.value], [])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BUILTINS:
        node.func = call("builtin", node.func)
    return node


def _by_parts(node: ast.Compare) -> bool:
    """Whether a comparison may be one of tuples or lists, of a variable that is not bound, or of a
    flag with True or False by `is`."""
    sides = (node.left, node.comparators[0])
    if isinstance(node.ops[0], ast.Is | ast.IsNot):
        return True
    if any(isinstance(x, ast.Tuple | ast.List) for x in sides):
        return True
    return not any(isinstance(x, ast.Constant) and x.value is not None for x in sides)


def _chain(node: ast.Compare) -> ast.Call:
    links: list[ast.expr] = []
    for op, operand in zip(node.ops, node.comparators, strict=True):
        compare = ast.Attribute(
            ast.Attribute(ast.Name(RUNTIME, ast.Load()), "compare", ast.Load()),
            _COMPARE[type(op)],
            ast.Load(),
        )
        links.append(ast.Tuple([compare, _later(operand)], ast.Load()))
    return call("chain", node.left, *links)


def _with_state(new: ast.Call, state: bool) -> ast.Call:
    if state and any(isinstance(n, ast.Call) for a in new.args for n in ast.walk(a)):
        new.keywords.append(ast.keyword("state", ast.Name(STATE, ast.Load())))
    return new


def state_of(names: list[str], walrus: list[str]) -> list[ast.stmt]:
    """Statements at the start of a function whose expressions may assign variables::

    def __oc_get(): return x,
    def __oc_put(*v): nonlocal x; (x,) = v
    __oc_state = ('x',), __oc_get, __oc_put
    def __oc_set_x(*v): nonlocal x; (x,) = v; return x        # for (x := ...)
    """
    # A function sees a variable in its locals() only if it names it.
    see = ast.If(ast.Constant(False), [ast.Expr(ast.Name(n, ast.Load())) for n in names], [])
    state = ast.Tuple(
        [name_tuple(names), ast.Name("__oc_get", ast.Load()), ast.Name("__oc_put", ast.Load())],
        ast.Load(),
    )
    return [
        # Binds variables that nothing but expressions assign.
        ast.If(ast.Constant(False), [ast.Assign([target_tuple(names)], ast.Constant(None))], []),
        function("__oc_get", (), [see, returning(names)]),
        function("__oc_put", names, []),
        ast.Assign([ast.Name(STATE, ast.Store())], state),
        *(function(SETTER + n, [n], [ast.Return(ast.Name(n, ast.Load()))]) for n in walrus),
    ]
