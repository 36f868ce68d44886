# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which piece of a user's assembly a line of PTX came from."""

from __future__ import annotations

import pytest

from opencute.base.errors import ToolchainError
from opencute.base.location import Location
from opencute.codegen.asm.origin import number_assembly, piece_at, place
from opencute.dialects import builtin, gpu, llvm
from opencute.ir.builder import at_loc, insert_at
from opencute.ir.core import Op

pytestmark = pytest.mark.t0

_PTX = """.visible .entry k()
{
	// begin inline asm
	// opencute.asm 1
	mov.b32 %r1, 0;
	mov.b33 %r2, 0;
	// end inline asm
	add.s32 %r3, %r1, %r2;
	// begin inline asm
	bar.sync 0;
	// end inline asm
}
"""


def _module() -> Op:
    module, top = builtin.module()
    with insert_at(top):
        _, kernels = gpu.gpu_module()
    with insert_at(kernels):
        _, entry = gpu.gpu_func("k", [])
    with insert_at(entry):
        for line, text in (
            (3, "bar.sync 0;"),
            (4, "mov.b32 a, 0;\nmov.b33 b, 0;"),
            (5, "bar.sync 0;"),
        ):
            with at_loc(Location("k.py", line)):
                llvm.inline_asm(text, "", (), ())
        gpu.return_()
    return module


def test_equal_texts_have_one_number() -> None:
    module = _module()
    pieces = number_assembly(module)
    assert [p.loc.line for p in pieces if p.loc] == [3, 4]
    numbers = [str(op.attributes["opencute.asm"]) for op in module.walk() if "asm" in op.name]
    assert numbers == ["0 : i64", "1 : i64", "0 : i64"]


@pytest.mark.parametrize(
    ("line", "where"), [(5, (1, 1)), (6, (1, 2)), (8, None), (10, None), (1, None), (99, None)]
)
def test_lines_are_found(line: int, where: tuple[int, int] | None) -> None:
    assert piece_at(_PTX, line) == where


def test_an_error_moves_to_the_users_line() -> None:
    pieces = number_assembly(_module())
    error = ToolchainError("ptxas rejects: line 6; error : Unknown modifier '.b33'", code="OC1531")
    placed = place(error, _PTX, pieces)
    assert placed.code == "OC1566" and placed.loc == Location("k.py", 4)
    assert placed.found == "mov.b33 b, 0;" and "Unknown modifier" in placed.message
    other = ToolchainError("ptxas rejects: line 8; error : no", code="OC1531")
    assert place(other, _PTX, pieces) is other
