# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The results of blocks that share the keys of a sequence, put together.

In: for each split the result of its keys in f32, and the logarithm of the sum of its weights. Out:
the result of all keys. A warp has a row; a split that had no key for it is not read.

Floor: bytes of the parts and of the result over the bandwidth.
"""

from __future__ import annotations

import math
from typing import Any

import opencute as cutlass
from opencute import cute

__all__ = ["combine"]

WARPS = 4
VEC = 4


@cute.kernel
def combine_kernel(gParts: cute.Tensor, gLogs: cute.Tensor, gOut: cute.Tensor, gLse: Any):
    row = cute.arch.block_idx()[0] * WARPS + cute.arch.warp_idx()
    lane = cute.arch.lane_idx()
    splits, batches, queries, heads, size = gParts.shape
    head, rest = row % heads, row // heads
    query, batch = rest % queries, rest // queries
    if batch < batches:
        most = -cutlass.Float32.inf
        for s in range(splits):
            most = cute.arch.fmax(most, gLogs[s, batch, head, query])
        level = cutlass.Float32(0.0) if most == -cutlass.Float32.inf else most
        total = cutlass.Float32(0.0)
        for s in range(splits):
            log = gLogs[s, batch, head, query]
            total = total + cute.math.exp2((log - level) * math.log2(math.e), fastmath=True)
        factor = 0.0 if total == 0.0 else 1.0 / total
        for v in range(lane, size // VEC, 32):
            sums = cute.make_rmem_tensor(VEC, cutlass.Float32)
            sums.fill(0.0)
            for s in range(splits):
                log = gLogs[s, batch, head, query]
                if log > -cutlass.Float32.inf:
                    part = cute.make_rmem_tensor(VEC, cutlass.Float32)
                    source = cute.local_tile(gParts[s, batch, query, head, None], (VEC,), (v,))
                    cute.autovec_copy(source, part)
                    weight = cute.math.exp2((log - level) * math.log2(math.e), fastmath=True)
                    sums.store(sums.load() + part.load() * (weight * factor))
            result = cute.make_rmem_tensor(VEC, gOut.element_type)
            result.store(sums.load().to(gOut.element_type))
            into = cute.local_tile(gOut[batch, query, head, None], (VEC,), (v,))
            cute.autovec_copy(result, into)
        if cutlass.const_expr(gLse is not None):
            if lane == 0:
                log = level + cute.math.log2(total, fastmath=True) * math.log(2.0)
                gLse[batch, head, query] = log


def combine(parts: Any, logs: Any, out: Any, lse: Any) -> None:
    """Launch the kernel, from a function that is compiled.

    Args:
        parts: (splits, B, Sq, H, D) in f32; logs: (splits, B, H, Sq) in f32.
        out: (B, Sq, H, D); lse: (B, H, Sq) in f32, or None.
    """
    _, batches, queries, heads, _ = parts.shape
    grid = [cute.ceil_div(batches * queries * heads, WARPS), 1, 1]
    combine_kernel(_aligned(parts, VEC), logs, _aligned(out, VEC), lse).launch(
        grid=grid, block=[32 * WARPS, 1, 1]
    )


def _aligned(t: Any, vec: int) -> Any:
    """A tensor with what is known of it: rows start at multiples of vectors."""
    strides = tuple(cute.assume(s, divby=vec) for s in t.stride[:-1])
    return cute.make_tensor(t.iterator.align(vec * t.element_type.width // 8),
                            cute.make_layout(t.shape, stride=(*strides, 1)))  # fmt: skip
