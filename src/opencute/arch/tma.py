# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor maps: what the tensor memory accelerator is told about a tensor, and what it allows.

In: words, as in the attributes of ``cute.tma_descriptor``. Out: the driver's numbers for them, and
the rules that a map has to obey::

    >>> TMA_TYPES["f16"].code, TMA_SWIZZLES["128b"].swizzle
    (6, (3, 4, 3))
    >>> Tile("f16", (64, 128), swizzle="128b").bytes
    16384
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from opencute.base.errors import ArgumentError

__all__ = [
    "CACHE_HINTS",
    "DESCRIPTOR_ALIGN",
    "DESCRIPTOR_BYTES",
    "INTERLEAVES",
    "L2_PROMOTIONS",
    "MAX_BOX",
    "MAX_RANK",
    "OOB_FILLS",
    "SMEM_ALIGN",
    "TMA_SWIZZLES",
    "TMA_TYPES",
    "Tile",
    "TmaSwizzle",
    "TmaType",
    "map_faults",
    "map_hint",
    "reductions_of",
    "stores_outside",
    "swizzle_word",
]

DESCRIPTOR_BYTES = 128
DESCRIPTOR_ALIGN = 64
MAX_RANK = 5
MAX_BOX = 256
SMEM_ALIGN = 128
"""Alignment of the place in shared memory that a tile is moved to or from."""
_MAX_DIM = 1 << 32
_MAX_STRIDE = 1 << 40


@dataclass(frozen=True)
class TmaType:
    """An element type.

    Args:
        name: the word.
        code: its number in CUtensorMapDataType.
        bits: bits of one element.
    """

    name: str
    code: int
    bits: int


TMA_TYPES: dict[str, TmaType] = {
    name: TmaType(name, code, bits)
    for code, (name, bits) in enumerate((
        ("u8", 8), ("u16", 16), ("u32", 32), ("s32", 32), ("u64", 64), ("s64", 64), ("f16", 16),
        ("f32", 32), ("f64", 64), ("bf16", 16), ("f32_ftz", 32), ("tf32", 32), ("tf32_ftz", 32),
    ))
}  # fmt: skip
INTERLEAVES = {"none": 0, "16b": 1, "32b": 2}
L2_PROMOTIONS = {"none": 0, "64b": 1, "128b": 2, "256b": 3}
OOB_FILLS = {"zeros": 0, "nan": 1}
CACHE_HINTS = {
    "evict_normal": 0x1000000000000000,
    "evict_first": 0x12F0000000000000,
    "evict_last": 0x14F0000000000000,
}
"""What createpolicy makes of the common priorities: the operand of a cache hint."""


@dataclass(frozen=True)
class TmaSwizzle:
    """A way to swizzle tiles in shared memory.

    Args:
        name: the word.
        code: its number in CUtensorMapSwizzle.
        span: bytes that the inner dimension of a tile may have.
        swizzle: (bits, base, shift) on byte addresses; () for none.
        since: first compute capability times ten.
    """

    name: str
    code: int
    span: int
    swizzle: tuple[int, ...] = ()
    since: int = 90

    def address(self, place: int) -> int:
        """Where a byte goes that would be at `place` without the swizzle."""
        if not self.swizzle:
            return place
        bits, base, shift = self.swizzle
        return place ^ ((place >> shift) & (((1 << bits) - 1) << base))


TMA_SWIZZLES: dict[str, TmaSwizzle] = {
    s.name: s
    for s in (
        TmaSwizzle("none", 0, MAX_BOX * 8),
        TmaSwizzle("32b", 1, 32, (1, 4, 3)),
        TmaSwizzle("64b", 2, 64, (2, 4, 3)),
        TmaSwizzle("128b", 3, 128, (3, 4, 3)),
        TmaSwizzle("128b_atom_32b", 4, 128, (2, 5, 2), 100),
        TmaSwizzle("128b_atom_64b", 6, 128, (1, 6, 1), 100),
    )
}


def swizzle_word(swizzle: tuple[int, ...]) -> str | None:
    """The word for (bits, base, shift) on byte addresses, None if the hardware has no such one."""
    if not swizzle or swizzle[0] == 0:
        return "none"
    return next((s.name for s in TMA_SWIZZLES.values() if s.swizzle == tuple(swizzle)), None)


@dataclass(frozen=True)
class Tile:
    """The static part of a tensor map: what one instruction moves.

    Args:
        element: a word of TMA_TYPES.
        box: extents of the tile, innermost first; empty for im2col.
        steps: element strides, 1 for all dimensions when empty.
        swizzle: a word of TMA_SWIZZLES.
        interleave: a word of INTERLEAVES.
        l2: a word of L2_PROMOTIONS.
        oob: a word of OOB_FILLS.
        lower: for im2col, the lower corner of the box of pixels.
        upper: for im2col, its upper corner.
        channels: for im2col, channels of a pixel.
        pixels: for im2col, pixels of a column.

    Raises:
        ArgumentError: the hardware has no such tile.
    """

    element: str
    box: tuple[int, ...]
    steps: tuple[int, ...] = ()
    swizzle: str = "none"
    interleave: str = "none"
    l2: str = "128b"
    oob: str = "zeros"
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    channels: int = 0
    pixels: int = 0

    def __post_init__(self) -> None:
        fault = next(self._faults(), None)
        if fault is not None:
            raise ArgumentError(
                f"there is no such tile of a tensor map: {fault}", code="OC2930", found=str(self)
            )

    @property
    def im2col(self) -> bool:
        """Whether tiles are columns of pixels."""
        return self.channels > 0

    @property
    def rank(self) -> int:
        """Dimensions of the tensor."""
        return len(self.lower) + 2 if self.im2col else len(self.box)

    @property
    def type(self) -> TmaType:
        """The element type."""
        return TMA_TYPES[self.element]

    @property
    def strides(self) -> tuple[int, ...]:
        """The element strides."""
        return self.steps or (1,) * self.rank

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements that arrive in shared memory, innermost first."""
        if self.im2col:
            return self.channels, self.pixels
        return tuple(-(-n // s) for n, s in zip(self.box, self.strides, strict=True))

    @property
    def bytes(self) -> int:
        """Bytes that arrive in shared memory, which a load counts on its barrier."""
        return math.prod(self.shape) * self.type.bits // 8

    def _faults(self) -> Iterator[str]:
        for word, words in (
            (self.element, TMA_TYPES), (self.swizzle, TMA_SWIZZLES), (self.oob, OOB_FILLS),
            (self.interleave, INTERLEAVES), (self.l2, L2_PROMOTIONS),
        ):  # fmt: skip
            if word not in words:
                yield f"{word!r} is none of {', '.join(words)}"
                return
        if not 1 <= self.rank <= MAX_RANK or (self.im2col and self.rank < 3):
            yield f"{self.rank} dimensions"
            return
        if len(self.strides) != self.rank or not all(1 <= s <= 8 for s in self.strides):
            yield f"element strides {self.strides}, not 1 to 8 for each dimension"
        yield from self._im2col_faults() if self.im2col else self._box_faults()
        if self.interleave != "none" and (self.rank < 3 or self.swizzle not in ("none", "32b")):
            yield "interleaved tensors have three dimensions or more, and no other swizzle than 32b"
        if self.oob == "nan" and self.element[0] not in "bft":
            yield "NaN fills floats only"

    def _box_faults(self) -> Iterator[str]:
        if not all(1 <= n <= MAX_BOX for n in self.box):
            yield f"a box of {self.box}, not 1 to {MAX_BOX} in each dimension"
        yield from self._inner_faults(self.box[0])

    def _im2col_faults(self) -> Iterator[str]:
        if len(self.upper) != len(self.lower):
            yield "corners of different rank"
        if self.channels > MAX_BOX or not 1 <= self.pixels <= 1024:
            yield f"{self.channels} channels of {self.pixels} pixels, at most 256 of 1024"
        bits = {3: 16, 4: 8, 5: 5}[self.rank]
        low, high = -(1 << bits - 1), (1 << bits - 1) - 1
        if not all(low <= c <= high for c in (*self.lower, *self.upper)):
            yield f"corners are between {low} and {high} for {self.rank} dimensions"
        yield from self._inner_faults(self.channels)

    def _inner_faults(self, inner: int) -> Iterator[str]:
        size = inner * self.type.bits // 8
        if self.interleave == "none" and size % 16:
            yield f"an inner dimension of {size} bytes, no multiple of 16"
        span = TMA_SWIZZLES[self.swizzle].span
        if self.interleave == "none" and size > span:
            yield f"an inner dimension of {size} bytes, more than the {span} of {self.swizzle}"


_BITWISE = ("and", "or", "xor")
_REDUCTIONS = {
    **dict.fromkeys(("u32", "b32"), ("add", "min", "max", "inc", "dec", *_BITWISE)),
    **dict.fromkeys(("u64", "b64"), ("add", "min", "max", *_BITWISE)),
    "s32": ("add", "min", "max", *_BITWISE), "s64": ("min", "max", *_BITWISE),
    **dict.fromkeys(("f16", "bf16"), ("add", "min", "max")),
    **dict.fromkeys(("f32", "f64", "f32_ftz", "tf32", "tf32_ftz"), ("add",)),
}  # fmt: skip


def reductions_of(element: str) -> tuple[str, ...]:
    """How copies combine elements in memory, by the word of their type.

    Args:
        element: a word of TMA_TYPES, or one of PTX's such as "b32".

    Source: PTX ISA, "cp.reduce.async.bulk" (its table of types).

    Example:
        >>> reductions_of("f16"), reductions_of("u8")
        (('add', 'min', 'max'), ())
    """
    return _REDUCTIONS.get(element, ())


def stores_outside(lower: Sequence[int], upper: Sequence[int]) -> bool:
    """Whether the box of pixels of an im2col map leaves the tensor: the hardware does not store or
    combine through such a map (measured on an H200: an illegal instruction); it loads zeros.

    Args:
        lower: the lower corner.
        upper: the upper corner.
    """
    return any(c < 0 for c in lower) or any(c > 0 for c in upper)


def map_faults(
    tile: Tile, address: int, dims: Sequence[int], strides: Sequence[int]
) -> Iterator[tuple[int, str]]:
    """What is wrong with a tensor for a map, as (number, text).

    The numbers are 0 for the address, 1 + i for extent i, and 8 + i for stride i (i from 1).

    Args:
        tile: the static part.
        address: of the first element.
        dims: extents, innermost first.
        strides: in bytes, of all dimensions but the innermost.
    """
    need = 32 if tile.interleave == "32b" else 16
    if address % need:
        yield 0, f"the address {address:#x} is no multiple of {need} bytes"
    for i, n in enumerate(dims):
        if not 1 <= n <= _MAX_DIM:
            yield 1 + i, f"the extent {n} of dimension {i} is not between 1 and 2^32"
    for i, d in enumerate(strides, 1):
        if d % need:
            yield 8 + i, f"the stride of dimension {i}, {d} bytes, is no multiple of {need}"
        elif not 0 <= d < _MAX_STRIDE:
            yield 8 + i, f"the stride of dimension {i}, {d} bytes, is not below 2^40"


def map_hint(number: int, tile: Tile) -> str:
    """What to change about a tensor of which no map can be made.

    Args:
        number: what is wrong with it, as `map_faults` counts; any other: who knows.
        tile: the static part.
    """
    need = 32 if tile.interleave == "32b" else 16
    step = need * 8 // tile.type.bits
    if number == 0:
        return (
            f"a view that begins inside of a row may not: begin at a multiple of {step} elements, "
            "or pass a contiguous copy"
        )
    if 0 < number < 8:
        return "launch nothing for a tensor that is empty; a larger one has to be cut"
    if number <= 12:
        return (
            f"make rows of a multiple of {step} elements: allocate wider ones and pass a slice of "
            "them, as in buffer[:, :n]"
        )
    return "innermost elements are neighbours, other strides are multiples of 16 bytes"
