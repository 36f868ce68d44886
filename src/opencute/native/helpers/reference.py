# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the helpers mean, in NumPy: the oracle of their tests, and their fallback without llvmlite.

Functions, arguments and results are those of `opencute.native.helpers`, bit for bit::

    out = np.empty(3, np.float32)
    assert gather(np.arange(8, dtype=np.float32), np.array([0, 4, 28]), out) == -1
"""

# pyright: reportUnknownMemberType=false
# NumPy's reshape and view have overloads with unknown parameters.

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

__all__ = ["f16_to_f32", "f32_to_bf16", "f32_to_f16", "gather", "scatter"]


def f32_to_f16(values: NDArray[np.float32]) -> NDArray[np.float16]:
    """Round to nearest even; every NaN becomes 0x7fff."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = values.astype(np.float16, order="C")
    result.view(np.uint16)[np.isnan(values)] = 0x7FFF
    return result


def f16_to_f32(values: NDArray[np.float16]) -> NDArray[np.float32]:
    """Exact; every NaN becomes 0x7fffffff."""
    with np.errstate(invalid="ignore"):
        result = values.astype(np.float32, order="C")
    result.view(np.uint32)[np.isnan(values)] = 0x7FFFFFFF
    return result


def f32_to_bf16(values: NDArray[np.float32]) -> NDArray[Any]:
    """Round to nearest even; every NaN becomes 0x7fff."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = values.astype(ml_dtypes.bfloat16, order="C")
    result.view(np.uint16)[np.isnan(values)] = 0x7FFF
    return result


def _lanes(
    memory: NDArray[Any], offsets: NDArray[np.int64], width: int
) -> tuple[int, NDArray[np.int64]]:
    """The first lane outside the memory or -1, and the byte positions of every lane's item."""
    flat = offsets.reshape(-1)
    bad = np.flatnonzero((flat < 0) | (flat > memory.nbytes - width))
    return (int(bad[0]) if bad.size else -1), flat[:, None] + np.arange(width)


def gather(memory: NDArray[Any], offsets: NDArray[np.int64], out: NDArray[Any]) -> int:
    """Copy one item per lane out of memory; see `opencute.native.helpers.gather`."""
    if not offsets.size:
        return -1
    width = out.nbytes // offsets.size
    bad, where = _lanes(memory, offsets, width)
    if bad < 0:
        out.reshape(-1).view(np.uint8)[:] = memory.reshape(-1).view(np.uint8)[where].reshape(-1)
    return bad


def scatter(memory: NDArray[Any], offsets: NDArray[np.int64], values: NDArray[Any]) -> int:
    """Copy one item per lane into memory; see `opencute.native.helpers.scatter`."""
    if not offsets.size:
        return -1
    width = values.nbytes // offsets.size
    bad, where = _lanes(memory, offsets, width)
    if bad < 0:
        items = values.reshape(-1).view(np.uint8).reshape(-1, width)
        memory.reshape(-1).view(np.uint8)[where] = items
    return bad
