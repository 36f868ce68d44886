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
from opencute.sim.fused.memory import SPACED, MemoryPatience, evenly, gather

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


def test_tiles_are_what_their_offsets_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryPatience, "left", 0)
    raw = np.random.default_rng(0).integers(0, 256, 1 << 14, np.uint8)
    offsets = np.random.default_rng(1).integers(0, 1 << 9, (3, 50)) * 16
    starts = np.array([0, 32, 16, 4096, 64, 8, 128, 256])
    origin = np.array([[0], [16], [64]])
    for width in (1, 2, 4, 8, 16):
        limits = {"width": width, "last": (1 << 13) + 4500, "low": min(width, 8) - 1, "base": 0}
        whole = gather(raw, offsets[..., None] + starts, origin=origin, **limits)
        assert whole is not None
        tiles = gather(raw, offsets, starts, origin=origin, **limits)
        np.testing.assert_array_equal(tiles, whole)
        places = offsets[..., None] + starts + origin[..., None]
        np.testing.assert_array_equal(tiles, raw[places[..., None] + np.arange(width)])
        bad = starts.copy()
        bad[3] = 1 << 15  # beyond the end
        assert gather(raw, offsets, bad, origin=origin, **limits) is None
        bad[3] = 4097  # not aligned
        assert (gather(raw, offsets, bad, origin=origin, **limits) is None) == (width > 1)


def test_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.arange(0, 4000, 4)
    other = numbers.copy()
    other[500] += 4
    for patience in (1 << 40, 0):
        monkeypatch.setattr(SPACED, "patience", patience)
        assert evenly(numbers, 4) and evenly(numbers[::2], 8)
        assert not evenly(numbers, 8) and not evenly(other, 4)
