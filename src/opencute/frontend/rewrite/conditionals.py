# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`if` statements. The last operand are objects that the branches may change, such as lists.

Before::                        After::

    if c:                           def __oc_then(*v): nonlocal x; (x,) = v; x = f(); return x
        x = f()                     def __oc_else(*v): nonlocal x; (x,) = v; return x
                                    (x,) = __oc__.if_(c, __oc_then, __oc_else, ('x',), (x,), ())
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from opencute.frontend.rewrite.leaving import guard_of
from opencute.frontend.rewrite.scope import (
    assigned,
    call,
    function,
    name_tuple,
    reached,
    returning,
    scope_values,
    target_tuple,
)

__all__ = ["rewrite_if"]


def rewrite_if(node: ast.If, number: int, shared: Sequence[str] = ()) -> list[ast.stmt]:
    """The statements that replace an `if` whose parts are already rewritten.

    Args:
        node: the statement.
        number: makes the names of new functions unique.
        shared: variables that functions called inside of it may assign.
    """
    flags, bound = guard_of(node)
    names = list(dict.fromkeys([*assigned([*node.body, *node.orelse]), *shared, *bound]))
    then, orelse = f"__oc_then_{number}", f"__oc_else_{number}"
    run = call(
        "if_",
        node.test,
        ast.Name(then, ast.Load()),
        ast.Name(orelse, ast.Load()),
        name_tuple(names),
        scope_values(names),
        reached([*node.body, *node.orelse], names),
    )
    if flags:
        run.keywords.append(ast.keyword("guard", name_tuple(flags)))
    last: ast.stmt = ast.Assign([target_tuple(names)], run) if names else ast.Expr(run)
    return [
        function(then, names, [*node.body, returning(names)]),
        function(orelse, names, [*node.orelse, returning(names)]),
        last,
    ]
