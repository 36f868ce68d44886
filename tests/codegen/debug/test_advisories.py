# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What ptxas says of serialised products becomes advice with the line of the first one."""

from __future__ import annotations

import pytest

from codegen.hopper.test_wgmma import const, kernel, product, store
from opencute.arch.target import target
from opencute.arch.wgmma import wgmma_atom
from opencute.base.location import Location
from opencute.codegen.debug.advisories import advisories
from opencute.codegen.device import compile_device
from opencute.codegen.ptxas import AsmReport
from opencute.dialects import cute
from opencute.dialects.hopper import wgmma
from opencute.ir.builder import at_loc
from opencute.ir.core import Op, Value
from opencute.ir.types import F32, I1
from opencute.passes.pipelines import run_device_passes


def early(read_first: bool) -> Op:
    """A product whose accumulator is read before or after the wait."""

    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        d = cute.alloca(F32, 32)
        wgmma.fence()
        with at_loc(Location("kernel.py", 7, 4)):
            product(wgmma_atom("wgmma.m64n64k16.f32.f16.f16.ss"), d, a, b, const(0, I1))
        if read_first:
            store(out, d, 32)
        wgmma.commit()
        wgmma.wait(0)
        if not read_first:
            store(out, d, 32)

    return kernel(body)


@pytest.mark.t1
@pytest.mark.parametrize("read_first", [False, True])
def test_a_serialised_product_is_said_with_its_line(read_first: bool):
    sm, module = target("sm_90a"), early(read_first)
    code = compile_device(early(read_first), sm, lower=lambda m: run_device_passes(m, sm))
    found = advisories(code.report, module)
    assert len(found) == read_first
    if read_first:
        assert (found[0].kernel, found[0].loc.line) == ("products", 7)  # type: ignore[union-attr]
        assert "read accumulators after the wait_group" in found[0].message


@pytest.mark.t0
@pytest.mark.parametrize(
    ("code", "hint"),
    [("C7511", "smaller"), ("C7513", "operand A"), ("C7510", "extern calls")],
)
def test_advice(code: str, hint: str):
    line = (
        f"ptxas info : ({code}) serialized due to extern calls in the function 'products' in line 3"
    )
    (found,) = advisories(AsmReport((), (line,)), early(False))
    assert hint in found.message and found.kernel == "products"
