# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A copy atom's bits are the widest access, not a promise: what is not aligned is copied in
narrower accesses, by simulator and machine code alike. Instructions of one width do need it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import LayoutError, MisalignedError
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import CopyUniversalOp, cpasync
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t1
BASE = np.arange(64, dtype=np.float32)


@cute.kernel
def kernel(x: cute.Tensor, o: cute.Tensor, skip: cutlass.Constexpr, promise: cutlass.Constexpr):
    atom = cute.make_copy_atom(CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    p = x.iterator + skip
    if cutlass.const_expr(promise):
        p = p.align(16)
    src = cute.make_tensor(p, cute.make_layout((4, 2)))
    r = cute.make_rmem_tensor((4, 2), cutlass.Float32)
    cute.copy(atom, src, r)
    cute.copy(atom, r, o)


@cute.jit
def host(x: cute.Tensor, o: cute.Tensor, skip: cutlass.Constexpr, promise: cutlass.Constexpr):
    kernel(x, o, skip, promise).launch(grid=1, block=1)


@pytest.mark.parametrize(("first", "align", "skip"), [(1, 4, 0), (0, 16, 1), (2, 8, 0), (0, 16, 4)])
def test_universal_copies_are_as_wide_as_the_alignment(first: int, align: int, skip: int) -> None:
    x = BASE[first : first + 40]
    o = np.zeros(8, np.float32)
    args = (from_dlpack(x, assumed_align=align), from_dlpack(o).mark_layout_dynamic(), skip, False)
    out = np.zeros((2, 4), np.float32)
    args = (args[0], from_dlpack(out.T, assumed_align=4), skip, False)
    with KNOBS.override(target="sim"):
        host(*args)
        ptx = cute.compile(host, *args).__ptx__
    np.testing.assert_array_equal(out.ravel(), BASE[first + skip : first + skip + 8])
    step = min(align, (4 * skip) & -(4 * skip) or align, 16)
    kinds = {4: "ld.global.b32", 8: "ld.global.v2", 16: "ld.global.v4"}
    found = [line.split()[0] for line in ptx.splitlines() if "ld.global" in line]
    assert found
    if first or skip % 4:  # else the arrays' own addresses may be known to be aligned better
        assert all(line.startswith(kinds[step]) for line in found), (found, step)


def test_a_broken_promise_is_one_error() -> None:
    out = np.zeros((2, 4), np.float32)
    args = (from_dlpack(BASE, assumed_align=16), from_dlpack(out.T), 1, True)
    with KNOBS.override(target="sim"), pytest.raises(MisalignedError, match="OC3201") as e:
        host(*args)
    assert e.value.loc is not None and "cute.copy(atom, src, r)" in str(e.value)


def test_instructions_of_one_width_refuse_before_they_run() -> None:
    @cute.kernel
    def staged(x: cute.Tensor):
        smem = cutlass.utils.SmemAllocator()
        s = smem.allocate_tensor(cutlass.Float32, cute.make_layout(4), 16)
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
        cute.copy(atom, cute.make_tensor(x.iterator + 1, cute.make_layout(4)), s)

    @cute.jit
    def launch(x: cute.Tensor):
        staged(x).launch(grid=1, block=1)

    x: Any = from_dlpack(BASE, assumed_align=16)
    with KNOBS.override(target="sim"):
        for use in (lambda: launch(x), lambda: cute.compile(launch, x)):
            with pytest.raises(LayoutError, match="OC1378") as e:
                use()
            assert "cute.copy(atom" in str(e.value)
