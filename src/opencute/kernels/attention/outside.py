# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Zeros where arrays of sequences end to end have rows that belong to none.

In: results (rows, heads, elements) and where sequences start. Out: zeros before the first sequence,
behind the last one, and behind the longest that is said to be there::

    clear_outside(dq, dk, dv, starts_q, starts_k, longest_q, longest_k)

Mostly there are no such rows: looking costs a few microseconds, clearing all rows beforehand as
much as a pass over the results.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute

__all__ = ["clear_kernel", "clear_outside"]

THREADS = 256
ENDS = 64  # blocks for what is before the first and behind the last sequence


@cute.jit
def clear_rows(t: cute.Tensor, first: Any, end: Any, part: Any, parts: cutlass.Constexpr[int]):
    """Zeros from one row to another, 16 bytes for each of some threads at a time."""
    across = cutlass.Int64(cute.size(t, mode=[1]) // 8)
    zeros = cute.make_rmem_tensor(8, t.element_type)
    zeros.fill(0.0)
    for at in range(first * across + part, end * across, parts):
        start = t.iterator + cute.assume(8 * at, divby=8)
        cute.autovec_copy(zeros, cute.make_tensor(start.align(16), cute.make_layout(8)))


@cute.kernel
def clear_kernel(tensors: Any, starts: cute.Tensor, longest: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    count = starts.shape[0] - 1
    for i in cutlass.range_constexpr(len(tensors)):
        t = tensors[i]
        if block < count:
            first, end = starts[block], starts[block + 1]
            clear_rows(t, first + cutlass.min(end - first, longest), end, tid, THREADS)
        else:
            part = (block - count) * THREADS + tid
            clear_rows(t, 0, starts[0], part, THREADS * ENDS)
            clear_rows(t, starts[count], t.shape[0], part, THREADS * ENDS)


@cute.jit
def clear_outside(
    q: cute.Tensor,
    k: Any,
    v: Any,
    starts_q: cute.Tensor,
    starts_k: Any,
    longest_q: cutlass.Int32,
    longest_k: cutlass.Int32,
):
    """Launch the kernels.

    Args:
        q: (rows, heads, elements), contiguous, what belongs to queries.
        k, v: the same of keys, or None.
        starts_q, starts_k: where sequences start along both, and where the last one ends, of i32.
        longest_q, longest_k: rows of the longest sequences that are computed.
    """
    mQ, mK, mV = (None if t is None else as_rows(t) for t in (q, k, v))
    grid = [starts_q.shape[0] - 1 + ENDS, 1, 1]
    clear_kernel((mQ,), starts_q, longest_q).launch(grid=grid, block=[THREADS, 1, 1])
    if cutlass.const_expr(mK is not None):
        clear_kernel((mK, mV), starts_k, longest_k).launch(grid=grid, block=[THREADS, 1, 1])


def as_rows(t: Any) -> Any:
    """A contiguous tensor (rows, heads, elements) as (rows, heads * elements)."""
    rows, heads, elements = t.shape
    width = cute.assume(heads * elements, divby=8)
    layout = cute.make_layout((rows, width), stride=(width, 1))
    return cute.make_tensor(t.iterator.align(16), layout)
