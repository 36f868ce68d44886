# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: reductions of torch or NumPy arrays.

total = sum(x)                   # of everything
best = argmax(logits, -1)        # i64
"""

from __future__ import annotations

import builtins
import math
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.kernels.arrays import (
    contiguous,
    element_name,
    empty,
    fill,
    floating,
    item_bits,
    multiprocessors,
    strides,
    vector_elements,
    viewed,
)
from opencute.kernels.checked import checked, separate
from opencute.kernels.reduce.operation import ARGMAX, ARGMIN, MAX, MIN, SUM, Operation
from opencute.kernels.reduce.sm80 import Across, Along, reduce_across, reduce_along
from opencute.kernels.repeat.operators import repeated

__all__ = ["argmax", "argmin", "max", "mean", "min", "sum"]


@checked(arrays="x", optional="out", integers="axis")
@repeated
@separate()
def sum(x: Any, axis: int | None = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The sum over an axis.

    Args:
        x: array of f16, bf16 or f32.
        axis: which axis, negative ones from the end; None: over everything.
        keepdims: whether the axis stays, with extent 1.
        out: where the result goes; a new array when omitted.

    Returns:
        The result, in the type of `x` or `out`; it is computed in f32, in an order that depends on
        the shape only. Of an empty axis 0.

    Raises:
        ArgumentError: there is no such axis, or a shape or type does not fit.
    """
    return _reduce(SUM, x, axis, keepdims, out, empty_value=0.0)


@checked(arrays="x", optional="out", integers="axis")
@repeated
@separate()
def mean(x: Any, axis: int | None = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The mean over an axis; NaN of an empty one. Otherwise as `sum`."""
    return _reduce(SUM, x, axis, keepdims, out, empty_value=math.nan, scaled=True)


@checked(arrays="x", optional="out", integers="axis")
@repeated
@separate()
def max(x: Any, axis: int | None = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The greatest value over an axis; NaN if there is one. An empty axis is an error. Otherwise
    as `sum`."""
    return _reduce(MAX, x, axis, keepdims, out)


@checked(arrays="x", optional="out", integers="axis")
@repeated
@separate()
def min(x: Any, axis: int | None = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The least value over an axis; NaN if there is one. An empty axis is an error. Otherwise as
    `sum`."""
    return _reduce(MIN, x, axis, keepdims, out)


@checked(arrays="x", optional="out", integers="axis")
@repeated
@separate()
def argmax(x: Any, axis: int | None = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """Where `max` is, in i64: the first of equal ones; the first NaN if there is one."""
    return _reduce(ARGMAX, x, axis, keepdims, out)


@checked(arrays="x", optional="out", integers="axis")
@repeated
@separate()
def argmin(x: Any, axis: int | None = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """Where `min` is, in i64: the first of equal ones; the first NaN if there is one."""
    return _reduce(ARGMIN, x, axis, keepdims, out)


def _reduce(
    op: Operation, x: Any, axis: int | None, keepdims: bool, out: Any, *,
    empty_value: float | None = None, scaled: bool = False,
) -> Any:  # fmt: skip
    floating(x=x)
    shape = tuple(int(s) for s in x.shape)
    if axis is None:
        outer, n, inner = 1, math.prod(shape), 1
        rest = tuple(1 for _ in shape) if keepdims else ()
    else:
        at = _axis(axis, shape)
        outer, n, inner = math.prod(shape[:at]), shape[at], math.prod(shape[at + 1 :])
        rest = (*shape[:at], *((1,) if keepdims else ()), *shape[at + 1 :])
    if out is None:
        out = empty(x, rest, "int64" if op.indexed else x.dtype)
    elif op.indexed and element_name(out) not in ("int32", "int64"):
        raise ArgumentError(
            f"{op.name} writes indices", code="OC2534", expected="out of int32 or int64",
            found=str(out.dtype),
        )  # fmt: skip
    elif tuple(out.shape) != rest:
        raise ArgumentError(
            "the result does not have this shape", code="OC2502", expected=rest,
            found=tuple(out.shape),
        )  # fmt: skip
    if not op.indexed:
        floating(out=out)
    if n == 0:
        if empty_value is None:
            raise ArgumentError(f"{op.name} of nothing", code="OC2510", found=shape)
        fill(out, empty_value)
    elif outer and inner:
        into = viewed("out", out, (outer, 1, inner), written=True)
        scale = 1.0 / n if scaled else None
        outs = (None, into) if op.indexed else (into,)
        _launch(op, (viewed("x", x, (outer, n, inner)),), outs, scale)
    return out


def _axis(axis: int, shape: tuple[int, ...]) -> int:
    at = axis + len(shape) if axis < 0 else axis
    if not 0 <= at < len(shape):
        raise ArgumentError(
            "there is no such axis", code="OC2509", found=axis,
            expected=f"{-len(shape)} to {len(shape) - 1}, axes of the shape {shape}",
        )  # fmt: skip
    return at


def _launch(
    op: Operation, sources: tuple[Any, ...], outs: tuple[Any, ...], scale: float | None
) -> None:
    """Reduce sources (outer, n, inner) into outs (outer, 1, inner), in two steps if better."""
    outer, n, inner = (int(s) for s in sources[0].shape)
    if n >= 2**31 or outer * inner >= 2**31:
        raise ArgumentError(
            "an axis is too long", code="OC2510", expected="less than 2**31",
            found=(outer, n, inner),
        )  # fmt: skip
    if inner > 1 and strides(sources[0])[2] != 1:
        sources = tuple(contiguous(s) for s in sources)
    bits = builtins.max(item_bits(s) for s in sources)
    if inner == 1:
        sources = tuple(viewed("x", s, (outer, n)) for s in sources)
        if n > 1 and strides(sources[0])[1] != 1:
            sources = tuple(contiguous(s) for s in sources)
        vec = vector_elements(n, bits, *sources)
        how: Any = _along(n // vec, vec)
        run, blocks, units, least = reduce_along, -(-outer // how.groups), n // vec, how.threads
    else:
        vec = vector_elements(inner, bits, *sources)
        how = _across(inner // vec, vec)
        blocks = outer * -(-(inner // vec) // how.columns)
        run, units, least = reduce_across, n, how.rows
    least *= 2 * how.reps
    parts = builtins.min(-(-4 * multiprocessors(sources[0]) // blocks), -(-units // least), 65535)
    span = -(-units // builtins.max(parts, 1))
    parts = -(-units // span)
    if parts == 1:
        run(sources, outs, 1, span, scale, op, how)
        return
    shape = (outer, parts, inner)
    partial = [empty(sources[0], shape, t) for t in ("float32", "int32")[: len(outs)]]
    run(sources, tuple(partial), parts, span, None, op, how)
    _launch(op, tuple(partial), outs, scale)


def _along(vectors: int, vec: int) -> Along:
    threads = 1
    while threads < 32 and threads * 4 < vectors:
        threads *= 2
    return Along(threads, 128 // threads, vec) if vectors <= 32 * 16 else Along(256, 1, vec)


def _across(vectors: int, vec: int) -> Across:
    columns = 1
    while columns < 32 and columns < vectors:
        columns *= 2
    return Across(columns, 256 // columns, vec)
