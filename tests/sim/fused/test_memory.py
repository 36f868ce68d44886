# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Reading memory in one native pass gives what NumPy gives, whoever the lanes are."""

from __future__ import annotations

import numpy as np
import pytest

import opencute as cutlass
import opencute.cute as cute
from opencute import utils
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.sim.fused.memory import MemoryPatience

pytestmark = pytest.mark.t1
THREADS, BLOCKS = 128, 24


@cute.kernel
def mirror_kernel(x: cute.Tensor, y: cute.Tensor, some: cutlass.Constexpr):
    tid, _, _ = cute.arch.thread_idx()
    bid, _, _ = cute.arch.block_idx()
    tile = utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    tile[tid] = x[bid, tid]
    cute.arch.sync_threads()
    if cutlass.const_expr(not some) or (tid + bid) % 2 == 0:
        y[bid, tid] = tile[THREADS - 1 - tid]


@cute.jit
def mirror(x: cute.Tensor, y: cute.Tensor, some: cutlass.Constexpr):
    mirror_kernel(x, y, some).launch(grid=BLOCKS, block=THREADS)


@pytest.mark.parametrize("some", [False, True])
def test_shared_memory_of_many_blocks(monkeypatch: pytest.MonkeyPatch, some: bool) -> None:
    x = np.random.default_rng(0).random((BLOCKS, THREADS), np.float32)
    y = np.zeros_like(x)
    monkeypatch.setattr(MemoryPatience, "left", 0)
    with KNOBS.override(target="sim"):
        mirror(from_dlpack(x), from_dlpack(y), some)
    bid, tid = np.indices(x.shape)
    mine = (bid + tid) % 2 == 0 if some else np.ones(x.shape, np.bool_)
    np.testing.assert_array_equal(y, np.where(mine, x[:, ::-1], 0))
