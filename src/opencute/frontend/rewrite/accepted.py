# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The Python that compiled functions may contain, as one table."""

from __future__ import annotations

import ast

from opencute.base.errors import LanguageError
from opencute.base.location import Location

__all__ = ["REFUSED", "check"]

REFUSED: dict[type[ast.AST], str] = {
    ast.AsyncFunctionDef: "coroutines do not exist on a GPU",
    ast.AsyncFor: "coroutines do not exist on a GPU",
    ast.AsyncWith: "coroutines do not exist on a GPU",
    ast.Await: "coroutines do not exist on a GPU",
    ast.Global: "a compiled function cannot assign to a global variable",
}
"""Statements and expressions that no compiled function may contain, and why."""


def check(tree: ast.FunctionDef, filename: str) -> set[type[ast.AST]]:
    """Refuse what cannot mean anything, on its line.

    Returns:
        The kinds of nodes that there are.

    Raises:
        LanguageError: with the position of the construct.
    """
    kinds: set[type[ast.AST]] = set()
    for node in ast.walk(tree):
        kinds.add(type(node))
        reason = REFUSED.get(type(node))
        if reason is not None:
            loc = Location(
                filename,
                getattr(node, "lineno", tree.lineno),
                getattr(node, "col_offset", 0),
                function=tree.name,
            )
            raise LanguageError(
                f"{type(node).__name__} is not accepted: {reason}", code="OC1122", loc=loc
            )
    return kinds
