# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: cumulative sums of torch or NumPy arrays.

y = cumsum(x, 0)                          # y[i] = x[0] + ... + x[i]
starts = cumsum(lengths, exclusive=True)  # y[i] = x[0] + ... + x[i - 1]
"""

from __future__ import annotations

import math
import operator
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.base.interned import interned
from opencute.kernels.arrays import (
    contiguous,
    empty_like,
    floating,
    item_bits,
    multiprocessors,
    permuted,
    row_major,
    same_shape,
    strides,
    vector_elements,
    viewed,
    zeros,
)
from opencute.kernels.checked import checked, separate
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.scan.sm80 import Across, Along, scan_across, scan_along, scan_tiles
from opencute.kernels.scan.sm80_across import AcrossTiles, scan_across_tiles

__all__ = ["cumsum"]


@checked(arrays="x", optional="out", integers="axis")
@repeated
@separate(inplace="x")
def cumsum(x: Any, axis: int = -1, *, exclusive: bool = False, out: Any = None) -> Any:
    """The sums of an array's elements up to each of them, along an axis.

    Args:
        x: array of f16, bf16 or f32; it is copied if no axis is contiguous, or another one than in
            `out`.
        axis: which axis, negative ones from the end.
        exclusive: whether an element's own value is left out of its sum.
        out: where the result goes, possibly `x` itself; an axis of it is contiguous. When omitted,
            a new array whose axes lie in memory as those of `x` do.

    Returns:
        The result, in the type of `x` or `out`; it is computed in f32, in an order that depends on
        the shape only.

    Raises:
        ArgumentError: there is no such axis, or a shape or type does not fit.
    """
    same_shape(x=x, out=out)
    floating(x=x, out=out)
    shape = tuple(int(s) for s in x.shape)
    axis = operator.index(axis)
    at = axis + len(shape) if axis < 0 else axis
    if not 0 <= at < len(shape):
        raise ArgumentError(
            "there is no such axis", code="OC2509", found=axis,
            expected=f"{-len(shape)} to {len(shape) - 1}, axes of the shape {shape}",
        )  # fmt: skip
    axes = _in_memory(x if out is None else out)
    back = tuple(axes.index(i) for i in range(len(axes)))
    if out is None:
        out = permuted(empty_like(x, tuple(shape[i] for i in axes)), back)
    if 0 not in shape:
        _scan(permuted(x, axes), permuted(out, axes), axes.index(at), exclusive)
    return out


def _in_memory(array: Any) -> tuple[int, ...]:
    """The axes of an array, the last of which is contiguous if any is."""
    axes, steps = tuple(range(len(array.shape))), strides(array)
    long = [i for i in axes if int(array.shape[i]) > 1]
    if not long or steps[long[-1]] == 1:
        return axes
    return tuple(sorted(axes, key=lambda i: (i in long, -steps[i])))


def _scan(x: Any, out: Any, at: int, exclusive: bool) -> None:
    """Scan along an axis; the last one of `out` is contiguous."""
    shape = tuple(int(s) for s in x.shape)
    split = (math.prod(shape[:at]), shape[at], math.prod(shape[at + 1 :]))
    if split[2] == 1:  # the last axis but for those of one element
        split = split[:2]
    source, into = viewed("x", x, split), viewed("out", out, split, written=True)
    if not row_major(into):
        name = "out, as its axes lie in memory,"
        raise ArgumentError(
            f"the last axis of {name} is not contiguous", code="OC2501", expected="stride 1",
            found=f"strides {strides(out)}", hint="pass a contiguous array",
        )  # fmt: skip
    source = source if row_major(source) else contiguous(source)
    (_scan_along if len(split) == 2 else _scan_across)(source, into, exclusive)


def _vec(x: Any, out: Any) -> int:
    return vector_elements(int(x.shape[-1]), max(item_bits(x), item_bits(out)), x, out)


def _scan_along(x: Any, out: Any, exclusive: bool) -> None:
    vec = _vec(x, out)
    rows, vectors = int(x.shape[0]), int(x.shape[1]) // vec
    warps = 1
    while warps < 8 and warps * 32 * 2 < vectors:
        warps *= 2
    how = Along(warps, vec, 4 if vectors > warps * 32 * 2 else 2 if vectors > warps * 32 else 1)
    tiles = -(-vectors // how.vectors)
    if tiles > 4 and rows < multiprocessors(x):  # rows alone are too few to fill the device
        state = zeros(x, (rows, tiles + 1), "int64")
        scan_tiles(x, state, out, how, exclusive)
    else:
        scan_along(x, out, how, exclusive)


def _across_tiles(x: Any, outer: int, inner: int, most: int) -> AcrossTiles:
    """Tiles of 16 to 32 KiB, narrow and long where few of them are side by side.

    Args:
        most: elements that a thread may move at once.
    """
    bytes_each = item_bits(x) // 8
    vec = min(most, 8 // bytes_each)
    while vec * bytes_each > 4 and outer * -(-inner // (32 * vec)) < 16:
        vec //= 2
    few = outer * -(-inner // (32 * vec)) <= 16
    return interned(AcrossTiles(vec, 8, min(128 // bytes_each // vec, 32), 16 if few else 8))


def _scan_across(x: Any, out: Any, exclusive: bool) -> None:
    vec = _vec(x, out)
    outer, n, inner = (int(s) for s in x.shape)
    vectors = inner // vec
    how, shared = Across(32 * min(-(-vectors // 32), 4), vec), _across_tiles(x, outer, inner, vec)
    blocks, tiles = outer * -(-inner // shared.columns), -(-n // shared.rows)
    # Blocks that go down all rows are too few to fill the device.
    few = outer * -(-vectors // how.threads) < 2 * multiprocessors(x)
    if few and tiles > 1 and blocks * tiles < 1 << 31:
        state = zeros(x, (blocks, tiles * shared.columns), "int64")
        ticket = zeros(x, (1,), "int32")
        scan_across_tiles(x, state, ticket, out, tiles, shared, exclusive)
    else:
        scan_across(x, out, how, exclusive)
