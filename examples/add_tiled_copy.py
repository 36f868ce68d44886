# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""c = a + b with a tiled copy: threads and values laid over a tile, ragged edges predicated.

opencute verify examples/add_tiled_copy.py --rtol 0 --atol 0
"""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

DTYPE = np.float32
SHAPE = (37, 300)


@cute.kernel
def add_kernel(
    gA: cute.Tensor,
    gB: cute.Tensor,
    gC: cute.Tensor,
    cC: cute.Tensor,
    shape: cute.Shape,
    thr_layout: cute.Layout,
    val_layout: cute.Layout,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    block = ((None, None), (bidy, bidx))  # neighbouring blocks take neighbouring columns

    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), gA.element_type)
    tiled_copy = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
    thr_copy = tiled_copy.get_slice(tidx)
    thrA, thrB = (thr_copy.partition_S(g[block]) for g in (gA, gB))
    thrC = thr_copy.partition_D(gC[block])
    thrCrd = thr_copy.partition_S(cC[block])

    frgA, frgB, frgC = (cute.make_fragment_like(t) for t in (thrA, thrB, thrC))
    pred = cute.make_rmem_tensor(thrCrd.shape, cutlass.Boolean)
    for i in range(cute.size(pred)):
        pred[i] = cute.elem_less(thrCrd[i], shape)

    cute.copy(atom, thrA, frgA, pred=pred)
    cute.copy(atom, thrB, frgB, pred=pred)
    frgC.store(frgA.load() + frgB.load())
    cute.copy(atom, frgC, thrC, pred=pred)


@cute.jit
def add(
    mA: cute.Tensor,
    mB: cute.Tensor,
    mC: cute.Tensor,
    threads: cutlass.Constexpr = (4, 64),
    rows: cutlass.Constexpr = 4,
):
    vec = 128 // mA.element_type.width
    thr_layout = cute.make_ordered_layout(threads, order=(1, 0))
    val_layout = cute.make_ordered_layout((rows, vec), order=(1, 0))
    tiler, tv_layout = cute.make_layout_tv(thr_layout, val_layout)
    gA, gB, gC = (cute.zipped_divide(t, tiler) for t in (mA, mB, mC))
    cC = cute.zipped_divide(cute.make_identity_tensor(mC.shape), tiler)
    tiles_m, tiles_n = gC.shape[1]
    add_kernel(gA, gB, gC, cC, mC.shape, thr_layout, val_layout).launch(
        grid=(tiles_n, tiles_m, 1), block=[cute.size(tv_layout, mode=[0]), 1, 1]
    )


def kernel_fn(a, b):
    out = np.empty_like(a)
    add(*(from_dlpack(t).mark_layout_dynamic() for t in (a, b, out)))
    return out


def reference_fn(a, b):
    return a + b


def get_inputs():
    rng = np.random.default_rng(np.random.randint(1 << 31))
    return [rng.standard_normal(SHAPE).astype(DTYPE) for _ in range(2)]


def get_bytes(a, b):
    return 3 * a.nbytes
