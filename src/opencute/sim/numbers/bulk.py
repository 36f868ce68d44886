# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Fast ways for large arrays to do what NumPy does slowly: f16 and bf16 arithmetic, and selection.

In and out are arrays with the same values as the plain NumPy expression would give; only the
payload of a NaN may differ, which the module `nans` takes care of before anyone can see it. Small
arrays take the plain way, and so do large ones until there has been enough work to be worth the
time in which the native helpers are compiled.

>>> blend(np.array([[True, False]]), np.float32([[1, 2]]), np.float32([[3, 4]])).tolist()
[[1.0, 4.0]]
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from opencute.native import helpers
from opencute.sim.values import Array, unsigned_dtype

__all__ = [
    "Patience",
    "blend",
    "compared",
    "from_f32",
    "is_large",
    "scatter",
    "through_f32",
    "to_f32",
]

F16 = np.dtype(np.float16)
BF16 = np.dtype(ml_dtypes.bfloat16)
LARGE = 1 << 16


class Patience:
    """Elements that are still worked on without the helpers."""

    left = 1 << 23


def is_large(*values: Any) -> bool:
    """Whether any value is an array that is worth the native helpers."""
    size = max(v.size if type(v) is np.ndarray else 1 for v in values)
    if size < LARGE:
        return False
    if Patience.left > 0:
        Patience.left -= size
        return False
    return True


def to_f32(value: Any) -> Any:
    """An f16, bf16 or narrower value (or array) as f32."""
    if type(value) is not np.ndarray:
        return np.float32(value)
    if value.dtype.itemsize == 1 and value.size > 256 and value.dtype.kind not in "iub":
        return _table(value.dtype).take(value.view(np.uint8))
    if value.dtype == F16 and is_large(value):
        return helpers.f16_to_f32(value)
    return value.astype(np.float32)


@lru_cache(maxsize=16)
def _table(dtype: np.dtype[Any]) -> Array:
    """All values of a type of eight bits as f32."""
    return np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)


def from_f32(value: Any, dtype: np.dtype[Any]) -> Any:
    """An f32 value (or array) as f16 or bf16, rounded to nearest even."""
    if type(value) is not np.ndarray:
        return dtype.type(value)
    if dtype == F16 and is_large(value):
        return helpers.f32_to_f16(value)
    if dtype == BF16 and is_large(value):
        return helpers.f32_to_bf16(value)
    return value.astype(dtype)


def through_f32(fn: Callable[..., Any], dtype: np.dtype[Any]) -> Callable[..., Any]:
    """`fn` on f16 or bf16 arrays by way of f32, where that is faster.

    With 24 bits, at least twice the narrow precision plus two, a sum, difference, product or
    quotient that is rounded to f32 and then to the narrow type is rounded right (Figueroa, "When is
    double rounding innocuous?", SIGNUM 30, 1995).
    """
    if dtype not in (F16, BF16):
        return fn

    def run(a: Any, b: Any) -> Any:
        if is_large(a, b):
            return from_f32(fn(to_f32(a), to_f32(b)), dtype)
        return fn(a, b)

    return run


def compared(fn: Callable[..., Any], dtype: np.dtype[Any]) -> Callable[..., Any]:
    """A comparison of f16 or bf16 arrays by way of f32, where that is faster."""
    if dtype not in (F16, BF16):
        return fn
    return lambda a, b: fn(to_f32(a), to_f32(b)) if is_large(a, b) else fn(a, b)


def blend(cond: Array, a: Any, b: Any) -> Array:
    """`np.where` of two values of one type; on bits, as branches cost more than passes."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "O" or max(cond.size, a.size, b.size) < 4096:
        return np.where(cond, a, b)
    dtype = a.dtype
    bits = unsigned_dtype(dtype)
    mask = np.negative(cond.view(np.uint8).astype(bits))
    b = b.view(bits)
    return (((a.view(bits) ^ b) & mask) ^ b).view(dtype)


def scatter(memory: Array, offsets: Array, values: Array) -> bool:
    """Write one item of up to 16 bytes at each byte offset, if that is worth it and possible."""
    if Patience.left > 0 or offsets.size < LARGE // 4 or not memory.flags.c_contiguous:
        return False
    return helpers.scatter(memory, np.ascontiguousarray(offsets), values) < 0
