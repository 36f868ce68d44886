# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`for` and `while` statements. The last operands are objects that the body may change, and the
flags that end a `for`.

Before::                        After::

    for i in range(n):              def __oc_body(__oc_item, *v):
        s += f(i)                       nonlocal s, i
                                        s, i = v; i = __oc_item; s += f(i); return s, i
                                    s, i = __oc__.for_(range(n), __oc_body, names, (s, i), (), ())

    while s < n:                    def __oc_cond(*v): nonlocal s; (s,) = v; return s < n, (s,)
        s = g(s)                    def __oc_body(*v): nonlocal s; (s,) = v; s = g(s); return s
                                    (s,) = __oc__.while_(__oc_cond, __oc_body, ('s',), (s,), ())
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from opencute.frontend.rewrite.leaving import leaves_of, next_turn, static_leaves
from opencute.frontend.rewrite.scope import (
    assigned,
    call,
    function,
    is_constexpr,
    name_tuple,
    reached,
    returning,
    scope_values,
    target_tuple,
)

__all__ = ["is_trace_time", "rewrite_for", "rewrite_while"]


def is_trace_time(iterable: ast.expr) -> bool:
    """Whether a loop runs over `range_constexpr(...)` and so stays Python's."""
    if not isinstance(iterable, ast.Call):
        return False
    f = iterable.func
    name = f.id if isinstance(f, ast.Name) else f.attr if isinstance(f, ast.Attribute) else ""
    return name == "range_constexpr"


def _store(names: list[str], run: ast.Call) -> ast.stmt:
    return ast.Assign([target_tuple(names)], run) if names else ast.Expr(run)


def rewrite_for(node: ast.For, number: int, shared: Sequence[str] = ()) -> list[ast.stmt]:
    """The statements that replace a `for` whose parts are already rewritten; see `rewrite_if`."""
    own = assigned([node.target])
    inner = dict.fromkeys([*assigned(node.body), *shared])
    names = [n for n in inner if n not in own] + own
    body = f"__oc_body_{number}"
    take = ast.Assign([node.target], ast.Name("__oc_item", ast.Load()))
    run = call(
        "for_",
        node.iter,
        ast.Name(body, ast.Load()),
        name_tuple(names),
        scope_values(names),
        reached(node.body, names),
        name_tuple(leaves_of(node)),
    )
    return [
        function(body, names, [take, *node.body, returning(names)], ["__oc_item"]),
        _store(names, run),
        *node.orelse,
    ]


def rewrite_while(node: ast.While, number: int, shared: Sequence[str] = ()) -> list[ast.stmt]:
    """The statements that replace a `while` whose parts are already rewritten; see `rewrite_if`."""
    names = list(dict.fromkeys([*assigned([node.test, *node.body]), *shared]))
    cond, body = f"__oc_cond_{number}", f"__oc_body_{number}"
    turn, leaves = next_turn(node), static_leaves(node)
    if turn is not None:
        turn.targets = [target_tuple(names)]
        functions: list[ast.expr] = [ast.Name(cond, ast.Load()), ast.Name(body, ast.Load())]
        turn.value = call(
            "next_turn", *functions, name_tuple(names), scope_values(names), name_tuple(leaves)
        )
        ast.fix_missing_locations(ast.copy_location(turn, node))
    static = bool(leaves) or is_constexpr(node.test)
    test = ast.Return(ast.Tuple([node.test, scope_values(names)], ast.Load()))
    run = call(
        "static_while" if static else "while_",
        ast.Name(cond, ast.Load()),
        ast.Name(body, ast.Load()),
        name_tuple(names),
        scope_values(names),
        reached([node.test, *node.body], names),
        *([name_tuple(leaves)] if static else []),
    )
    return [
        function(cond, names, [test]),
        function(body, names, [*node.body, returning(names)]),
        _store(names, run),
        *node.orelse,
    ]
