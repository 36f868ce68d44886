# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A function's source as a syntax tree with the line numbers of its file."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable
from typing import Any

from opencute.base.errors import LanguageError
from opencute.base.location import Location
from opencute.frontend.typed import typed_lines

__all__ = ["function_tree"]


def _location(fn: Callable[..., Any]) -> Location:
    code = fn.__code__
    return Location(code.co_filename, code.co_firstlineno, function=fn.__name__)


def _parameters(node: ast.FunctionDef) -> list[str]:
    """The names of parameters in the order of a code object's variables."""
    args = node.args
    plain = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return plain + [a.arg for a in (args.vararg, args.kwarg) if a is not None]


def _fits(node: ast.FunctionDef, code: types.CodeType) -> bool:
    """Whether a definition is that of a code object, by its name and parameters."""
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    count = code.co_argcount + code.co_kwonlyargcount + stars
    read, run = [node.name, *_parameters(node)], [code.co_name, *code.co_varnames[:count]]
    return len(read) == len(run) and all(
        a == b or (a.startswith("__") and b.endswith(a)) for a, b in zip(read, run, strict=True)
    )


def function_tree(fn: Callable[..., Any]) -> tuple[ast.FunctionDef, str]:
    """The definition of a function, without decorators, and its file name.

    Raises:
        LanguageError: the source cannot be found, or the function is a lambda or coroutine.
    """
    try:
        lines, first = inspect.getsourcelines(fn.__code__)  # not of what fn wraps
        filename = inspect.getsourcefile(fn.__code__) or fn.__code__.co_filename
    except (OSError, TypeError):
        typed = typed_lines(fn.__code__)
        lines, first, filename = typed or [], fn.__code__.co_firstlineno, fn.__code__.co_filename
    if not lines:
        raise LanguageError(
            f"the source of {fn.__name__!r} cannot be read",
            code="OC1120",
            loc=_location(fn),
            hint="define it in a file, a notebook cell or at a prompt, put its text into "
            "linecache.cache under the file name that compile() gets, or decorate with "
            "@cute.jit(preprocess=False) if it has no run-time control flow",
        )
    text = "".join(lines)
    indent = len(lines[0]) - len(lines[0].lstrip())
    tree = ast.parse(textwrap.dedent(text))
    node = tree.body[0] if tree.body else None
    if not isinstance(node, ast.FunctionDef):
        raise LanguageError(
            f"{fn.__name__!r} is not an ordinary function definition", code="OC1121",
            loc=_location(fn),
            hint="use 'def'; lambdas can be passed as arguments",
        )  # fmt: skip
    if not _fits(node, fn.__code__):
        raise LanguageError(
            f"the source of {fn.__name__!r} has changed since it was run", code="OC1120",
            loc=_location(fn), found=f"def {node.name}({', '.join(_parameters(node))})",
            hint="import or run the file again",
        )  # fmt: skip
    for child in ast.walk(node):
        if "col_offset" in child._attributes:
            at: Any = child
            at.lineno += first - 1
            at.end_lineno += first - 1
            at.col_offset += indent
            at.end_col_offset += indent
    node.decorator_list = []
    return node, filename
