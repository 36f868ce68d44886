# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A warp-specialised GEMM from pipelines, schedulers and Hopper helpers: whole, and with one thing
left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutlass
import cutlass.cute as cute
import cutlass.utils.hopper_helpers as sm90_utils
from cutlass import pipeline, utils
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.runtime import from_dlpack
from opencute.base.errors import OpenCuTeError, RaceError, SimulationError
from opencute.base.knobs import KNOBS

pytestmark = pytest.mark.t0

TILE, STAGES = (64, 64, 64), 2
BYTES = 2 * 64 * (64 + 64)


def group(size: int) -> pipeline.CooperativeGroup:
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, size)


@cute.jit
def produce(loads: Any, sched: Any, a: Any, b: Any) -> None:
    """Load tiles of A and B; each of `a` and `b` is an atom, coordinates and shared memory."""
    producer = loads.make_producer()
    work = sched.initial_work_tile_info()
    while work.is_valid_tile:
        m, n, _ = work.tile_idx
        for k in range(cute.size(a[1], mode=[2])):
            handle = producer.acquire_and_advance()
            cute.copy(a[0], a[1][None, m, k], a[2][None, handle.index], tma_bar_ptr=handle.barrier)
            cute.copy(b[0], b[1][None, n, k], b[2][None, handle.index], tma_bar_ptr=handle.barrier)
            handle.commit()
        sched.advance_to_next_work()
        work = sched.get_current_work()
    producer.tail()


@cute.jit
def consume(
    loads: Any, sched: Any, mma: Any, sA: Any, sB: Any, mC: Any, tidx: Any, steps: Any,
    fault: cutlass.Constexpr,
) -> None:  # fmt: skip
    """Multiply tiles and store them from registers."""
    consumer = loads.make_consumer()
    thr = mma.get_slice(tidx)
    rA, rB = mma.make_fragment_A(thr.partition_A(sA)), mma.make_fragment_B(thr.partition_B(sB))
    gC = cute.local_tile(mC, TILE[:2], (None, None))
    tC = thr.partition_C(gC)
    acc = cute.make_rmem_tensor(tC.shape[:3], cutlass.Float32)
    work = sched.initial_work_tile_info()
    while work.is_valid_tile:
        m, n, _ = work.tile_idx
        acc.fill(0.0)
        mma.set(warpgroup.Field.ACCUMULATE, True)
        for _ in range(steps):
            handle = consumer.wait_and_advance()
            if cutlass.const_expr(fault != "fence"):
                warpgroup.fence()
            for k in cutlass.range(cute.size(rA, mode=[2]), unroll_full=True):
                at = (None, None, k, handle.index)
                cute.gemm(mma, acc, rA[at], rB[at], acc)
            if cutlass.const_expr(fault != "commit"):
                warpgroup.commit_group()
            if cutlass.const_expr(fault not in ("wait", "early release")):
                warpgroup.wait_group(0)
            handle.release()
            if cutlass.const_expr(fault == "early release"):
                warpgroup.wait_group(0)
        out = cute.make_rmem_tensor(acc.shape, cutlass.Float16)
        out.store(acc.load().to(cutlass.Float16))
        cute.autovec_copy(out, tC[None, None, None, m, n])
        sched.advance_to_next_work()
        work = sched.get_current_work()


@cute.kernel
def gemm_kernel(
    atom_a: cute.CopyAtom,
    mA: cute.Tensor,
    atom_b: cute.CopyAtom,
    mB: cute.Tensor,
    mC: cute.Tensor,
    mma: cute.TiledMma,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
    params: utils.PersistentTileSchedulerParams,
    fault: cutlass.Constexpr,
) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = utils.SmemAllocator()
    sA, sB = (
        smem.allocate_tensor(cutlass.Float16, s.outer, 1024, swizzle=s.inner)
        for s in (layout_a, layout_b)
    )
    loads = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES, producer_group=group(1), consumer_group=group(4), tx_count=BYTES
    )
    one = cute.make_layout(1)
    tiles = (cute.local_tile(t, TILE[1:], (None, None)) for t in (mA, mB))
    a, b = (
        (atom, *reversed(cpasync.tma_partition(
            atom, 0, one, cute.group_modes(s, 0, 2), cute.group_modes(g, 0, 2)
        )))
        for atom, s, g in zip((atom_a, atom_b), (sA, sB), tiles, strict=True)
    )  # fmt: skip
    sched = utils.StaticPersistentTileScheduler.create(
        params, cute.arch.block_idx(), cute.arch.grid_dim()
    )
    if warp == 4:
        produce(loads, sched, a, b)
    if warp < 4:
        consume(loads, sched, mma, sA, sB, mC, tidx, cute.size(a[1], mode=[2]), fault)


@cute.jit
def gemm(
    a: cute.Tensor,
    b: cute.Tensor,
    c: cute.Tensor,
    fault: cutlass.Constexpr,
) -> None:
    kinds = [utils.LayoutEnum.from_tensor(t) for t in (a, b)]
    mma = sm90_utils.make_trivial_tiled_mma(
        cutlass.Float16, cutlass.Float16, *(k.sm90_mma_major_mode() for k in kinds),
        cutlass.Float32, (1, 1, 1), TILE[:2],
    )  # fmt: skip
    layout_a = sm90_utils.make_smem_layout_a(kinds[0], TILE, cutlass.Float16, STAGES)
    layout_b = sm90_utils.make_smem_layout_b(kinds[1], TILE, cutlass.Float16, STAGES)
    op = cpasync.CopyBulkTensorTileG2SOp()
    (atom_a, ta), (atom_b, tb) = (
        cpasync.make_tiled_tma_atom(op, t, cute.slice_(s, (None, None, 0)), (64, 64))
        for t, s in ((a, layout_a), (b, layout_b))
    )
    tiles = (*cute.ceil_div(c.shape, TILE[:2]), 1)
    params = utils.PersistentTileSchedulerParams(tiles, (1, 1, 1), swizzle_size=2)
    grid = utils.StaticPersistentTileScheduler.get_grid_shape(params, 2)
    gemm_kernel(atom_a, ta, atom_b, tb, c, mma, layout_a, layout_b, params, fault).launch(
        grid=grid, block=[160, 1, 1]
    )


def run(m: int, n: int, k: int, a_major: str = "k", b_major: str = "k", fault: str = "") -> Any:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (rows, k)).astype(np.float16) for rows in (m, n))
    c = np.zeros((m, n), np.float16)
    stored = [
        np.asfortranarray(x) if major != "k" else x for x, major in ((a, a_major), (b, b_major))
    ]
    with KNOBS.override(target="sim", sim_check=True):
        gemm(*(from_dlpack(t, assumed_align=16) for t in (*stored, c)), fault)
    return c, a.astype(np.float32) @ b.astype(np.float32).T


@pytest.mark.parametrize(("a_major", "b_major"), [("k", "k"), ("m", "n"), ("k", "n")])
def test_products(a_major: str, b_major: str) -> None:
    got, want = run(128, 192, 192, a_major, b_major)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("fault", "error", "text"),
    [
        ("fence", SimulationError, "fence"),
        ("commit", SimulationError, "commit|wait"),
        ("wait", SimulationError, "wait"),
        ("early release", RaceError, "product|wgmma|reads"),
    ],
)
def test_what_is_left_out_is_reported(fault: str, error: Any, text: str) -> None:
    with pytest.raises(OpenCuTeError, match=text) as raised:
        run(128, 64, 256, fault=fault)
    assert isinstance(raised.value, error)
    assert "test_gemm.py" in str(raised.value)
