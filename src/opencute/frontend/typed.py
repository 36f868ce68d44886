# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The source of what was typed at Python's prompt, or given with ``python -c``.

Before Python 3.13 the prompt keeps no text, but readline keeps a history of the lines. A definition
is found there by its shape, and taken if compiling it gives the very code of the function.

In: a code object. Out: the lines of its definition with their decorators, or None.
"""

from __future__ import annotations

import ast
import os
import stat
import sys
import types
from collections.abc import Iterator

__all__ = ["typed_lines"]


def typed_lines(code: types.CodeType) -> list[str] | None:
    """The lines of a definition that no file holds, with its decorators.

    Args:
        code: of the function.
    """
    for text in _texts(code.co_filename):
        found = _definition(text, code)
        if found is not None:
            return found
    return None


def _texts(filename: str) -> Iterator[str]:
    if filename == "<string>":
        words = sys.orig_argv
        if "-c" in words[:-1]:
            yield words[words.index("-c") + 1]
    elif filename == "<stdin>":
        if sys.stdin is not None and not sys.stdin.isatty():
            yield from _standard_input()
        yield from _blocks(_history())


def _standard_input() -> Iterator[str]:
    """Standard input again, if it is a file."""
    try:
        size = os.fstat(0)
        if stat.S_ISREG(size.st_mode):
            yield os.pread(0, size.st_size, 0).decode()
    except (OSError, UnicodeDecodeError):
        return


def _history() -> list[str]:
    """The lines typed so far, the last one last."""
    readline = sys.modules.get("readline")  # the prompt has imported it, where there is one
    if readline is None:
        return []
    count: int = readline.get_current_history_length()
    return [readline.get_history_item(i) or "" for i in range(1, count + 1)]


def _blocks(lines: list[str]) -> Iterator[str]:
    """Statements that begin with a decorator or a definition, the last ones first."""
    end = len(lines)
    for start in reversed(range(len(lines))):
        line = lines[start]
        if line.startswith(("def ", "class ")):
            yield from _with_decorators(lines, start, end)
        if line and not line[0].isspace():
            end = start


def _with_decorators(lines: list[str], start: int, end: int) -> Iterator[str]:
    while start and lines[start - 1].startswith("@"):
        start -= 1
    yield "\n".join(lines[start:end]) + "\n"


def _definition(text: str, code: types.CodeType) -> list[str] | None:
    try:
        tree = ast.parse(text)
        whole = compile(tree, code.co_filename, "exec")
    except (SyntaxError, ValueError):
        return None
    same = [c for c in _codes(whole) if _same(c, code)]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if any(c.co_firstlineno == first for c in same):
                return text.splitlines(keepends=True)[first - 1 : node.end_lineno]
    return None


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from _codes(const)


def _same(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether two code objects do the same, wherever they were written."""
    plain = all(
        getattr(a, n) == getattr(b, n)
        for n in ("co_name", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars")
    )
    if not plain or len(a.co_consts) != len(b.co_consts):
        return False
    return all(
        _same(x, y)
        if isinstance(x, types.CodeType) and isinstance(y, types.CodeType)
        else type(x) is type(y) and repr(x) == repr(y)
        for x, y in zip(a.co_consts, b.co_consts, strict=True)
    )
