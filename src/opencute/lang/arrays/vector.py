# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""``cutlass.Vector`` and ``cutlass.vector``: vectors in registers made of numbers.

In: numbers. Out: a `TensorSSA` that takes slices with bounds as well::

    row = cutlass.Vector.from_elements((1.0, 2.0, 3.0, 4.0), cutlass.Float32)
    matrix = cutlass.vector.broadcast_to(row, (2, 4))       # row above row, as NumPy has it
    matrix[:, 1:3]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.dialects import vector
from opencute.lang.numbers import NumericMeta, as_numeric, class_of
from opencute.lang.vectors import TensorSSA
from opencute.layout import make_layout, product
from opencute.layout.ints import is_tuple

__all__ = ["Vector", "broadcast_to", "outerproduct"]


class Vector(TensorSSA):
    """Elements in registers, of one or more dimensions.

    Args:
        value: another vector, or its SSA value.
        shape: static shape; that of the vector if not given.
        dtype: numeric class of the elements; likewise.
    """

    def __init__(self, value: Any, shape: Any = None, dtype: Any = None) -> None:
        if isinstance(value, TensorSSA):
            shape, dtype = value.shape if shape is None else shape, dtype or value.dtype
        super().__init__(value, shape, dtype)

    @classmethod
    def from_elements(
        cls, elements: Sequence[Any], dtype: Any = None, *, loc: Any = None, ip: Any = None
    ) -> Vector:
        """A vector of numbers, converted to one type: that of the first if none is named.

        Args:
            elements: the numbers.
            dtype: numeric class of the elements.

        Raises:
            TypeMismatchError: there are none.
        """
        items = list(elements)
        if not items:
            raise TypeMismatchError(
                "a vector has at least one element", code="OC1220", found=elements
            )
        known: Any = type(as_numeric(items[0])) if dtype is None else class_of(dtype)
        values = [as_numeric(x).to(known).ir_value() for x in items]
        return cls(vector.from_elements(values), len(values), known)

    def __getitem__(self, crd: Any) -> Any:
        picks = crd if isinstance(crd, tuple) else (crd,)
        if not any(isinstance(p, slice) and p != slice(None) for p in picks):
            found = super().__getitem__(crd)
            return Vector(found) if isinstance(found, TensorSSA) else found
        extents = self.shape if is_tuple(self.shape) else (self.shape,)
        if len(picks) != len(extents):
            raise LayoutError(
                "a slice has an entry for each dimension", code="OC1354", expected=len(extents),
                found=len(picks),
            )  # fmt: skip
        places = [
            range(n)[p] if isinstance(p, slice) else [range(n)[int(p)]]
            for p, n in zip(picks, extents, strict=True)
        ]
        kept = [len(place) for p, place in zip(picks, places, strict=True) if isinstance(p, slice)]
        if 0 in kept:
            raise LayoutError("a slice has no elements", code="OC1354", found=crd)
        layout = make_layout(self.shape)
        index = [0]
        for k, place in enumerate(places):
            stride: Any = layout.stride[k] if is_tuple(layout.stride) else layout.stride
            index = [base + x * stride for x in place for base in index]
        out = vector.shuffle(self.value, self.value, index)
        shape: Any = tuple(kept) if is_tuple(self.shape) else kept[0]
        return Vector(out, shape, self.dtype)


def broadcast_to(source: Any, shape: Any, *, loc: Any = None, ip: Any = None) -> Vector:
    """A vector or number repeated: its dimensions are the last ones of `shape`, as in NumPy.

    Args:
        source: the vector or number.
        shape: extents, a number or a tuple.

    Raises:
        LayoutError: a dimension is neither 1 nor that of the shape.
    """
    want = tuple(shape) if is_tuple(shape) or isinstance(shape, list) else (shape,)
    if not isinstance(source, TensorSSA):
        number = as_numeric(source)
        value = vector.broadcast(number.ir_value(), product(want))
        return Vector(value, want, type(number))
    have = source.shape if is_tuple(source.shape) else (source.shape,)
    whole = (1,) * (len(want) - len(have)) + tuple(have)
    fits = len(whole) == len(want) and all(a in (1, b) for a, b in zip(whole, want, strict=True))
    if not fits:
        raise LayoutError(
            "a vector cannot be repeated to this shape", code="OC1353", expected=want,
            found=source.shape,
        )  # fmt: skip
    return Vector(TensorSSA(source.value, whole, source.dtype).broadcast_to(want))


def outerproduct(a: TensorSSA, b: TensorSSA, *, loc: Any = None, ip: Any = None) -> Vector:
    """The matrix of all products of an element of `a` (its row) and one of `b`."""
    rows, columns = (_length(v) for v in (a, b))
    dtype: NumericMeta = a.dtype
    left = TensorSSA(a.value, (rows, 1), dtype).broadcast_to((rows, columns))
    right = TensorSSA(b.value, (1, columns), b.dtype).broadcast_to((rows, columns))
    return Vector(left * right)


def _length(v: TensorSSA) -> int:
    n: int = product(v.shape)
    return n
