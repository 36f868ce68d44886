# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: transposes of torch or NumPy arrays.

y = transpose(x)                 # (..., M, N) to (..., N, M), contiguous
"""

from __future__ import annotations

import math
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.kernels.arrays import (
    empty_like,
    item_bits,
    portions,
    strides,
    vector_elements,
    viewed,
)
from opencute.kernels.checked import checked, separate
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.transpose.sm80 import (
    ELEMENTS_HIGH,
    transpose_elements,
    transpose_vectors,
    vectors_high,
)

__all__ = ["transpose"]


@checked(arrays="x", optional="out")
@repeated
@separate()
def transpose(x: Any, *, out: Any = None) -> Any:
    """A copy of an array with its last two axes exchanged.

    Args:
        x: array (..., M, N) of elements of 8 to 64 bits whose last axis is contiguous.
        out: where the result goes, (..., N, M); a new array when omitted.

    Raises:
        ArgumentError: a shape or type does not fit.
    """
    shape = tuple(int(s) for s in x.shape)
    if len(shape) < 2:
        raise ArgumentError("x has less than two axes", code="OC2500", found=shape)
    turned = (*shape[:-2], shape[-1], shape[-2])
    out = empty_like(x, turned) if out is None else out
    if tuple(out.shape) != turned or out.dtype != x.dtype:
        raise ArgumentError(
            "the result does not have this shape and type", code="OC2502",
            expected=f"{turned} of {x.dtype}", found=f"{tuple(out.shape)} of {out.dtype}",
        )  # fmt: skip
    if 0 in shape:
        return out
    m, n, bits = shape[-2], shape[-1], item_bits(x)
    batch = math.prod(shape[:-2])
    source, target = viewed("x", x, (batch, m, n)), viewed("out", out, (batch, n, m), written=True)
    for name, array in (("x", source), ("out", target)):
        if array.shape[2] > 1 and strides(array)[2] != 1:
            raise ArgumentError(
                f"the last axis of {name} is not contiguous", code="OC2501", expected="stride 1",
                found=f"stride {strides(array)[2]}", hint="pass a contiguous copy",
            )  # fmt: skip
    vec = vector_elements(math.gcd(m, n), bits, source, target)
    whole = vec * bits == 128
    for some in portions(batch):
        for rows in portions(m, vectors_high(vec) if whole else ELEMENTS_HIGH):
            part, into = source[some, rows], target[some, :, rows]
            if whole:
                transpose_vectors(part, into, vec)
            else:
                transpose_elements(part, into)
    return out
