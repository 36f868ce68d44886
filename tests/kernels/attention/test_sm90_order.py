# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which tiles blocks that stay have of sequences that lie end to end: each once, and all blocks
alike much to do."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.kernels.attention.reference import attention as reference
from opencute.kernels.attention.sm90 import WarpgroupPlan
from opencute.kernels.attention.sm90_order import Order, locate
from opencute.kernels.attention.sm90_persistent import attention_persistent

pytestmark = pytest.mark.t0

HEADS, SECTION = 5, 3


@cute.kernel
def _note(mTaken: Any, starts: Any, numbers: Any, plan: cutlass.Constexpr[WarpgroupPlan]):
    total = locate(0, starts, HEADS, plan.m)[2]
    order: Any = Order(*numbers, (64, 64), (starts, starts), plan, total)
    for turn in range(order.count()):
        tile, head, sequence = order.tile(turn)
        if cute.arch.lane_idx() == 0:
            mTaken[cute.arch.block_idx()[0], sequence, head, tile] += 1


@cute.jit
def _launch(mTaken: Any, starts: Any, longest: cutlass.Int32,
            plan: cutlass.Constexpr[WarpgroupPlan]):  # fmt: skip
    sequences = starts.shape[0] - 1
    numbers = (cute.ceil_div(longest, plan.m), HEADS, HEADS * sequences, SECTION, 2)
    order: Any = Order(*numbers, (longest, longest), (starts, starts), plan)
    _note(mTaken, starts, numbers, plan).launch(grid=[order.grid(), 1, 1], block=[32, 1, 1])


def _taken(lengths: list[int], blocks: int, after: int | None) -> Any:
    """How often each block has each tile: (blocks, sequences, heads, tiles)."""
    starts = np.cumsum([0, *lengths]).astype(np.int32)
    longest = max(lengths)
    plan = WarpgroupPlan(cutlass.Float16, 64, 2, 64, 2, None, after, 1, 1, blocks)
    taken = np.zeros((4 * blocks, len(lengths), HEADS, -(-longest // plan.m)), np.int32)
    _launch(taken, starts, longest, plan)
    return taken


@pytest.mark.parametrize("after", [None, 0])
@pytest.mark.parametrize(
    ("lengths", "blocks"), [([1000, 1, 0, 640], 4), ([300], 16), ([128] * 40, 7), ([900, 70], 21)]
)
def test_each_tile_is_taken_once(lengths: list[int], blocks: int, after: int | None) -> None:
    taken = _taken(lengths, blocks, after).sum((0, 2))
    for sequence, length in enumerate(lengths):
        tiles = -(-length // 128)
        assert taken[sequence].tolist() == [HEADS] * tiles + [0] * (taken.shape[1] - tiles)


@pytest.mark.parametrize("lengths", [[2048] * 4, [2048, 1500, 700, 1900], [640] * 20])
def test_blocks_have_alike_much_to_do(lengths: list[int]) -> None:
    taken = _taken(lengths, 12, 0)
    seen = taken.sum((1, 2)) @ np.arange(1, taken.shape[3] + 1)  # tiles of keys, where causal
    busy, alone = seen[:12].copy(), seen[12:]
    for tiles in alone:  # of the last two rounds, and what is left, where there is room first
        busy[busy.argmin()] += tiles
    assert busy.max() <= 1.06 * busy.mean() and 24 <= np.count_nonzero(alone) < 36


def test_results_of_sequences(checked: None) -> None:
    lengths, longest = [200, 1, 330], 330
    starts = np.cumsum([0, *lengths]).astype(np.int32)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, starts[-1], 1, 64)).astype(np.float16) for _ in range(3))
    out, logs = np.full_like(q, 7), np.zeros((1, 1, starts[-1]), np.float32)
    plan = WarpgroupPlan(cutlass.Float16, 64, 2, 64, 2, None, 0, 1, 2, 2)
    attention_persistent(
        q, k, v, out, logs, starts, starts, longest, 0.125 * float(np.log2(np.e)), plan
    )
    for first, end in itertools.pairwise(starts):
        part = slice(first, end)
        want, want_logs = reference(*(x[:, part] for x in (q, k, v)), 0.125, causal=True)
        np.testing.assert_allclose(out[:, part].astype(np.float64), want, rtol=2e-3, atol=1e-3)
        np.testing.assert_allclose(logs[..., part], want_logs, rtol=1e-5, atol=1e-5)
