# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The derivatives of attention with warpgroups where dK and dV together exceed the registers: heads
of 192 and 256 elements, in two kernels.

One makes dV, of which each warpgroup keeps that of 64 keys: scores, weights and dV are two products
of a tile. The other makes dK, and dQ on the way: scores, dO V^T, dK and dQ. So scores are made
twice, six products instead of five, but blocks have 128 keys as for smaller heads: with half as
many, queries were read, and dQ were added to, twice as often, more than the L2 cache delivers.

In: what a warpgroup has. Out: its dK or dV of a tile of queries more::

    visit_keys(worker, sums, loads, states, step, place, after, scale_log2, False)

Floor: twelve products of 2 B H Sq Sk D / 2 operations, 4.1 ms for 4x16x4096x256 at 800 Tflop/s.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.attention.sm90_backward_sums import Sums, add_by_threads
from opencute.kernels.attention.sm90_backward_worker import (
    Worker,
    clear,
    mask,
    start_next,
    weigh_tile,
)

__all__ = ["visit_keys", "visit_values"]

warpgroup = cute.nvgpu.warpgroup


@cute.jit
def visit_values(
    worker: cutlass.Constexpr[Worker], loads: Any, states: Any, place: Any, after: Any,
    scale_log2: Any, last: cutlass.Constexpr[bool],
):  # fmt: skip
    """dV of a tile of queries, whose scores are there; those of the next one are made as well.

    While a warpgroup makes weights, the other one's products run.

    Args:
        loads: pipelines of Q and dO.
        states: of them, of this tile's buffers.
        place: head and tile of queries.
        after: the next tile of queries.
        last: whether no tile follows.
    """
    plan = worker.plan
    queries, grads = loads
    of_q, of_g = states
    worker.renew()
    worker.describe()
    worker.weigh(of_q.index, scale_log2)
    worker.has_read(of_q.index)
    queries.consumer_release(of_q)
    if cutlass.const_expr(not last):
        following = of_q.clone()
        following.advance()
        start_next(worker, queries, following, after)
    mask(worker, place[1])
    worker.narrowed(worker.rP, worker.weights)
    grads.consumer_wait(of_g)
    if cutlass.const_expr(plan.ragged):
        clear(worker, 3, of_g.index, worker.reach.queries_left(place[1]), plan.m)
    warpgroup.fence()
    worker.start_dv(of_g.index)
    warpgroup.wait_group(0)
    grads.consumer_release(of_g)


@cute.jit
def visit_keys(
    worker: cutlass.Constexpr[Worker], sums: cutlass.Constexpr[Sums], loads: Any, states: Any,
    step: Any, place: Any, after: Any, scale_log2: Any, last: cutlass.Constexpr[bool],
):  # fmt: skip
    """dK and dQ of a tile of queries, whose scores are there; those of the next one are made too.

    dK comes before dQ: Q, of which there may be one tile, is loaded again beside dQ.

    Args:
        loads, states, place, after, last: as for `visit_values`.
        step: how many tiles there were.
    """
    plan = worker.plan
    queries, grads = loads
    of_q, of_g = states
    head, tile = place
    weigh_tile(worker, grads, states, tile, scale_log2)
    warpgroup.wait_group(0)
    worker.slope(of_q.index)
    grads.consumer_release(of_g)
    worker.narrowed(worker.rG, worker.slopes)
    worker.put_slopes(step % 2)
    warpgroup.fence()
    worker.start_dk(of_q.index)
    worker.meet()  # all of dS is there
    worker.start_dq(step % 2)
    warpgroup.wait_group(1)  # dK is there
    queries.consumer_release(of_q)
    for part in cutlass.range_constexpr(1, plan.rounds):
        worker.start_dq(step % 2, part)
        warpgroup.wait_group(1)
        add_by_threads(worker, sums, head, tile, part - 1)
    warpgroup.wait_group(0)
    if cutlass.const_expr(plan.rounds > 1):
        # Beside the next scores there are no registers for them.
        add_by_threads(worker, sums, head, tile, plan.rounds - 1)
        cute.arch.sync_warp()  # or ptxas keeps them until then
    if cutlass.const_expr(not last):
        following = of_q.clone()
        following.advance()
        start_next(worker, queries, following, after)
    if cutlass.const_expr(plan.rounds == 1):
        add_by_threads(worker, sums, head, tile)
    warpgroup.wait_group(0)
