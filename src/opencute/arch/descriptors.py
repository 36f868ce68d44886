# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Shared-memory matrix descriptors: what `wgmma` is told of an operand, as 64 bits.

In: fields by name, in bytes. Out: the bits, and back, from one table::

    >>> d = encode(start=0x8400, leading=16, stride=1024, swizzle=128)
    >>> hex(d)
    '0x4000004000010840'
    >>> decode(d)["stride"], decode(d)["swizzle"]
    (1024, 128)

`places` says where hardware looks for the elements of an operand; `describe` finds the fields for a
layout, or says that there are none. Facts are from the PTX ISA, "Matrix Descriptor Format" and
"Strides".

An operand consists of *core matrices*: 8 rows of 16 bytes. With a swizzle of 32, 64 or 128 bytes,
2, 4 or 8 of them lie side by side, so that a row of memory is that wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import ArgumentError

__all__ = [
    "FIELDS", "SWIZZLES", "Field", "Strides", "decode", "describe", "encode", "places", "swizzled",
]  # fmt: skip


@dataclass(frozen=True)
class Field:
    """Some bits of a descriptor.

    Args:
        name: what they are.
        low: the lowest bit.
        bits: how many.
        unit: bytes that they count in; 1 for plain numbers.
    """

    name: str
    low: int
    bits: int
    unit: int = 1

    def put(self, value: int) -> int:
        """The value's bits at their place.

        Raises:
            ArgumentError: the value is no multiple of the unit, or too large.
        """
        if value % self.unit or not 0 <= value // self.unit < 1 << self.bits:
            raise ArgumentError(
                f"a matrix descriptor cannot hold {self.name} = {value}", code="OC2917",
                expected=f"a multiple of {self.unit} below {self.unit << self.bits}", found=value,
            )  # fmt: skip
        return value // self.unit << self.low

    def get(self, bits: Any) -> Any:
        """The value in a descriptor: an int, or an array of them."""
        return (bits >> self.low & (1 << self.bits) - 1) * self.unit


FIELDS: dict[str, Field] = {
    f.name: f
    for f in (
        Field("start", 0, 14, 16),
        Field("leading", 16, 14, 16),
        Field("stride", 32, 14, 16),
        Field("base_offset", 49, 3),
        Field("mode", 62, 2),
    )
}
"""The bit fields; all other bits are zero."""

SWIZZLES: dict[int, int] = {0: 0, 32: 3, 64: 2, 128: 1}
"""Width of a swizzle in bytes (0: none) to the field ``mode``."""

_WIDTH = {mode: width for width, mode in SWIZZLES.items()}


def encode(
    *, start: int = 0, leading: int = 0, stride: int = 0, base_offset: int = 0, swizzle: int = 0
) -> int:
    """A descriptor's bits.

    Args:
        start: shared address of the first core matrix.
        leading: the leading dimension byte offset.
        stride: the stride dimension byte offset.
        base_offset: which row of its pattern the operand starts in, where it is not the first.
        swizzle: 0, 32, 64 or 128.

    Raises:
        ArgumentError: a field cannot hold its value, or there is no such swizzle.
    """
    if swizzle not in SWIZZLES:
        raise ArgumentError(
            "no such swizzle", code="OC2917", expected="0, 32, 64 or 128", found=swizzle
        )
    values = {
        "start": start, "leading": leading, "stride": stride, "base_offset": base_offset,
        "mode": SWIZZLES[swizzle],
    }  # fmt: skip
    out = 0
    for name, value in values.items():
        out |= FIELDS[name].put(value)
    return out


def decode(bits: int) -> dict[str, int]:
    """A descriptor's fields in bytes, with ``swizzle`` as its width.

    Args:
        bits: the descriptor, taken as unsigned.
    """
    bits &= (1 << 64) - 1
    out: dict[str, int] = {name: f.get(bits) for name, f in FIELDS.items()}
    out["swizzle"] = _WIDTH[out.pop("mode")]
    return out


# ---------------------------------------------------------------- where elements are
@dataclass(frozen=True)
class Strides:
    """The fields that a layout fixes.

    Args:
        leading: the leading dimension byte offset.
        stride: the stride dimension byte offset.
        swizzle: 0, 32, 64 or 128.
    """

    leading: int
    stride: int
    swizzle: int

    @property
    def high(self) -> int:
        """The upper 32 bits of a descriptor."""
        return encode(stride=self.stride, swizzle=self.swizzle) >> 32

    @property
    def low(self) -> int:
        """The lower 32 bits, of a descriptor that starts at 0."""
        return encode(leading=self.leading)


def places(
    extent: int, k: int, bits: int, mn_major: bool, leading: Any, stride: Any, swizzle: int
) -> list[Any]:
    """Bytes from the start to each element, before the swizzle; M (or N) runs fastest.

    Args:
        extent: elements along M or N.
        k: elements along K.
        bits: of an element.
        mn_major: whether neighbours along M or N are neighbours in memory.
        leading: the leading dimension byte offset, a number or an array.
        stride: the stride dimension byte offset.
        swizzle: 0, 32, 64 or 128.
    """
    size, wide = bits // 8, swizzle // 16 or 1  # core matrices side by side
    out: list[Any] = []
    for j in range(k):
        for i in range(extent):
            if mn_major:
                chunk, inside = divmod(i * size, 16)
                group, column = divmod(chunk, wide)
                down, row = divmod(j, 8)
                # Which of the two strides is which depends on there being a swizzle.
                step, fall = (leading, stride) if swizzle else (stride, leading)
                at = column * 16 + group * step + row * 16 * wide + down * fall
            else:
                chunk, inside = divmod(j * size, 16)
                down, row = divmod(i, 8)
                step = 16 if swizzle else leading
                at = chunk * step + row * 16 * wide + down * stride
            out.append(at + inside)
    return out


def swizzled(address: Any, swizzle: int, base_offset: Any = 0) -> Any:
    """The address that is accessed in place of `address`: bits 4 to 6 change by bits 7 to 9.

    Args:
        address: a shared address, or an array of them.
        swizzle: 0, 32, 64 or 128.
        base_offset: the descriptor's field.
    """
    if not swizzle:
        return address
    phase = ((address >> 7) - base_offset) & (swizzle // 16 - 1)
    return address ^ (phase << 4)


def describe(
    offsets: Sequence[int], extent: int, k: int, bits: int, mn_major: bool, swizzle: int
) -> Strides | None:
    """The fields for an operand whose element (i, j) is at ``offsets[i + extent * j]``.

    Args:
        offsets: in elements from the first one, without the swizzle.
        extent: elements along M or N.
        k: elements along K.
        bits: of an element.
        mn_major: whether neighbours along M or N are neighbours in memory.
        swizzle: 0, 32, 64 or 128.

    Returns:
        None if hardware cannot read such an operand.
    """
    size = bits // 8
    per = 16 // size
    row = per * (swizzle // 16 or 1)  # elements that lie side by side

    def at(i: int, j: int) -> int:
        return offsets[i + extent * j] * size if i < extent and j < k else 0

    if mn_major:
        first, second = at(row, 0), at(0, 8)
        leading, stride = (first, second) if swizzle else (second, first)
    else:
        leading, stride = (16 if swizzle else at(0, per)), at(8, 0)
    wanted = places(extent, k, bits, mn_major, leading, stride, swizzle)
    if any(o * size != w for o, w in zip(offsets, wanted, strict=True)):
        return None
    fits = all(0 <= x < 1 << 18 and x % 16 == 0 for x in (leading, stride))
    return Strides(leading, stride, swizzle) if fits else None
