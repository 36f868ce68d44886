# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Units read the shared memory of the block that started them, wherever that begins."""

from __future__ import annotations

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import cpasync
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0

TILE = (16, 32)  # 2 KB, and blocks are 3 KB apart


@cute.kernel
def write_kernel(atom: cute.CopyAtom, coords: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    memory = utils.SmemAllocator()
    layout = cute.make_layout(TILE, stride=(TILE[1], 1))
    smem = memory.allocate_tensor(cutlass.Float32, layout, 128)
    rest = memory.allocate_tensor(cutlass.Float32, cute.make_layout(256), 128)
    rest[tid] = cutlass.Float32(0.0)
    for i in cutlass.range_constexpr(TILE[0]):
        smem[i, tid] = cutlass.Float32(100 * block + i)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    source, target = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(smem, 0, 2),
        cute.group_modes(cute.local_tile(coords, TILE, (block, 0)), 0, 2),
    )  # fmt: skip
    cute.copy(atom, source, target)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def write(out: cute.Tensor, op: cutlass.Constexpr):
    layout = cute.make_layout(TILE, stride=(TILE[1], 1))
    atom, coords = cpasync.make_tiled_tma_atom(op, out, layout, TILE)
    write_kernel(atom, coords).launch(grid=[3, 1, 1], block=[32, 1, 1])


@pytest.mark.parametrize("reduces", [False, True])
def test_runs_longer_than_what_blocks_start_at(reduces: bool) -> None:
    out = np.ones((48, 32), np.float32)
    op = cpasync.CopyReduceBulkTensorTileS2GOp() if reduces else cpasync.CopyBulkTensorTileS2GOp()
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        write(from_dlpack(out, assumed_align=16), op)
    rows = np.arange(48) % 16 + 100 * (np.arange(48) // 16) + reduces
    np.testing.assert_array_equal(out, np.repeat(rows[:, None], 32, 1))
