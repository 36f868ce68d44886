# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rows in parts, one for each block of a cluster.

In: matrices and vectors, and how a block's threads share its part. Out: the same with a mode more::

    gX = matrix_of(x, rows, blocks)     # (M, blocks, rows.n)
    rows.load(gX[row, rank, None], thread, 0.0)
"""

from __future__ import annotations

from typing import Any

from opencute import cute
from opencute.lib.rows import Rows

__all__ = ["both", "matrix_of", "vector_of"]


def matrix_of(t: Any, rows: Rows, blocks: int) -> Any:
    """A matrix as (rows, parts, elements of a part), with what is known of it; None stays None."""
    if t is None:
        return None
    stride = cute.assume(t.stride[0], divby=rows.vec)
    layout = cute.make_layout((t.shape[0], blocks, rows.n), stride=(stride, rows.n, 1))
    return cute.make_tensor(t.iterator, layout)


def vector_of(t: Any, rows: Rows, blocks: int) -> Any:
    """A vector as (parts, elements of a part); None stays None."""
    layout = cute.make_layout((blocks, rows.n), stride=(rows.n, 1))
    return None if t is None else cute.make_tensor(t.iterator, layout)


def both(weight: Any, bias: Any, rows: Rows, rank: Any, thread: Any) -> Any:
    """A thread's elements of a part of weight and bias, of what there is."""
    return tuple(
        None if t is None else rows.load_raw(t[rank, None], thread, 0.0) for t in (weight, bias)
    )
