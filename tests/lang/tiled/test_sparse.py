# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tiled MMAs with a sparse A: products of a warp and of a warpgroup against NumPy, from kept
elements and metadata as they lie in memory; ptxas; refusals; and (t2) the GPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.arch.sparse import PAIRS, TF32_CODES
from opencute.base.errors import CompileError, LayoutError, OpenCuTeError, TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import warp, warpgroup
from opencute.cute.runtime import from_dlpack

PLACES = [
    pytest.param("sim:sm_90a", marks=pytest.mark.t0),
    pytest.param("cuda", marks=pytest.mark.t2),
]
F16, F32, S8, S32 = cutlass.Float16, cutlass.Float32, cutlass.Int8, cutlass.Int32
NUMPY = {
    F16: np.float16, cutlass.BFloat16: ml_dtypes.bfloat16, cutlass.TFloat32: np.float32,
    F32: np.float32, S8: np.int8, cutlass.Uint8: np.uint8, S32: np.int32,
    cutlass.Float8E4M3FN: ml_dtypes.float8_e4m3fn, cutlass.Float8E5M2: ml_dtypes.float8_e5m2,
}  # fmt: skip


def sparse(m: int, k: int, dtype: Any, rng: Any) -> tuple[Any, Any, Any]:
    """A with its zeros, its kept elements, and (M, K / 16) of metadata (K / 8 for tf32)."""
    kept_of, width = (1, 2) if dtype is cutlass.TFloat32 else (2, 4)
    kept = rng.integers(0 if dtype is cutlass.Uint8 else -3, 4, (m, k // width, kept_of))
    codes = rng.choice(list(PAIRS if kept_of == 2 else TF32_CODES), (m, k // width))
    whole = np.zeros((m, k // width, width), kept.dtype)
    for i in range(kept_of):
        at = codes >> 2 * i & 3 if kept_of == 2 else np.vectorize(TF32_CODES.get)(codes)
        np.put_along_axis(whole, at[..., None], kept[..., i : i + 1], axis=2)
    fields = codes.reshape(m, -1, 4) << np.arange(0, 16, 4)
    return whole.reshape(m, k), kept.reshape(m, -1), fields.sum(-1).astype(np.uint16)


def arguments(op: Any, tile: tuple[int, int, int]) -> tuple[list[Any], Any]:
    m, n, k = tile
    rng = np.random.default_rng(m + n + k)
    whole, kept, meta = sparse(m, k, op.a_dtype, rng)
    b = rng.integers(0 if op.b_dtype is cutlass.Uint8 else -3, 4, (n, k))
    given = [kept.astype(NUMPY[op.a_dtype]), b.astype(NUMPY[op.b_dtype]), meta]
    return [*given, np.zeros((m, n), NUMPY[op.acc_dtype])], whole @ b.T


@cute.kernel
def kernel(tiled: cute.TiledMma, gA: cute.Tensor, gB: cute.Tensor, gE: cute.Tensor,
           gD: cute.Tensor, ks: cutlass.Constexpr):  # fmt: skip
    tid, _, _ = cute.arch.thread_idx()
    thr = tiled.get_slice(tid)
    sides = []
    for dtype, part in (
        (tiled.op.a_dtype, thr.partition_A(gA)), (tiled.op.b_dtype, thr.partition_B(gB)),
    ):  # fmt: skip
        regs = cute.make_fragment_like(part, part.element_type)
        cute.autovec_copy(part, regs)
        sides.append(cute.recast_tensor(regs, dtype))
    e_part = thr.partition_E(gE)
    e = tiled.make_fragment_E(e_part)
    cute.autovec_copy(e_part, e)
    acc = tiled.make_fragment_C(thr.partition_C(gD))
    acc.fill(0)
    a, b = sides
    for k in cutlass.range_constexpr(ks):
        cute.gemm(tiled, acc, [a[None, None, k], e[None, None, k]], b[None, None, k], acc)
    cute.gemm(tiled, acc, (a, e), b, acc)
    cute.autovec_copy(acc, thr.partition_C(gD))


def host(op: Any, atoms: Any, permutation: Any = None, ks: int = 0) -> Any:
    @cute.jit
    def launch(gA: cute.Tensor, gB: cute.Tensor, gE: cute.Tensor, gD: cute.Tensor) -> None:
        tiled = cute.make_tiled_mma(op, atoms, permutation)
        kernel(tiled, gA, gB, gE, gD, ks).launch(grid=1, block=cute.size(tiled))

    return launch


OPS = [
    (warp.MmaSparseOp(F16, F32, (16, 8, 32)), (32, 32, 64), (2, 2, 1), None),
    (warp.MmaSparseOp(F16, F16, (16, 8, 16)), (32, 16, 32), (1, 2, 1), (32, 16, 32)),
    (warp.MmaSparseOp(cutlass.BFloat16, F32, (16, 8, 32)), (64, 16, 64), (4, 1, 1), None),
    (warp.MmaSparseOp(cutlass.TFloat32, F32, (16, 8, 16)), (16, 16, 32), (1, 1, 1), None),
    (warp.MmaSparseOp(cutlass.TFloat32, F32, (16, 8, 8)), (32, 8, 16), (2, 1, 1), None),
    (warp.MmaSparseOp(S8, S32, (16, 8, 64), cutlass.Uint8), (32, 16, 128), (2, 1, 1), None),
    (warp.MmaSparseOp(S8, S32, (16, 8, 32)), (16, 16, 64), (1, 2, 1), None),
    (warp.MmaSparseOp(cutlass.Float8E4M3FN, F32, (16, 8, 64), cutlass.Float8E5M2),
     (16, 8, 64), (1, 1, 1), None),
]  # fmt: skip


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("case", range(len(OPS)))
def test_products_of_warps(where: str, case: int) -> None:
    op, tile, atoms, permutation = OPS[case]
    given, want = arguments(op, tile)
    ks = 0 if op.acc_dtype is F16 else 1  # a second pass over the first steps adds them again
    with KNOBS.override(target=where):
        host(op, atoms, permutation, ks)(*map(from_dlpack, given))
    if ks:
        k = op.shape[2]
        whole, _, _ = sparse(tile[0], tile[2], op.a_dtype, np.random.default_rng(sum(tile)))
        b = given[1].astype(np.float64)[:, :k]
        want = want + whole[:, :k] @ b.T
    np.testing.assert_array_equal(given[3].astype(np.float64), want)


@cute.kernel
def group_kernel(tiled: cute.TiledMma, layouts: cutlass.Constexpr, gA: cute.Tensor, gB: cute.Tensor,
                 gE: cute.Tensor, gD: cute.Tensor):  # fmt: skip
    tid, _, _ = cute.arch.thread_idx()
    memory = utils.SmemAllocator()
    thr = tiled.get_slice(tid)
    sides = []
    for layout, g in zip(layouts, (gA, gB)):  # noqa: B905 - as users write it
        s = memory.allocate_tensor(g.element_type, layout.outer, 1024, layout.inner)
        for i in range(tid, cute.size(layout.outer), 128):
            s[i] = g[i]
        sides.append(s)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if cutlass.const_expr(tiled.op.a_src is warpgroup.OperandSource.RMEM):
        part = thr.partition_A(gA)
        a = cute.make_fragment_like(part, part.element_type)
        cute.autovec_copy(part, a)
    else:
        a = tiled.make_fragment_A(thr.partition_A(sides[0]))
    b = tiled.make_fragment_B(thr.partition_B(sides[1]))
    e_part = thr.partition_E(gE)
    e = tiled.make_fragment_E(e_part)
    cute.autovec_copy(e_part, e)
    acc = tiled.make_fragment_C(thr.partition_C(gD))
    tiled.set(warpgroup.Field.ACCUMULATE, False)
    warpgroup.fence()
    for k in cutlass.range_constexpr(cute.size(b, mode=[2])):
        cute.gemm(tiled, acc, [a[None, None, k], e[None, None, k]], b[None, None, k], acc)
        tiled.set(warpgroup.Field.ACCUMULATE, True)
    cute.gemm(tiled, acc, [a, e], b, acc)
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    cute.autovec_copy(acc, thr.partition_C(gD))


def group_host(op: Any) -> Any:
    kind = warpgroup.SmemLayoutAtomKind

    @cute.jit
    def launch(gA: cute.Tensor, gB: cute.Tensor, gE: cute.Tensor, gD: cute.Tensor) -> None:
        tiled = cute.make_tiled_mma(op)
        layouts = []
        for g in (gA, gB):
            bits = g.shape[1] * g.element_type.width
            atom = warpgroup.make_smem_layout_atom(
                kind[f"K_SW{min(bits // 8, 128)}"], g.element_type
            )
            layouts.append(cute.tile_to_shape(atom, g.shape, (0, 1)))
        group_kernel(tiled, tuple(layouts), gA, gB, gE, gD).launch(grid=1, block=128)

    return launch


RMEM = warpgroup.OperandSource.RMEM
GROUPS = [
    (warpgroup.MmaSparseOp(F16, F32, (64, 16, 32)), (128, 32, 64)),
    (warpgroup.MmaSparseOp(F16, F16, (64, 24), RMEM), (64, 24, 64)),
    (warpgroup.MmaSparseOp(cutlass.TFloat32, F32, (64, 8, 16)), (64, 8, 32)),
    (warpgroup.MmaSparseOp(S8, S32, (64, 16, 64), b_dtype=cutlass.Uint8), (64, 16, 128)),
    (warpgroup.MmaSparseOp(cutlass.Float8E5M2, F32, (64, 8, 64), RMEM), (64, 8, 128)),
]


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("case", range(len(GROUPS)))
def test_products_of_warpgroups(where: str, case: int) -> None:
    op, tile = GROUPS[case]
    given, want = arguments(op, tile)
    with KNOBS.override(target=where):
        group_host(op)(*map(from_dlpack, given))
    np.testing.assert_array_equal(given[3].astype(np.float64), 2 * want)


@pytest.mark.t1
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_120a"])
def test_ptxas_takes_them(arch: str) -> None:
    for op, tile, atoms, permutation in OPS[:: 3 if arch == "sm_80" else 7]:
        given, _ = arguments(op, tile)
        with KNOBS.override(target=f"sim:{arch}"):
            tensors = [from_dlpack(x) for x in given]
            if op.record.since > int(arch[3:].rstrip("a")):
                with pytest.raises(CompileError, match="OC1066"):
                    cute.compile(host(op, atoms, permutation), *tensors)
                continue
            made: Any = cute.compile(host(op, atoms, permutation), *tensors)
            info = next(iter(made.artefacts.kernel_info.values()))
            assert made.__cubin__ and op.record.instruction in made.__ptx__
            assert info.spill_stores == 0 and "local" not in made.__ptx__.split("//")[-1]
    if arch == "sm_90a":
        op, tile = GROUPS[0]
        given, _ = arguments(op, tile)
        with KNOBS.override(target="sim:sm_90a"):
            made = cute.compile(group_host(op), *map(from_dlpack, given))
        assert made.__ptx__.count("wgmma.mma_async.sp.sync") == 16 and made.__cubin__


@pytest.mark.t0
def test_what_is_not_there() -> None:
    with pytest.raises(TypeMismatchError) as e:
        warp.MmaSparseOp(F16, F32, (16, 8, 64))
    assert e.value.code == "OC1272" and "(16, 8, 16) or (16, 8, 32)" in str(e.value)
    with pytest.raises(TypeMismatchError) as e:
        warpgroup.MmaSparseOp(F16, F32, (64, 16, 16))
    assert e.value.code == "OC1272"
    op = warp.MmaSparseOp(F16, F32, (16, 8, 32))
    for permutation in ((None, None, cute.make_layout(64)), (None, None, 48)):
        with pytest.raises(LayoutError) as e:
            tiled = cute.make_tiled_mma(op, (1, 1, 1), permutation)
            tiled.partition_shape_A((16, 32))
        assert e.value.code == "OC1375"
    dense = cute.make_tiled_mma(warp.MmaF16BF16Op(F16, F32, (16, 8, 16)))
    with pytest.raises(TypeMismatchError) as e:
        _ = dense.tv_layout_E
    assert e.value.code == "OC1273"


@pytest.mark.t0
@pytest.mark.parametrize(
    ("fault", "code"),
    [("dense", "OC1252"), ("memory", "OC1281"), ("type", "OC1281"), ("shape", "OC1382")],
)
def test_operands_that_do_not_fit(fault: str, code: str) -> None:
    op, tile, atoms, _ = OPS[0]
    given, _ = arguments(op, tile)

    @cute.kernel
    def wrong(gA: cute.Tensor, gB: cute.Tensor, gE: cute.Tensor, gD: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        tiled = cute.make_tiled_mma(op, atoms)
        thr = tiled.get_slice(tid)
        a, b = (
            tiled.make_fragment_A(thr.partition_A(gA)), tiled.make_fragment_B(thr.partition_B(gB)),
        )  # fmt: skip
        part = thr.partition_E(gE)
        e, acc = tiled.make_fragment_E(part), tiled.make_fragment_C(thr.partition_C(gD))
        for t in (a, b, e, acc):
            t.fill(0)
        if cutlass.const_expr(fault == "dense"):
            cute.gemm(tiled, acc, a, b, acc)
        elif cutlass.const_expr(fault == "memory"):
            cute.gemm(tiled, acc, [a, part], b, acc)
        elif cutlass.const_expr(fault == "type"):
            cute.gemm(tiled, acc, [a, b], b, acc)
        else:
            cute.gemm(tiled, acc, [a, e[None, None, 0]], b, acc)

    @cute.jit
    def launch(gA: cute.Tensor, gB: cute.Tensor, gE: cute.Tensor, gD: cute.Tensor) -> None:
        wrong(gA, gB, gE, gD).launch(grid=1, block=128)

    with pytest.raises(OpenCuTeError) as e:
        launch(*map(from_dlpack, given))
    assert e.value.code == code
