# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Elements narrower than a byte: the layout that counts them.

In: an array as its framework describes it. Out: the same memory with extents and strides in
elements::

    torch.float4_e2m1fn_x2 (4, 8):(8, 1)    becomes  f4 (4, 16):(16, 1)
    ml_dtypes.int4, a byte each, (8):(1)    becomes  i4 (8):(2)
"""

from __future__ import annotations

from opencute.base.errors import ArgumentError
from opencute.runtime.external import ExternalArray

__all__ = ["counted_in_elements"]


def counted_in_elements(array: ExternalArray) -> ExternalArray:
    """An array of narrow elements with its layout counted in these: two f4 in a torch byte are two
    elements, and an element of ml_dtypes is followed by the rest of its byte."""
    lanes, bits = array.dtype.lanes, array.dtype.bits
    if lanes > 1:
        lead = _packed_mode(array)
        shape = tuple(n * lanes if i == lead else n for i, n in enumerate(array.shape))
        strides = tuple(1 if i == lead else d * lanes for i, d in enumerate(array.strides))
    elif array.padded and 8 % bits == 0:
        shape, strides = array.shape, tuple(d * (8 // bits) for d in array.strides)
    else:
        return array
    dtype = array.dtype._replace(lanes=1)
    return ExternalArray(
        array.address, shape, strides, dtype, array.device, array.read_only, array.owner, False,
        array.framework, array.stream,
    )  # fmt: skip


def _packed_mode(array: ExternalArray) -> int:
    """The mode along which elements share bytes."""
    ones = [i for i, d in enumerate(array.strides) if d == 1]
    wide = [i for i in ones if array.shape[i] != 1]
    if len(wide) > 1 or not ones:
        raise ArgumentError(
            "the mode along which narrow elements share a byte cannot be told", code="OC2107",
            expected="one mode with stride 1", found=f"{tuple(array.shape)}:{tuple(array.strides)}",
        )  # fmt: skip
    return (wide or ones)[-1]
