# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One kernel that multiplies by a warpgroup's operation, whatever its types and layouts are."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import opencute as cutlass
from opencute import cute, utils
from opencute.cute.nvgpu import OperandMajorMode, warpgroup
from opencute.cute.runtime import from_dlpack

K, MN = OperandMajorMode.K, OperandMajorMode.MN
SMEM, RMEM = warpgroup.OperandSource.SMEM, warpgroup.OperandSource.RMEM

NUMPY: dict[Any, Any] = {
    cutlass.Float16: np.float16, cutlass.BFloat16: ml_dtypes.bfloat16,
    cutlass.Float32: np.float32, cutlass.TFloat32: np.float32, cutlass.Int8: np.int8,
    cutlass.Uint8: np.uint8, cutlass.Int32: np.int32,
    cutlass.Float8E4M3FN: ml_dtypes.float8_e4m3fn, cutlass.Float8E5M2: ml_dtypes.float8_e5m2,
}  # fmt: skip


@cute.kernel
def kernel(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, tiled: cute.TiledMma,
    layouts: cutlass.Constexpr, threads: cutlass.Constexpr,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    la, lb = layouts
    smem = utils.SmemAllocator()
    sA = smem.allocate_tensor(mA.element_type, la.outer, 1024, la.inner)
    sB = smem.allocate_tensor(mB.element_type, lb.outer, 1024, lb.inner)
    for i in range(tidx, cute.size(mA), threads):
        sA[i] = mA[i]
    for i in range(tidx, cute.size(mB), threads):
        sB[i] = mB[i]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    thr = tiled.get_slice(tidx)
    tCgC = thr.partition_C(mC)
    acc = tiled.make_fragment_C(tCgC.shape)
    tCsA = thr.partition_A(sA)
    tCrA = tiled.make_fragment_A(tCsA)
    tCrB = tiled.make_fragment_B(thr.partition_B(sB))
    if cutlass.const_expr(tiled.op.a_src is RMEM):
        cute.basic_copy(tCsA, cute.make_tensor(tCrA.iterator.recast(sA.element_type), tCrA.layout))
    warpgroup.fence()
    tiled.set(warpgroup.Field.ACCUMULATE, False)
    for k in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
        cute.gemm(tiled, acc, tCrA[None, None, k], tCrB[None, None, k], acc)
        tiled.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    cute.basic_copy(acc, tCgC)


@cute.jit
def host(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, op: cutlass.Constexpr,
    atoms: cutlass.Constexpr, kinds: cutlass.Constexpr,
):  # fmt: skip
    tiled = cute.make_tiled_mma(op, atoms)
    orders = ((0, 1), (0, 1))
    layouts = [
        cute.tile_to_shape(warpgroup.make_smem_layout_atom(kind, t.element_type), t.shape, order)
        for kind, t, order in zip(kinds, (mA, mB), orders, strict=True)
    ]
    kernel(mA, mB, mC, tiled, tuple(layouts), tiled.size).launch(grid=1, block=tiled.size)


def kinds_of(a_major: Any, b_major: Any, width: str) -> tuple[Any, Any]:
    """Layout atoms for A and B; `width` is such as SW128."""
    kind = warpgroup.SmemLayoutAtomKind
    return tuple(kind[f"{'K' if major is K else 'MN'}_{width}"] for major in (a_major, b_major))  # type: ignore[return-value]


def operands(op: Any, m: int, n: int, k: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """A, B and room for C; small integers, which all types hold."""
    rng = np.random.default_rng(seed)
    low = 0 if op.a_dtype is cutlass.Uint8 else -3
    a = rng.integers(low, 4, (m, k)).astype(NUMPY[op.a_dtype])
    low = 0 if op.b_dtype is cutlass.Uint8 else -3
    b = rng.integers(low, 4, (n, k)).astype(NUMPY[op.b_dtype])
    return a, b, np.full((m, n), 77, NUMPY[op.acc_dtype])


def run(op: Any, kinds: Any, m: int, n: int, k: int, atoms: Any = (1, 1, 1)) -> None:
    """Multiply in the simulator, and compare with NumPy."""
    a, b, c = operands(op, m, n, k)
    host(from_dlpack(a), from_dlpack(b), from_dlpack(c), op, atoms, kinds)
    want = a.astype(np.float32) @ b.astype(np.float32).T
    np.testing.assert_array_equal(c.astype(np.float32), want)
