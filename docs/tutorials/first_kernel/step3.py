# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Step 3: c = a + b for matrices, with a tiled copy; edges are predicated."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def add_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, copy: cute.TiledCopy):
    tidx, _, _ = cute.arch.thread_idx()
    row, column, _ = cute.arch.block_idx()
    tiler, at = (16, 32), (row, column)
    gA, gB, gC = (cute.local_tile(m, tiler, at) for m in (mA, mB, mC))
    coords = cute.local_tile(cute.make_identity_tensor(mC.shape), tiler, at)

    thr = copy.get_slice(tidx)
    tA, tB, tC = thr.partition_S(gA), thr.partition_S(gB), thr.partition_D(gC)
    tCoords = thr.partition_S(coords)
    inside = cute.make_rmem_tensor(tCoords.shape, cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(inside)):
        inside[i] = cute.elem_less(tCoords[i], mC.shape)

    rA, rB = cute.make_fragment_like(tA), cute.make_fragment_like(tB)
    cute.copy(copy, tA, rA, pred=inside)
    cute.copy(copy, tB, rB, pred=inside)
    rA.store(rA.load() + rB.load())
    cute.copy(copy, rA, tC, pred=inside)


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type)
    threads = cute.make_layout((16, 8), stride=(8, 1))  # 16 rows of eight threads ...
    values = cute.make_layout((1, 4), stride=(4, 1))  # ... with four elements each
    copy = cute.make_tiled_copy_tv(atom, threads, values)
    m, n = c.shape
    grid = (cute.ceil_div(m, 16), cute.ceil_div(n, 32), 1)
    add_kernel(a, b, c, copy).launch(grid=grid, block=128)


def kernel_fn(a, b):
    c = np.empty_like(a)
    add(*(from_dlpack(t).mark_layout_dynamic() for t in (a, b, c)))
    return c


def reference_fn(a, b):
    return a + b


def get_inputs():
    rng = np.random.default_rng(0)
    return [rng.standard_normal((37, 60)).astype(np.float32) for _ in range(2)]
