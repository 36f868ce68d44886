# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Expressions whose parts Python would evaluate conditionally, and builtins that need a value.

`a if c else b`, `and`, `or`, `not`, chained comparisons, `in`; calls of range, min, max, any, all,
int, float and bool by their plain names.
"""

from __future__ import annotations

import ast

from opencute.frontend.rewrite.scope import RUNTIME, call

__all__ = ["BUILTINS", "rewrite_expression"]

BUILTINS = frozenset({"range", "min", "max", "any", "all", "int", "float", "bool"})
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
    ast.Is: "is_", ast.IsNot: "is_not", ast.In: "in_", ast.NotIn: "not_in",
}  # fmt: skip


def _later(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def rewrite_expression(node: ast.expr) -> ast.expr:
    """The replacement of an expression whose parts are already rewritten."""
    if isinstance(node, ast.IfExp):
        return call("ifexp", node.test, _later(node.body), _later(node.orelse))
    if isinstance(node, ast.BoolOp):
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return call(name, *map(_later, node.values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return call("not_", node.operand)
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        links: list[ast.expr] = []
        for op, operand in zip(node.ops, node.comparators, strict=True):
            compare = ast.Attribute(
                ast.Attribute(ast.Name(RUNTIME, ast.Load()), "compare", ast.Load()),
                _COMPARE[type(op)],
                ast.Load(),
            )
            links.append(ast.Tuple([compare, _later(operand)], ast.Load()))
        return call("chain", node.left, *links)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        found = call("contains", node.left, node.comparators[0])
        return found if isinstance(node.ops[0], ast.In) else call("not_", found)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BUILTINS:
        node.func = call("builtin", node.func)
    return node
