# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to do about a run-time value that Python needed while tracing, by the code that needed it.

In: the innermost frame of the user's. Out: a hint, or None where there is nothing to add::

    y = [x for x in range(4) if t[x] > 0]       # "a comprehension runs while tracing: ..."
"""

from __future__ import annotations

import dis
import inspect
import linecache
import types

__all__ = ["REWRITTEN", "hint_for", "note_rewritten"]

REWRITTEN: set[types.CodeType] = set()
"""The code of functions with rewritten control flow."""

_NAMES = {
    "if": "an 'if'", "elif": "an 'elif'", "while": "a 'while'", "for": "a 'for'", "in": "an 'in'",
    "expression": "an expression",
}  # fmt: skip
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def note_rewritten(code: types.CodeType) -> None:
    """Remember a rewritten function's code and that of the functions in it; those of a class in it
    stay as they are."""
    REWRITTEN.add(code)
    for const in code.co_consts:
        if isinstance(const, types.CodeType) and const.co_flags & inspect.CO_OPTIMIZED:
            note_rewritten(const)


def hint_for(found: str, tb: types.TracebackType) -> str | None:
    """A hint for a use of a run-time value as a Python bool, index, number or range.

    Args:
        found: which of them.
        tb: the traceback's entry of the user's innermost frame.
    """
    code = tb.tb_frame.f_code
    line = linecache.getline(code.co_filename, tb.tb_lineno).partition("#")[0].strip()
    if code.co_flags & inspect.CO_GENERATOR and code.co_name not in _COMPREHENSIONS:
        return (
            f"the generator {code.co_name!r} runs while tracing: what surrounds its 'yield' must "
            "be decided then. Write the run-time loop or branch where the items are used and call "
            "a function for each, or give it a function to call for each item (both with "
            "@cute.jit); or yield under range_constexpr() and const_expr()"
        )
    if found == "a range":
        if code.co_name in _COMPREHENSIONS or _is_comprehension(line):
            return (
                "a comprehension makes a list of a length known while tracing: use a 'for' "
                "statement, with a register tensor (cute.make_rmem_tensor) or a running value"
            )
        return None
    if found == "an index":
        if line.startswith("for ") and "range(" in line and code not in REWRITTEN:
            return f"decorate {code.co_name!r} with @cute.jit: it has {_construct(line, tb)}"
        return (
            "Python's lists and tuples are indexed while tracing: loop over range_constexpr(), or "
            "use a register tensor (cute.make_rmem_tensor)"
        )
    if found == "float()":
        return (
            "Python's math functions and NumPy's arrays need numbers: use functions of cute.math, "
            "and a register tensor (cute.make_rmem_tensor)"
        )
    if found != "bool()":
        return None
    if code.co_name in _COMPREHENSIONS or _is_comprehension(line):
        return (
            "a comprehension runs while tracing and cannot filter by run-time values: use a 'for' "
            "statement, or select with '... if ... else ...'"
        )
    if code not in REWRITTEN:
        return f"decorate {code.co_name!r} with @cute.jit: it has {_construct(line, tb)}"
    if line.startswith("assert"):
        return (
            "an assert is checked while tracing: assert what is known then, or report with "
            "'if not ...: cute.printf(...)'"
        )
    if _is_in(tb):
        return "'in' of this container is decided while tracing: compare with each item"
    return None


def _is_comprehension(line: str) -> bool:
    """Whether a line looks like one; from Python 3.12 on they have no frame of their own."""
    return " for " in line and line.endswith(("]", "}", ")"))


def _is_in(tb: types.TracebackType) -> bool:
    at = tb.tb_lasti
    return any(
        i.opname == "CONTAINS_OP" for i in dis.get_instructions(tb.tb_frame.f_code)
        if i.offset == at
    )  # fmt: skip


def _construct(line: str, tb: types.TracebackType) -> str:
    word = line.split(None, 1)[0] if line else ""
    if word not in ("if", "elif", "while", "for"):
        word = "in" if _is_in(tb) else "expression"
    return f"{_NAMES[word]} that depends on a run-time value"
