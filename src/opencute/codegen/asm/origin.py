# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Assembly that a user wrote: which there is in a module, and which a line of PTX came from.

In: a module, before it is lowered. `number_assembly` gives each piece a number, which codegen
writes into the PTX as a comment; `place` finds the user's line for an error of ptxas::

    // begin inline asm
    // opencute.asm 0
    mov.b33 %r1, %r2;          <- "line 31; error: ..." belongs to piece 0
    // end inline asm
"""

from __future__ import annotations

import re

from opencute.base.errors import ToolchainError
from opencute.base.location import Location
from opencute.codegen.asm.ops import MARK
from opencute.ir.attributes import IntAttr, StringAttr
from opencute.ir.core import Op
from opencute.ir.types import I64

__all__ = ["number_assembly", "piece_at", "place"]

_COMMENT = re.compile(rf"// {re.escape(MARK)} (\d+)\s*\Z")
_LINE = re.compile(r"line (\d+)[;:]?\s*(.*)")


def number_assembly(module: Op) -> list[Op]:
    """The user's assembly in a module, each piece with its number as an attribute.

    Pieces with one text have one number, so that equal ones can be merged; the first stands for
    all.
    """
    found: list[Op] = []
    numbers: dict[str, int] = {}
    for op in module.walk():
        if op.name == "llvm.inline_asm":
            text = f"{op.attributes['asm_string']}{op.attributes['constraints']}"
            number = numbers.setdefault(text, len(found))
            if number == len(found):
                found.append(op)
            op.attributes[MARK] = IntAttr(number, I64)
    return found


def piece_at(ptx: str, line: int) -> tuple[int, int] | None:
    """The piece that a line of PTX (from 1) is in, and its line there (from 1)."""
    lines = ptx.splitlines()
    for n in range(min(line, len(lines)) - 1, -1, -1):
        text = lines[n].strip()
        if text == "// end inline asm" and n != line - 1:
            return None
        found = _COMMENT.match(text)
        if found:
            return int(found[1]), line - 1 - n
    return None


def place(error: ToolchainError, ptx: str, pieces: list[Op]) -> ToolchainError:
    """An error of ptxas at the user's line, if it is about a user's assembly."""
    number = _LINE.search(error.message)
    where = piece_at(ptx, int(number[1])) if number else None
    if number is None or where is None or where[0] >= len(pieces):
        return error
    op = pieces[where[0]]
    text = op.attributes["asm_string"]
    assert isinstance(text, StringAttr)
    lines = text.value.strip().splitlines()
    shown = lines[where[1] - 1].strip() if 0 < where[1] <= len(lines) else text.value.strip()
    loc: Location | None = op.loc or error.loc
    return ToolchainError(
        f"inline PTX: ptxas says {number[2]}", code="OC1566", loc=loc, found=shown
    )
