# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of eight bits in sixteen, for kernels that multiply those.

In: arrays (B, S, H, D) of e4m3 or e5m2, with any strides of rows. Out: new contiguous ones of f16
or bf16, with the same numbers: f16 has the exponents of e5m2 and more digits than both, bf16 more
of either::

    q, k, v = widened(grad.dtype, q, k, v)

One launch for all arrays. A thread reads eight times up to 8 bytes, each of which it writes as 16:
with twice as many, a warp's writes would be halves of 32 bytes, and took 155 us on an H200 for
three arrays of 4x4096x16x128, from e4m3 to bf16.

Floor: three bytes an element, of which one is read: 72 us there, at the 4.2 TB/s that a copy
reaches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.base.interned import interned
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import contiguous, empty, row_major, strides, vector_elements

__all__ = ["WidenPlan", "widen", "widened"]

THREADS = 256
EACH = 8  # vectors of a thread
WIDEST = 8  # elements of one


@dataclass(frozen=True)
class WidenPlan:
    """What is fixed when the conversion is compiled.

    Args:
        row: elements of a row.
        vec: neighbouring elements that are moved at once: they divide the row.
        flat: whether rows lie one behind the other.
    """

    row: int
    vec: int
    flat: bool = False

    @property
    def index(self) -> Any:
        """The type of vectors' numbers: an array of short ones has more of them."""
        return cutlass.Int32 if self.vec >= 8 else cutlass.Int64


def widened(dtype: Any, *arrays: Any) -> list[Any]:
    """Arrays (B, S, H, D) in a type of 16 bits.

    Args:
        dtype: of the framework that they are from.
        arrays: of e4m3 or e5m2, with one D; none is empty.
    """
    arrays = tuple(t if row_major(t) else contiguous(t) for t in arrays)
    row = int(arrays[0].shape[-1])
    vec = min(WIDEST, *(vector_elements(row, 8, t) for t in arrays))
    plan = interned(WidenPlan(row, vec, all(_flat(t) for t in arrays)))
    results = [empty(t, tuple(t.shape), dtype) for t in arrays]
    marked = (
        tuple(from_dlpack(t).mark_layout_dynamic(leading_dim=3) for t in ts)
        for ts in (arrays, results)
    )
    widen(*marked, plan)
    return results


def _flat(array: Any) -> bool:
    """Whether elements lie in memory as in a new array."""
    reach = 1
    for n, step in zip(reversed(array.shape), reversed(strides(array)), strict=True):
        if n > 1 and step != reach:
            return False
        reach *= int(n)
    return True


@cute.jit
def widen_part(
    source: cute.Tensor, result: cute.Tensor, block: Any, tid: Any,
    plan: cutlass.Constexpr[WidenPlan],
):  # fmt: skip
    """The share of a block of an array; vectors behind its end are read, and not written, like the
    last one."""
    vec, count = plan.vec, vectors_of(source, plan)
    held = cute.make_rmem_tensor((vec, EACH), source.element_type)
    first = plan.index(block) * (EACH * THREADS) + tid
    for i in cutlass.range_constexpr(EACH):
        at = cutlass.min(first + i * THREADS, count - 1)
        line = source.iterator + cute.assume(place_of(source, at, plan), divby=vec)
        part = cute.make_tensor(line.align(vec), cute.make_layout(vec))
        cute.autovec_copy(part, held[None, i])
    for i in cutlass.range_constexpr(EACH):
        at = first + i * THREADS
        if at < count:
            wide = cute.make_rmem_tensor(vec, result.element_type)
            wide.store(held[None, i].load().to(result.element_type))
            line = result.iterator + cute.assume(cutlass.Int64(at) * vec, divby=vec)
            into = cute.make_tensor(line.align(2 * vec), cute.make_layout(vec))
            cute.autovec_copy(wide, into)


def place_of(source: Any, at: Any, plan: WidenPlan) -> Any:
    """Where an array has a vector of a number."""
    if plan.flat:
        return cutlass.Int64(at) * plan.vec
    across = plan.row // plan.vec
    _, length, heads, _ = source.shape
    b, s, h, _ = (cutlass.Int64(step) for step in source.stride)
    column, row = at % across * plan.vec, at // across
    head, row = row % heads, row // heads
    return b * (row // length) + s * (row % length) + h * head + column


def vectors_of(source: Any, plan: WidenPlan) -> Any:
    """How many vectors an array has."""
    batches, length, heads, _ = source.shape
    return plan.index(batches) * length * heads * (plan.row // plan.vec)


def blocks_of(source: Any, plan: WidenPlan) -> Any:
    """How many blocks an array takes."""
    return cutlass.Int32(cute.ceil_div(vectors_of(source, plan), EACH * THREADS))


@cute.kernel
def widen_kernel(sources: Any, results: Any, plan: cutlass.Constexpr[WidenPlan]):
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    for i in cutlass.range_constexpr(len(sources)):
        count = blocks_of(sources[i], plan)
        if block >= 0 and block < count:
            widen_part(sources[i], results[i], block, tid, plan)
        block = block - count


@cute.jit
def widen(sources: Any, results: Any, plan: cutlass.Constexpr[WidenPlan]):
    """Launch the kernel.

    Args:
        sources: (B, S, H, D) of eight bits, rows contiguous, at multiples of `plan.vec`.
        results: the same of f16 or bf16, contiguous.
    """
    blocks = sum(blocks_of(t, plan) for t in sources)
    widen_kernel(sources, results, plan).launch(grid=[blocks, 1, 1], block=[THREADS, 1, 1])
