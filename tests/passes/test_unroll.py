# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which loops are unrolled, and what comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from codegen.samples import kernel_module, matvec_fragments
from opencute.base.errors import CompileError
from opencute.dialects import arith, cute, scf
from opencute.ir.attributes import UNIT, IntAttr
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op, Value
from opencute.ir.types import I32
from opencute.passes import unroll as unroll_module
from opencute.passes.simplify import simplify
from opencute.passes.unroll import unroll
from passes.simulated import apply, run

pytestmark = pytest.mark.t0

OUT = cute.PtrType(I32, "gmem", 4)


def loops(module: Op) -> int:
    return sum(op.name == "scf.for" for op in module.walk())


def sum_loop(bounds: tuple[int | None, int | None, int], attributes: dict[str, Any]) -> Op:
    """``for i in range(...): total = total * 3 + i``; a bound of None is an argument."""

    def body(out: Value, n: Value) -> None:
        region, block = new_block([I32, I32])
        with insert_at(block):
            i, total = block.args
            total = arith.binary("muli", total, arith.constant(3, I32))
            scf.yield_([arith.binary("addi", total, i)])
        values = [n if b is None else arith.constant(b, I32) for b in bounds]
        loop = scf.for_(*values, [arith.constant(1, I32)], region)
        loop.attributes.update(attributes)
        cute.store(loop.results[0], out)

    return kernel_module("k", (OUT, I32), body, 1)


def result(module: Op, n: int = 0) -> int:
    return int(run(module, 1, 1, [np.zeros(1, np.int32), n])[0][0])


def test_loops_over_fragments_disappear() -> None:
    module = matvec_fragments(4)
    assert loops(module) == 2
    assert loops(apply(module, simplify, unroll)) == 0


def test_other_loops_stay() -> None:
    assert loops(apply(sum_loop((0, 8, 1), {}), simplify, unroll)) == 1


@pytest.mark.parametrize("bounds", [(0, 8, 1), (3, 20, 4), (5, 5, 1), (9, 2, 3), (-7, 6, 5)])
def test_full_unrolling(bounds: tuple[int, int, int]) -> None:
    module = sum_loop(bounds, {"cute.unroll_full": UNIT})
    want = result(module)
    apply(module, simplify, unroll)
    assert loops(module) == 0 and result(module) == want


@pytest.mark.parametrize("factor", [2, 3, 8])
@pytest.mark.parametrize("bounds", [(0, None, 1), (2, None, 3), (None, 17, 2), (0, 7, 1)])
def test_partial_unrolling(bounds: tuple[int | None, int | None, int], factor: int) -> None:
    for n in (-3, 0, 1, 2, 6, 13):
        module = sum_loop(bounds, {"cute.unroll": IntAttr(factor)})
        want = result(module, n)
        apply(module, simplify, unroll)
        assert loops(module) <= 2
        assert result(module, n) == want


def test_dynamic_bounds_cannot_be_unrolled_fully() -> None:
    module = sum_loop((0, None, 1), {"cute.unroll_full": UNIT})
    assert loops(apply(module, simplify, unroll)) == 1


def test_inner_bounds_that_depend_on_the_outer_loop() -> None:
    def body(out: Value) -> None:
        frag = cute.alloca(I32, 6)
        zero, one = arith.constant(0, I32), arith.constant(1, I32)
        outer, block = new_block([I32])
        with insert_at(block):
            inner, nested = new_block([I32])
            with insert_at(nested):
                cute.store(block.args[0], cute.ptr_add(frag, nested.args[0], 4))
                scf.yield_()
            scf.for_(block.args[0], arith.constant(6, I32), one, (), inner)
            scf.yield_()
        scf.for_(zero, arith.constant(6, I32), one, (), outer)
        cute.tile_store(cute.tile_load(frag, cute.LayoutAttr(6, 1)), out, cute.LayoutAttr(6, 1))

    module = kernel_module("k", (OUT,), body, 1)
    args = [np.zeros(6, np.int32)]
    want = run(module, 1, 1, args)[0]
    apply(module, simplify, unroll)
    assert loops(module) == 0
    assert (run(module, 1, 1, args)[0] == want).all() and (want == np.arange(6)).all()


def test_code_size_is_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unroll_module, "MAX_SIZE", 50)
    with pytest.raises(CompileError, match="OC1064"):
        apply(sum_loop((0, 100, 1), {"cute.unroll_full": UNIT}), simplify, unroll)
