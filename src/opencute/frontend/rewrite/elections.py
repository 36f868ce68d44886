# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""``with elect_one():`` is an `if`, so that what its body assigns is joined as an `if` joins it.

Before::                            After::

    with cute.arch.elect_one():         if __oc__.elected(cute.arch.elect_one()):
        x = f()                             x = f()
"""

from __future__ import annotations

import ast
from typing import Any

from opencute.frontend.rewrite.scope import call

__all__ = ["Elections"]


class Elections(ast.NodeTransformer):
    """Runs before everything else, so that leaving such a block is leaving an `if`."""

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        at = next((i for i, item in enumerate(node.items) if _elects(item)), None)
        if at is None:
            return node
        before, item, after = node.items[:at], node.items[at], node.items[at + 1 :]
        body = node.body
        if after:
            body = [ast.copy_location(self.visit_With(ast.With(after, body)), node)]
        test = ast.copy_location(call("elected", item.context_expr), item.context_expr)
        new: ast.stmt = ast.copy_location(ast.If(test, body, []), node)
        if before:
            new = ast.copy_location(ast.With(before, [new]), node)
        return ast.fix_missing_locations(new)


def _elects(item: ast.withitem) -> bool:
    expr = item.context_expr
    if item.optional_vars is not None or not isinstance(expr, ast.Call):
        return False
    f = expr.func
    name = f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""
    return name == "elect_one"
