# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products that repeat as machine code: fewer instructions, and none that ptxas serialises."""

from __future__ import annotations

import pytest

from codegen.compiling import assemble, to_ptx
from codegen.hopper.test_wgmma import const, kernel, loop, product, store
from opencute.arch.wgmma import wgmma_atom
from opencute.codegen.sass import read_sass
from opencute.dialects import arith, cute
from opencute.dialects.cute import LayoutAttr
from opencute.dialects.hopper import wgmma
from opencute.ir.core import Op, Value
from opencute.ir.types import F32, I1, VectorType

pytestmark = pytest.mark.t1

WHOLE = "HGMMA.64x64x16"  # other ones only end a group
ATOM = wgmma_atom("wgmma.m64n64k16.f32.f16.f16.ss")


def pipeline(before: bool) -> Op:
    """Four products, if wanted, and a main loop of four."""

    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d = cute.alloca(F32, 32)

        def group(a: Value, b: Value) -> None:
            wgmma.fence()
            product(ATOM, d, a, b, const(1, I1), 4)
            wgmma.commit()

        zeros = arith.constant(0.0, VectorType(32, F32))
        cute.tile_store(zeros, d, LayoutAttr(32, 1))
        if before:
            # Of other operands: with those of the main loop they would stay side by side.
            group(*(arith.binary("addi", x, const(1024, x.type)) for x in (a, b)))
        loop(n, lambda _: (group(a, b), wgmma.wait(1)))
        wgmma.wait(0)
        store(out, d, 32)

    return kernel(body)


def test_a_product_that_repeats_is_one_instruction_in_a_loop():
    alone, both = (assemble(pipeline(before)) for before in (False, True))
    for code, count in ((alone, 4), (both, 5)):
        assert code.ptx.count("wgmma.mma_async") == count
        # Where nothing is serialised, ptxas may say that it has put a fence itself.
        assert all("C7519" in line for line in code.report.diagnostics)
        assert all(f.stack == f.spill_stores == 0 for f in code.report.functions)
    # ptxas copies the main loop of four as often as it likes, but not the other one.
    assert [read_sass(code.cubin).count(WHOLE) % 4 for code in (alone, both)] == [0, 1]


def test_large_structures_are_written_once():
    """An accumulator's 32 members are taken out of a structure: its members are listed once."""
    ir = to_ptx(pipeline(False)).llvm_ir
    listed = "{ " + ", ".join(["float"] * 32) + " }"
    assert ir.count(listed) == 1
    assert ir.count("extractvalue %s0 ") >= 32
