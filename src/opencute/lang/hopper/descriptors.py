# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of shared-memory matrix descriptors: what `make_fragment_A` and `make_fragment_B` give.

In: a partition of a tensor in shared memory, ``(V, M, K, ...)``. Out: a tensor whose iterator is a
descriptor and whose offsets count 16 bytes, ``(1, M, K, ...)``. The upper half of a descriptor is
known when the kernel is traced; only the lower half, with the address, is a number at run time, so
that moving a descriptor is one 32-bit addition.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from opencute import layout as la
from opencute.arch.descriptors import FIELDS, Strides, describe
from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.ir.core import Value
from opencute.lang.numbers import Int32, Integer, Numeric, NumericMeta
from opencute.lang.pointers import AddressSpace, Pointer, element_bits
from opencute.lang.tensors import TracedTensor, addressed
from opencute.layout import Layout, make_layout

__all__ = ["UNIT", "Descriptor", "descriptor_tensor"]

UNIT = 16
"""Bytes that the offsets of a descriptor tensor count in."""

_SWIZZLES: dict[tuple[int, ...], int] = {(): 0, (1, 4, 3): 32, (2, 4, 3): 64, (3, 4, 3): 128}
_WINDOW = FIELDS["start"].unit << FIELDS["start"].bits


class Descriptor(Pointer):
    """A matrix descriptor; adding to it moves its start, in units of 16 bytes.

    Args:
        low: its lower half.
        strides: what else it says.
        dtype: numeric class of the elements it leads to.
        mn_major: whether these are contiguous along M or N.
        shape: extents of the tile, (M, K) or (N, K).
    """

    __slots__ = ("low", "mn_major", "shape", "strides")

    def __init__(
        self, low: Any, strides: Strides, dtype: NumericMeta, mn_major: bool,
        shape: tuple[int, int],
    ) -> None:  # fmt: skip
        self.low = low
        self.strides = strides
        self._dtype = dtype
        self.mn_major = mn_major
        self.shape = shape

    @property
    def kind(self) -> Any:
        """What it says besides where the tile begins."""
        return self.strides, self._dtype, self.mn_major, self.shape

    @property
    def value(self) -> Value:  # type: ignore[override]
        """The lower half as an SSA value."""
        return self.low.ir_value()

    @property
    def memspace(self) -> AddressSpace:
        """Where the elements are."""
        return AddressSpace.smem

    @property
    def alignment(self) -> int:
        """Known alignment of the start, in bytes."""
        return UNIT

    max_alignment = alignment

    @property
    def swizzle(self) -> tuple[int, ...]:
        """None that its user would have to put on."""
        return ()

    def toint(self, *, loc: Any = None, ip: Any = None) -> Any:
        """The lower half."""
        return self.low

    def ir_value(self, *, loc: Any = None, ip: Any = None) -> Value:
        """The lower half as an SSA value."""
        return self.value

    def _moved(self, low: Any) -> Descriptor:
        return Descriptor(low, self.strides, self._dtype, self.mn_major, self.shape)

    def __add__(self, offset: Any) -> Descriptor:
        if isinstance(offset, int) and offset == 0:
            return self
        if isinstance(offset, Integer):
            return self._moved(self.low + offset.to(Int32))
        if isinstance(offset, Numeric) or not hasattr(offset, "__index__"):
            raise TypeMismatchError(
                "a descriptor moves by integers", code="OC1211", found=repr(offset)
            )
        return self._moved(self.low + int(offset))

    __radd__ = __add__

    def _refuse(self, *_: Any) -> Any:
        raise TypeMismatchError(
            "a matrix descriptor has no elements to load or store", code="OC1282",
            found=str(self), hint="index the tensor in shared memory that it was made from",
        )  # fmt: skip

    load = store = recast = align = swizzled = accessed = _refuse  # type: ignore[assignment]

    def __extract_mlir_values__(self) -> list[Value]:
        return [self.value]

    def __new_from_mlir_values__(self, values: Any) -> Descriptor:
        value = values[0]
        return value if isinstance(value, Descriptor) else self._moved(Int32(value))

    def __str__(self) -> str:
        s = self.strides
        major = "mn" if self.mn_major else "k"
        return (
            f"descriptor<{self._dtype.dtype.name}, {major}-major, swizzle {s.swizzle}, "
            f"leading {s.leading}, stride {s.stride}>"
        )

    __repr__ = __str__


@lru_cache(maxsize=1024)
def _described(
    values: Layout, extent: int, k: int, bits: int, mn_major: bool, swizzle: int
) -> Strides | None:
    return describe(values.offsets(), extent, k, bits, mn_major, swizzle)


def descriptor_tensor(
    source: Any, shape: tuple[int, int], mn_major: bool, which: str
) -> TracedTensor:
    """The descriptors of a partition of a tensor in shared memory.

    Args:
        source: the partition, (V, M, K, ...).
        shape: extents of the atom's tile, (M, K) or (N, K).
        mn_major: what the instruction is told.
        which: ``A`` or ``B``, for messages.

    Raises:
        TypeMismatchError: not a tensor in shared memory.
        LayoutError: hardware cannot read a tile that lies there like that.
    """
    if not isinstance(source, TracedTensor) or source.memspace != AddressSpace.smem:
        raise TypeMismatchError(
            f"make_fragment_{which}: operand {which} is read from shared memory", code="OC1283",
            found=str(source), expected="a partition of a tensor in shared memory",
            hint="partition the shared-memory tensor; OperandSource.RMEM puts A into registers",
        )  # fmt: skip
    pointer, layout = addressed(source, f"make_fragment_{which}")
    bits = element_bits(pointer.dtype)
    values = layout[0]
    swizzle = _SWIZZLES.get(pointer.swizzle)
    strides = None
    if swizzle is not None and la.is_static(values) and la.size(values) == la.product(shape):
        strides = _described(values, *shape, bits, mn_major, swizzle)
    if strides is None:
        major = ("M" if which == "A" else "N") if mn_major else "K"
        raise LayoutError(
            f"make_fragment_{which}: no matrix descriptor can say how this tile lies in memory",
            code="OC1385", found=f"{pointer} o {values}",
            expected=f"a tile of {shape[0]} x {shape[1]}, contiguous along {major}, made of "
            "make_smem_layout_atom and tile_to_shape",
            hint="compare the major mode of the MMA with the layout",
        )  # fmt: skip
    start = (pointer.toint() & (_WINDOW - 1)) // UNIT
    low = start + strides.low if strides.low else start
    return TracedTensor(
        Descriptor(low, strides, pointer.dtype, mn_major, shape), _in_units(layout, bits, which)
    )


def _in_units(layout: Layout, bits: int, which: str) -> Layout:
    """The layout of the tiles, counted in 16 bytes."""
    per = UNIT * 8 // bits

    def scaled(d: Any) -> Any:
        if isinstance(d, tuple):
            return tuple(map(scaled, d))
        known = d if isinstance(d, int) else d.divisibility
        if known % per:
            raise LayoutError(
                f"make_fragment_{which}: tiles do not begin at multiples of 16 bytes",
                code="OC1386", found=layout, expected=f"strides that {per} divides",
            )  # fmt: skip
        return d // per

    rest = [layout[i] for i in range(1, la.rank(layout))]
    return make_layout(make_layout(1, stride=0), *(Layout(r.shape, scaled(r.stride)) for r in rest))
