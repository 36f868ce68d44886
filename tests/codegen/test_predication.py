# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Masked accesses are instructions with a guard, in every width; other branches stay branches."""

from __future__ import annotations

import pytest

from codegen.compiling import assemble, to_ptx
from codegen.samples import kernel_module, when
from opencute.dialects import arith, cute, ptx
from opencute.dialects.cute import LayoutAttr, PtrType, Tile
from opencute.ir.core import Op, Value
from opencute.ir.types import BF16, F16, F32, F64, I1, I8, I32, I64, Type

pytestmark = pytest.mark.t1


def masked(element: Type, n: int, space: str = "gmem") -> Op:
    """Load and store rows of n elements behind one predicate each, through a fragment."""
    pointer = PtrType(element, "gmem", 16)
    tile = LayoutAttr((n, 2), (1, n))

    def body(a: Value, c: Value) -> None:
        tid = ptx.sreg("tid.x")
        pred, frag = cute.alloca(I1, 2), cute.alloca(element, 2 * n)
        for i in range(2):
            at = arith.constant(i, I32)
            cute.store(arith.cmpi("slt", at, tid), cute.ptr_add(pred, at, 1))
        guard = Tile(pred, LayoutAttr(2, 1))
        offset = arith.binary("muli", tid, arith.constant(2 * n, I32))
        cute.copy(
            "universal_copy", 0, Tile(cute.ptr_add(a, offset, 16), tile), Tile(frag, tile), guard
        )
        cute.copy(
            "universal_copy", 0, Tile(frag, tile), Tile(cute.ptr_add(c, offset, 16), tile), guard
        )

    return kernel_module("masked", (pointer, pointer), body, 32)


@pytest.mark.parametrize(
    ("element", "n", "suffix"),
    [
        (I8, 1, ".b8"), (F16, 1, ".b16"), (BF16, 2, ".b32"), (F32, 1, ".b32"), (F32, 2, ".v2.b32"),
        (F64, 1, ".b64"), (I64, 1, ".b64"), (F32, 4, ".v4.b32"), (F16, 8, ".v4.b32"),
    ],
    ids=str,
)  # fmt: skip
def test_widths(element: Type, n: int, suffix: str) -> None:
    code = to_ptx(masked(element, n))
    guarded = [x.strip() for x in code.ptx.splitlines() if x.strip().startswith("@%p")]
    assert sum(f"ld.global{suffix} " in x for x in guarded) == 2
    assert sum(f"st.global{suffix} " in x for x in guarded) == 2
    # One element per predicate: there is a wide version too.
    assert ("bra" in code.ptx) == (n == 1)


def test_they_assemble_without_local_memory() -> None:
    for element, n in ((I8, 1), (F16, 8), (F64, 1)):
        assert assemble(masked(element, n)).report.functions[0].stack == 0


def test_other_branches_stay() -> None:
    pointer = PtrType(F32, "gmem", 4)

    def body(a: Value, c: Value) -> None:
        tid = ptx.sreg("tid.x")
        small = arith.cmpi("slt", tid, arith.constant(5, I32))
        when(small, lambda: cute.store(arith.negf(cute.load(a)), c) and None)

    code = to_ptx(kernel_module("branch", (pointer, pointer), body, 32))
    assert "asm" not in code.llvm_ir and "br i1" in code.llvm_ir
