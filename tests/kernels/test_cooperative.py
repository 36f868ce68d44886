# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks that wait for each other: a barrier of the whole grid, and launches too large for one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import DeviceError, RaceError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0
arch = cute.arch


@cute.kernel
def meet_kernel(count: cute.Tensor, out: cute.Tensor):
    tid, _, _ = arch.thread_idx()
    bid, _, _ = arch.block_idx()
    blocks, _, _ = arch.grid_dim()
    out[bid] = bid + 1
    arch.sync_threads()
    if tid == 0:
        arch.fence_acq_rel_gpu()
        arch.atomic_add(count.iterator, 1, sem="release", scope="gpu")
        while arch.load(count.iterator, cutlass.Int32, sem="acquire", scope="gpu") < blocks:
            pass
    arch.sync_threads()
    if tid == 0:
        other = (bid + 1) % blocks
        value = arch.load(out.iterator + other, sem="relaxed", scope="gpu")
        arch.atomic_add(out.iterator + blocks + bid, value)


@cute.jit
def meet(
    count: cute.Tensor, out: cute.Tensor, blocks: cutlass.Constexpr, threads: cutlass.Constexpr
):
    meet_kernel(count, out).launch(grid=blocks, block=threads, cooperative=True)


def _run(where: str, blocks: int, threads: int) -> Any:
    count, out = np.zeros(1, np.int32), np.zeros(2 * blocks, np.int32)
    with KNOBS.override(target=where):
        meet(from_dlpack(count), from_dlpack(out), blocks, threads)
    return out[blocks:]


def test_blocks_meet():
    np.testing.assert_array_equal(_run("sim:sm_90a", 8, 64), [2, 3, 4, 5, 6, 7, 8, 1])


def test_a_grid_that_cannot_be_resident_is_refused():
    with pytest.raises(DeviceError, match="does not fit the device") as caught:
        _run("sim:sm_90a", 10000, 1024)
    assert caught.value.code == "OC4720" and caught.value.error_code == 720


@cute.kernel
def turns_kernel(turn: cute.Tensor, out: cute.Tensor, sem: cutlass.Constexpr):
    tid, _, _ = arch.thread_idx()
    bid, _, _ = arch.block_idx()
    if tid == 0:
        while arch.load(turn.iterator, cutlass.Int32, sem="acquire", scope="gpu") != bid:
            pass
    arch.sync_threads()
    out[tid] = out[tid] * 2 + bid
    arch.sync_threads()
    if tid == 0:
        arch.store(turn.iterator, bid + 1, sem=sem, scope="gpu")


@cute.jit
def turns(turn: cute.Tensor, out: cute.Tensor, blocks: cutlass.Constexpr, sem: cutlass.Constexpr):
    turns_kernel(turn, out, sem).launch(grid=blocks, block=64)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_blocks_take_turns(seed: int) -> None:
    """A block goes on while those after it still wait at the same place."""
    for sem in ("release", "relaxed"):
        turn, out = np.zeros(1, np.int32), np.zeros(64, np.int32)
        with KNOBS.override(target="sim", sim_check=True, sim_seed=seed):
            if sem == "release":
                turns(from_dlpack(turn), from_dlpack(out), 5, sem)
                np.testing.assert_array_equal(out, np.full(64, 26))  # 0, 1, 4, 11, 26
            else:
                with pytest.raises(RaceError):
                    turns(from_dlpack(turn), from_dlpack(out), 5, sem)


@pytest.mark.t2
def test_gpu():
    np.testing.assert_array_equal(_run("cuda", 8, 64), [2, 3, 4, 5, 6, 7, 8, 1])
    with pytest.raises(DeviceError) as caught:
        _run("cuda", 10000, 1024)
    assert caught.value.error_code == 720
