# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Bit patterns to bytes of memory and back.

Goes in: patterns, one per array item. Comes out: the bytes that a compact tensor of them takes::

    >>> pack(np.array([0x1, 0x2, 0xF], np.uint8), DTYPES["u4"])
    array([33, 15], dtype=uint8)

Memory is a little-endian stream of bits: element `k` of a `w`-bit type takes the bits from
``k * w`` on, so the first of two 4-bit elements is the low nibble, and four 6-bit elements take
three bytes. A Boolean takes a byte. With ``one_per_container`` each element has a byte (or its
16, 32, ... bits) of its own, as registers of ``cvt.*.e2m3x2`` and unpacked shared memory have them.
"""

# NumPy's stubs give Any for most of what an array of unknown dtype does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import numpy as np

from opencute.base.errors import ArgumentError
from opencute.numeric.codec import Array
from opencute.numeric.dtypes import DType

__all__ = ["pack", "packed_size", "unpack"]


def packed_size(count: int, t: DType) -> int:
    """Bytes that `count` elements take when they lie side by side; a last part byte counts."""
    return (count * t.memory_bits + 7) // 8


def pack(bits: Array, t: DType, *, one_per_container: bool = False) -> Array:
    """The bytes of a compact array of patterns.

    Args:
        bits: patterns of `t`, any shape, read in C order.
        t: the element type; bits above its width are dropped.
        one_per_container: give each element a whole container instead of `t.memory_bits`.

    Returns:
        A 1-D uint8 array; unused bits of the last byte are zero.
    """
    flat = np.asarray(bits).reshape(-1)
    if t.container_bits == 128:
        mask = (1 << t.width) - 1
        raw = b"".join((int(b) & mask).to_bytes(16, "little") for b in flat)
        return np.frombuffer(raw, np.uint8).copy()
    if t.width < t.container_bits:
        flat = flat & ((1 << t.width) - 1)
    flat = flat.astype(t.bits_dtype.newbyteorder("<"), copy=False)
    if one_per_container or not t.is_subbyte:
        return np.ascontiguousarray(flat).view(np.uint8).copy()
    stream = np.unpackbits(flat[:, None], axis=1, count=t.width, bitorder="little")
    return np.packbits(stream.reshape(-1), bitorder="little")


def unpack(
    data: Array, t: DType, count: int | None = None, *, one_per_container: bool = False
) -> Array:
    """The patterns that lie in a run of bytes; the inverse of `pack`.

    Args:
        data: a uint8 array, read in C order.
        t: the element type.
        count: number of elements; as many as fit if omitted.
        one_per_container: each element has a whole container.

    Returns:
        A 1-D array of patterns in `t.bits_dtype`.

    Raises:
        ArgumentError: OC2022, if the bytes do not hold `count` elements.
    """
    raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    each = t.container_bits if one_per_container else t.memory_bits
    fits = len(raw) * 8 // each
    if count is None:
        count = fits
    if not 0 <= count <= fits:
        raise ArgumentError(
            f"{len(raw)} bytes do not hold {count} elements of {t.display}", code="OC2022",
            expected=f"at most {fits} elements", found=count,
        )  # fmt: skip
    if t.container_bits == 128:
        out = np.empty(count, object)
        out[:] = [
            int.from_bytes(raw[16 * k : 16 * k + 16].tobytes(), "little") for k in range(count)
        ]
        return out
    if one_per_container or not t.is_subbyte:
        whole = raw[: count * (each // 8)].view(t.bits_dtype.newbyteorder("<"))
        return whole.astype(t.bits_dtype) & t.bits_dtype.type((1 << t.width) - 1)
    stream = np.unpackbits(raw, count=count * t.width, bitorder="little").reshape(count, t.width)
    return np.packbits(stream, axis=1, bitorder="little").reshape(count)
