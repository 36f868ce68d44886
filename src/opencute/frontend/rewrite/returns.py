# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Early returns: what follows a branch that returns moves into the other branch.

Before::                        After::

    if c:                           if c:
        return a                        __oc_ret = a
    x = f()                         else:
    return x                            x = f()
                                        __oc_ret = x
                                    return __oc_ret

Branches under `const_expr` at the top level of a function stay as they are: Python runs them.
"""

from __future__ import annotations

import ast

from opencute.frontend.rewrite.scope import contains, is_constexpr

__all__ = ["RESULT", "normalise"]

RESULT = "__ocr_result"


def _needs(stmt: ast.stmt, nested: bool) -> bool:
    if not isinstance(stmt, ast.If) or not contains([stmt], (ast.Return,), loops=True):
        return False
    return nested or not is_constexpr(stmt.test) or _dynamic_inside(stmt)


def _dynamic_inside(stmt: ast.If) -> bool:
    """Whether a plain branch with a return stands inside of a const_expr one."""
    for child in [*stmt.body, *stmt.orelse]:
        if isinstance(child, ast.If) and _needs(child, False):
            return True
    return False


def normalise(body: list[ast.stmt], *, nested: bool = False) -> list[ast.stmt]:
    """A function's statements with returns only at the end of the function."""
    for i, stmt in enumerate(body):
        if isinstance(stmt, ast.Return):
            if not nested:
                return body[: i + 1]
            value = stmt.value or ast.Constant(None)
            assign = ast.Assign([ast.Name(RESULT, ast.Store())], value)
            return [*body[:i], ast.copy_location(assign, stmt)]
        if _needs(stmt, nested):
            assert isinstance(stmt, ast.If)
            rest = body[i + 1 :]
            if not nested and not _ends(rest):
                rest = [*rest, ast.Return(ast.Constant(None))]
            new = ast.If(
                stmt.test,
                normalise([*stmt.body, *([] if _ends(stmt.body) else rest)], nested=True),
                normalise([*stmt.orelse, *([] if _ends(stmt.orelse) else rest)], nested=True),
            )
            out = [*body[:i], ast.copy_location(new, stmt)]
            if not nested:
                ret = ast.Return(ast.Name(RESULT, ast.Load()))
                out.append(ast.copy_location(ret, stmt))
            return out
    return body


def _ends(body: list[ast.stmt]) -> bool:
    """Whether every path through statements returns."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.Return | ast.Raise):
        return True
    return isinstance(last, ast.If) and _ends(last.body) and _ends(last.orelse)
