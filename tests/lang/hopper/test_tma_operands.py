# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tiles in the order of an MMA's partitions, multicast, prefetches: against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from lang.hopper.tma_kernels import assembled, tensor
from opencute import cute, utils
from opencute.base.errors import TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import cpasync, warpgroup

pytestmark = pytest.mark.t0
MNK = (128, 64, 64)


def tiled_mma() -> Any:
    op = warpgroup.MmaF16BF16Op(
        cutlass.Float16, cutlass.Float32, (64, 64, 16), warpgroup.OperandSource.SMEM,
        warpgroup.OperandMajorMode.K, warpgroup.OperandMajorMode.K,
    )  # fmt: skip
    return cute.make_tiled_mma(op)


def layouts(which: str) -> tuple[Any, Any, Any]:
    """Of one tile in shared memory: plain, as the MMA reads it, and swizzled."""
    rows = MNK[0] if which == "A" else MNK[1]
    plain = cute.tile_to_shape(cute.make_layout((8, 64), stride=(64, 1)), (rows, 64), (0, 1))
    order = tiled_mma().view(plain, which)[1]
    return plain, order, cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, order)


@cute.kernel
def operand_kernel(
    info: cpasync.TmaInfo, dst: cute.Tensor, which: cutlass.Constexpr, fetch: cutlass.Constexpr
):
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    plain, order, whole = layouts(which)
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    smem = memory.allocate_tensor(cutlass.Float16, order, 1024, swizzle=whole.inner)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(bar, 1)
        size = cute.size_in_bytes(cutlass.Float16, plain)
        cute.arch.mbarrier_arrive_and_expect_tx(bar, size)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    rows = plain.shape[0] if isinstance(plain.shape[0], int) else cute.size(plain, mode=[0])
    tile = cute.local_tile(info.tma_tensor, (rows, 64), (bx, by))
    thr = tiled_mma().get_slice(0)
    part = thr.partition_A(tile) if which == "A" else thr.partition_B(tile)
    s, g = cpasync.tma_partition(
        info.atom,
        0,
        cute.make_layout(1),
        cute.group_modes(smem, 0, 3),
        cute.group_modes(part, 0, 3),
    )
    if cutlass.const_expr(fetch):
        cpasync.prefetch_descriptor(info.atom)
        cute.prefetch(info.atom, g)
    cute.copy(info.atom, g, s, tma_bar_ptr=bar, cache_policy="evict_last")
    cute.arch.mbarrier_wait(bar, 0)
    view = cute.make_tensor(smem.iterator, plain)
    out = cute.local_tile(dst, (rows, 64), (bx, by))
    for i in range(tid, rows * 64, 32):
        out[i % rows, i // rows] = view[i % rows, i // rows]


@cute.jit
def operand(
    a: cute.Tensor, b: cute.Tensor, which: cutlass.Constexpr, fetch: cutlass.Constexpr = True
):
    op = cpasync.CopyBulkTensorTileG2SOp()
    smem = layouts(which)[2]
    make = cute.nvgpu.make_tiled_tma_atom_A if which == "A" else cute.nvgpu.make_tiled_tma_atom_B
    info = make(op, a, smem, MNK, tiled_mma(), (1, 1, 1, 1))
    rows = MNK[0] if which == "A" else MNK[1]
    operand_kernel(info, b, which, fetch).launch(
        grid=(a.shape[0] // rows, a.shape[1] // 64, 1), block=(32, 1, 1)
    )


def arrays() -> tuple[Any, Any]:
    a = (np.arange(256 * 128) % 1021).astype(np.float16).reshape(256, 128)
    return a, np.zeros_like(a)


@pytest.mark.parametrize("which", ["A", "B"])
def test_operands_of_an_mma(which: str) -> None:
    a, b = arrays()
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        operand(tensor(a), tensor(b), which)
    np.testing.assert_array_equal(a, b)


def test_what_is_no_tiled_mma() -> None:
    @cute.jit
    def host(a: cute.Tensor):
        op = cpasync.CopyBulkTensorTileG2SOp()
        cute.nvgpu.make_tiled_tma_atom_A(op, a, layouts("A")[2], MNK, None)

    with KNOBS.override(target="sim:sm_90a"), pytest.raises(TypeMismatchError) as e:
        host(tensor(arrays()[0]))
    assert e.value.code == "OC1278"


@pytest.mark.t1
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_machine_code(arch: str) -> None:
    a, b = arrays()
    with KNOBS.override(target="sim:sm_90a"):
        made = assembled(cute.compile(operand, tensor(a), tensor(b), "A"), arch)
    assert made.cubin and ".L2::cache_hint" in made.ptx
    assert "prefetch.tensormap" in made.ptx and "cp.async.bulk.prefetch.tensor.2d" in made.ptx
