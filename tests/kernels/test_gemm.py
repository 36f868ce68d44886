# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Small matrix products of our own, in the simulator (t0), assembled (t1) and on a GPU (t2): tensor
cores with cp.async, swizzled shared memory and ldmatrix, all majors, extents that no tile divides;
and plain fma.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.jit.calls import compiled_artefacts

BM, BN, BK = 64, 32, 32
PLACES = [
    pytest.param("sim", marks=pytest.mark.t0),
    pytest.param("cuda", marks=pytest.mark.t2),
]
warp, cpasync = cute.nvgpu.warp, cute.nvgpu.cpasync


def smem_layout(rows: int, k_major: bool) -> Any:
    """A tile of BK columns in shared memory, swizzled along its contiguous mode."""
    inner = BK if k_major else rows
    shape, stride = ((8, inner), (inner, 1)) if k_major else ((inner, 8), (1, inner))
    bits = {32: 2, 64: 3}[inner]
    atom = cute.make_composed_layout(
        cute.make_swizzle(bits, 3, 3), 0, cute.make_layout(shape, stride=stride)
    )
    return cute.tile_to_shape(atom, (rows, BK), (0, 1))


def gmem_copy(rows: int, k_major: bool) -> Any:
    atom = cute.make_copy_atom(
        cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), cutlass.Float16,
        num_bits_per_copy=128,
    )  # fmt: skip
    n = (BK if k_major else rows) // 8
    if k_major:
        threads, values = cute.make_layout((64 // n, n), stride=(n, 1)), cute.make_layout((1, 8))
    else:
        threads, values = cute.make_layout((n, 64 // n)), cute.make_layout((8, 1))
    return cute.make_tiled_copy_tv(atom, threads, values)


@cute.jit
def load_tile(copy: cute.TiledCopy, tid: Any, g: cute.Tensor, s: cute.Tensor, c: cute.Tensor,
              limit: Any) -> None:  # fmt: skip
    """Start the copy of one tile; what lies outside becomes zero."""
    part = copy.get_slice(tid)
    tg, ts, tc = part.partition_S(g), part.partition_D(s), part.partition_S(c)
    for m in cutlass.range_constexpr(cute.size(tg, mode=[1])):
        for k in cutlass.range_constexpr(cute.size(tg, mode=[2])):
            if cute.elem_less(tc[0, m, k], limit):
                cute.copy(copy, tg[None, m, k], ts[None, m, k])
            else:
                ts[None, m, k].fill(0.0)


@cute.kernel
def tensor_core_kernel(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mma: cute.TiledMma,
    sA_layout: cute.ComposedLayout, sB_layout: cute.ComposedLayout,
    copy_A: cute.TiledCopy, copy_B: cute.TiledCopy, trans: cutlass.Constexpr,
) -> None:  # fmt: skip
    tid, _, _ = cute.arch.thread_idx()
    bm, bn, _ = cute.arch.block_idx()
    gA = cute.local_tile(mA, (BM, BK), (bm, None))
    gB = cute.local_tile(mB, (BN, BK), (bn, None))
    gC = cute.local_tile(mC, (BM, BN), (bm, bn))
    cA = cute.local_tile(cute.make_identity_tensor(mA.shape), (BM, BK), (bm, None))
    cB = cute.local_tile(cute.make_identity_tensor(mB.shape), (BN, BK), (bn, None))
    smem = utils.SmemAllocator()
    sA = smem.allocate_tensor(cutlass.Float16, sA_layout, 1024)
    sB = smem.allocate_tensor(cutlass.Float16, sB_layout, 1024)
    thr = mma.get_slice(tid)
    rA = mma.make_fragment_A(thr.partition_A(sA))
    rB = mma.make_fragment_B(thr.partition_B(sB))
    tC = thr.partition_C(gC)
    rC = mma.make_fragment_C(tC)
    rC.fill(0.0)
    atoms = [cute.make_copy_atom(warp.LdMatrix8x8x16bOp(t, 4), cutlass.Float16) for t in trans]
    s2r_A, s2r_B = cute.make_tiled_copy_A(atoms[0], mma), cute.make_tiled_copy_B(atoms[1], mma)
    part_A, part_B = s2r_A.get_slice(tid), s2r_B.get_slice(tid)
    for k in range(cute.size(gA, mode=[2])):
        load_tile(copy_A, tid, gA[None, None, k], sA, cA[None, None, k], mA.shape)
        load_tile(copy_B, tid, gB[None, None, k], sB, cB[None, None, k], mB.shape)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        cute.copy(s2r_A, part_A.partition_S(sA), part_A.retile(rA))
        cute.copy(s2r_B, part_B.partition_S(sB), part_B.retile(rB))
        cute.gemm(mma, rC, rA, rB, rC)
        cute.arch.sync_threads()
    cC = thr.partition_C(cute.local_tile(cute.make_identity_tensor(mC.shape), (BM, BN), (bm, bn)))
    pred = cute.make_rmem_tensor(rC.layout, cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(pred)):
        pred[i] = cute.elem_less(cC[i], mC.shape)
    cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32), rC, tC, pred=pred)


@cute.jit
def tensor_core(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, a_k: cutlass.Constexpr,
    b_k: cutlass.Constexpr,
) -> None:  # fmt: skip
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, (2, 1, 1), permutation_mnk=(32, 16, 16))
    grid = (cute.ceil_div(mC.shape[0], BM), cute.ceil_div(mC.shape[1], BN), 1)
    tensor_core_kernel(
        mA, mB, mC, mma, smem_layout(BM, a_k), smem_layout(BN, b_k), gmem_copy(BM, a_k),
        gmem_copy(BN, b_k), (not a_k, not b_k),
    ).launch(grid=grid, block=mma.size)  # fmt: skip


def operand(rng: Any, rows: int, cols: int, row_major: bool, dtype: Any) -> Any:
    x = rng.integers(-3, 4, (rows, cols)).astype(dtype)
    return x if row_major else np.asfortranarray(x)


def dynamic(x: Any, row_major: bool) -> Any:
    lead = 1 if row_major else 0
    t = from_dlpack(x, assumed_align=16).mark_layout_dynamic(leading_dim=lead)
    return t.mark_compact_shape_dynamic(mode=lead, divisibility=8)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("a_k", [True, False])
@pytest.mark.parametrize("b_k", [True, False])
def test_tensor_cores_all_majors_ragged(where: str, a_k: bool, b_k: bool) -> None:
    m, n, k = 72, 40, 48
    rng = np.random.default_rng(1)
    a, b = operand(rng, m, k, a_k, np.float16), operand(rng, n, k, b_k, np.float16)
    c = np.full((m, n), -99, np.float32)
    with KNOBS.override(target=where):
        args = (dynamic(a, a_k), dynamic(b, b_k), from_dlpack(c))
        cute.compile(tensor_core, *args, a_k, b_k)(*args)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.t1
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_tensor_cores_in_machine_code(arch: str) -> None:
    a, b, c = np.zeros((72, 48), np.float16), np.zeros((40, 48), np.float16), np.zeros((72, 40))
    with KNOBS.override(target=f"sim:{arch}"):
        args = (dynamic(a, True), dynamic(b, True), from_dlpack(c.astype(np.float32)))
        cute.compile(tensor_core, *args, True, True)
    code = compiled_artefacts()[-1].device
    (report,) = code.report.functions
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)
    assert report.registers <= 128
    for word in ("mma.sync.aligned.m16n8k16", "ldmatrix.sync.aligned.m8n8.x4", "cp.async.cg"):
        assert word in code.ptx


@cute.kernel
def fma_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mma: cute.TiledMma) -> None:
    tid, _, _ = cute.arch.thread_idx()
    thr = mma.get_slice(tid)
    tA, tB, tC = thr.partition_A(mA), thr.partition_B(mB), thr.partition_C(mC)
    rA, rB, rC = mma.make_fragment_A(tA), mma.make_fragment_B(tB), mma.make_fragment_C(tC)
    cute.autovec_copy(tA, rA)
    cute.autovec_copy(tB, rB)
    cute.autovec_copy(tC, rC)
    for k in cutlass.range_constexpr(cute.size(rA, mode=[2])):
        cute.gemm(mma, rC, rA[None, None, k], rB[None, None, k], rC)
    cute.autovec_copy(rC, tC)


@cute.jit
def fma(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, dtype: cutlass.Constexpr) -> None:
    perm = cute.make_layout((4, 2), stride=(2, 1))
    mma = cute.make_tiled_mma(
        cute.nvgpu.MmaUniversalOp(dtype), cute.make_layout((4, 4, 1), stride=(4, 1, 0)),
        permutation_mnk=(perm, perm, None),
    )  # fmt: skip
    fma_kernel(mA, mB, mC, mma).launch(grid=1, block=16)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize(
    ("dtype", "numpy"), [(cutlass.Float32, np.float32), (cutlass.Float64, np.float64)], ids=str
)
def test_universal_fma(where: str, dtype: Any, numpy: Any) -> None:
    rng = np.random.default_rng(2)
    a, b, c = (rng.integers(-9, 9, s).astype(numpy) for s in ((16, 5), (8, 5), (16, 8)))
    want = a @ b.T + c
    with KNOBS.override(target=where):
        args = tuple(map(from_dlpack, (a, b, c)))
        cute.compile(fma, *args, dtype)(*args)
    np.testing.assert_array_equal(c, want)


@cute.kernel
def masked_async_kernel(src: cute.Tensor, dst: cute.Tensor, zero: cutlass.Constexpr) -> None:
    tid, _, _ = cute.arch.thread_idx()
    smem = utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(32), 16)
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    pred = cute.make_rmem_tensor(1, cutlass.Boolean)
    pred[0] = tid < 20
    parts = [cute.make_tensor(t.iterator + tid, cute.make_layout(1)) for t in (src, smem)]
    cute.copy(atom, parts[0], parts[1], pred=pred)
    cute.arch.cp_async_commit_group()
    if cutlass.const_expr(zero):
        cute.arch.cp_async_wait_group(0)
    dst[tid] = smem[tid]


@cute.jit
def masked_async(src: cute.Tensor, dst: cute.Tensor, zero: cutlass.Constexpr) -> None:
    masked_async_kernel(src, dst, zero).launch(grid=1, block=32)


@pytest.mark.parametrize("where", PLACES)
def test_a_masked_asynchronous_copy_leaves_zeros(where: str) -> None:
    # 20 elements only: what the predicate forbids is not read.
    src, dst = np.arange(1, 21, dtype=np.float32), np.full(32, -1, np.float32)
    with KNOBS.override(target=where):
        args = from_dlpack(src), from_dlpack(dst)
        cute.compile(masked_async, *args, True)(*args)
    np.testing.assert_array_equal(dst, [*range(1, 21), *[0] * 12])


@pytest.mark.t0
def test_an_asynchronous_copy_that_nobody_waits_for_is_found() -> None:
    from opencute.base.errors import UninitializedError

    src, dst = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    with KNOBS.override(target="sim"), pytest.raises(UninitializedError):
        args = from_dlpack(src), from_dlpack(dst)
        cute.compile(masked_async, *args, False)(*args)


@cute.kernel
def lost_operand_kernel(dst: cute.Tensor, fill: cutlass.Constexpr) -> None:
    tid, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)))
    thr = mma.get_slice(tid)
    a = cute.make_rmem_tensor((8, 1, 1), cutlass.Float16)
    b = cute.make_rmem_tensor((4, 1, 1), cutlass.Float16)
    part = thr.partition_C(dst)
    c = mma.make_fragment_C(part)
    a.fill(1.0)
    c.fill(0.0)
    if cutlass.const_expr(fill):
        b.fill(2.0)
    cute.gemm(mma, c, a, b, c)
    cute.autovec_copy(c, part)


@cute.jit
def lost_operand(dst: cute.Tensor, fill: cutlass.Constexpr) -> None:
    lost_operand_kernel(dst, fill).launch(grid=1, block=32)


@pytest.mark.t0
def test_an_operand_that_nothing_wrote_is_found() -> None:
    from opencute.base.errors import UninitializedError

    dst = np.zeros((16, 8), np.float32)
    with KNOBS.override(target="sim"):
        cute.compile(lost_operand, from_dlpack(dst), True)(from_dlpack(dst))
        np.testing.assert_array_equal(dst, np.full((16, 8), 32))
        with pytest.raises(UninitializedError):
            cute.compile(lost_operand, from_dlpack(dst), False)(from_dlpack(dst))
