# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor maps: made by host code, passed to kernels, changed by kernels.

A map is a value on its way from the host to a kernel, and 128 bytes of memory for the instructions
that use it; ``cute.tma_descriptor_address`` leads from the one to the other. Dimensions are listed
innermost first, strides are in bytes, without that of the innermost::

    %m = "cute.tma_descriptor"(%p, %n, %k, %s) {element = "f16", box = array<i32: 64, 128>,
          swizzle = "128b", l2 = "128b", ..., operandSegmentSizes = array<i32: 1, 2, 1>}
         : (!cute.ptr<f16, gmem, align<16>>, i64, i64, i64) -> !cute.tma_desc
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opencute.arch.tma import DESCRIPTOR_ALIGN, MAX_RANK, Tile
from opencute.base.errors import ArgumentError, VerificationError
from opencute.dialects.cute import POINTER, PtrType
from opencute.dialects.ptx import check_word
from opencute.ir.attributes import Attribute, DenseI32Attr, IntAttr, StringAttr
from opencute.ir.builder import build, build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import SCALAR_INT, Trait, attr, op, operand, result, type_is, variadic
from opencute.ir.syntax import Syntax, register_type_parser
from opencute.ir.types import I8, I32, I64, Type

__all__ = [
    "FIELDS",
    "TENSOR_MAP",
    "CopyFenceTensormapOp",
    "DescriptorAddressOp",
    "DescriptorOp",
    "PrefetchTensormapOp",
    "ReplaceTensormapOp",
    "TmaDescType",
    "check_map",
    "copy_fence_tensormap",
    "descriptor",
    "descriptor_address",
    "prefetch_tensormap",
    "replace_tensormap",
    "tile_of",
]


@dataclass(frozen=True, eq=False)
class TmaDescType(Type):
    """A tensor map as a value."""

    def __str__(self) -> str:
        return "!cute.tma_desc"


def _parse(_: Syntax) -> TmaDescType:
    return TmaDescType()


register_type_parser("cute.tma_desc", _parse)
TENSOR_MAP = type_is(TmaDescType, "tensor map")

# The fields that tensormap.replace changes: whether they are listed by dimension, and their width.
FIELDS: dict[str, tuple[bool, Type]] = {
    "global_address": (False, I64),
    "rank": (False, I32),
    "box_dim": (True, I32),
    "global_dim": (True, I32),
    "global_stride": (True, I64),
    "element_stride": (True, I32),
}


def _wrong(op_: Op, what: str, expected: object, found: object) -> VerificationError:
    return VerificationError(
        f"{op_.name}: {what}", code="OC1434", loc=op_.loc, expected=expected, found=found
    )


def check_map(op_: Op, ptr: Value, spaces: tuple[str, ...] = ("gmem", "generic")) -> None:
    """Raise unless a pointer can point to a tensor map."""
    type = ptr.type
    if not isinstance(type, PtrType):
        return  # an address, after lowering
    if type.space not in spaces or type.swizzle:
        raise _wrong(op_, "this is no pointer to a tensor map", " or ".join(spaces), type)


@op("cute.tma_descriptor", Trait.PURE)
class DescriptorOp(Op):
    """The map of a tensor: `ptr` to its first element, `dims` (i64, innermost first) and `strides`
    (i64, bytes, of all but the innermost). The attributes are the fields of `arch.tma.Tile`."""

    ptr = operand(POINTER)
    dims = variadic(SCALAR_INT)
    strides = variadic(SCALAR_INT)
    element = attr(StringAttr)
    box = attr(DenseI32Attr)
    steps = attr(DenseI32Attr)
    swizzle = attr(StringAttr)
    interleave = attr(StringAttr)
    l2 = attr(StringAttr)
    oob = attr(StringAttr)
    lower = attr(DenseI32Attr)
    upper = attr(DenseI32Attr)
    channels = attr(IntAttr)
    pixels = attr(IntAttr)
    map = result(TENSOR_MAP)

    def verify(self) -> None:
        try:
            tile = tile_of(self)
        except ArgumentError as e:
            raise VerificationError(
                "cute.tma_descriptor: no such tile", code="OC1434", loc=self.loc, found=e.message
            ) from None
        want = tile.rank, tile.rank - 1
        found = len(self.dims), len(self.strides)
        if want != found or any(v.type != I64 for v in (*self.dims, *self.strides)):
            raise _wrong(self, "extents and strides do not fit the tile", f"{want} of i64", found)
        if isinstance(self.ptr.type, PtrType) and self.ptr.type.space != "gmem":
            raise _wrong(self, "tensors are in global memory", "gmem", self.ptr.type)


def tile_of(op_: DescriptorOp) -> Tile:
    """The static part of a map.

    Raises:
        ArgumentError: there is no such tile.
    """
    return Tile(
        op_.element.value, op_.box.values, op_.steps.values, op_.swizzle.value,
        op_.interleave.value, op_.l2.value, op_.oob.value, op_.lower.values, op_.upper.values,
        op_.channels.value, op_.pixels.value,
    )  # fmt: skip


@op("cute.tma_descriptor_address", Trait.PURE)
class DescriptorAddressOp(Op):
    """Where a kernel's argument, a map, lies: a generic address of 128 bytes."""

    map = operand(TENSOR_MAP)
    ptr = result()


@op("ptx.prefetch_tensormap", Trait.READS | Trait.WRITES)
class PrefetchTensormapOp(Op):
    """Fetch a map into the cache that instructions read it from (PTX ISA, "prefetch")."""

    map = operand()

    def verify(self) -> None:
        check_map(self, self.map)


@op("ptx.tensormap_replace", Trait.READS | Trait.WRITES)
class ReplaceTensormapOp(Op):
    """Change one field of a map in global or shared memory (PTX ISA, "tensormap.replace"): `field`
    is one of FIELDS, `ord` the dimension for those listed by dimension. A new rank is one less
    than the number of dimensions; strides are numbered from that of dimension 1, as 0."""

    map = operand()
    value = operand(SCALAR_INT)
    field = attr(StringAttr)
    ord = attr(IntAttr)

    def verify(self) -> None:
        check_map(self, self.map, ("gmem", "smem", "generic"))
        listed, type = FIELDS[check_word(self, "field", tuple(FIELDS))]
        if self.value.type != type or not 0 <= self.ord.value < (MAX_RANK if listed else 1):
            raise _wrong(
                self, "no such field", f"{type}, ord 0 to {MAX_RANK - 1 if listed else 0}",
                f"{self.value.type}, ord {self.ord.value}",
            )  # fmt: skip


@op("ptx.tensormap_copy_fence", Trait.READS | Trait.WRITES | Trait.CONVERGENT)
class CopyFenceTensormapOp(Op):
    """Copy a map from shared to global memory and release it there for the tensor map proxy of the
    GPU; a whole warp does it together (PTX ISA, "tensormap.cp_fenceproxy")."""

    dst = operand()
    src = operand()

    def verify(self) -> None:
        check_map(self, self.dst, ("gmem", "generic"))
        check_map(self, self.src, ("smem",))


def descriptor(ptr: Value, dims: Sequence[Value], strides: Sequence[Value], tile: Tile) -> OpResult:
    """The map of a tensor; dims and strides (bytes) are i64 values, innermost first."""
    attrs: dict[str, Attribute] = {
        key: StringAttr(getattr(tile, key)) for key in ("element", "swizzle", "interleave", "l2",
                                                        "oob")
    }  # fmt: skip
    attrs |= {key: DenseI32Attr(getattr(tile, key)) for key in ("box", "steps", "lower", "upper")}
    attrs |= {key: IntAttr(getattr(tile, key), I64) for key in ("channels", "pixels")}
    attrs["operandSegmentSizes"] = DenseI32Attr((1, len(dims), len(strides)))
    return build1("cute.tma_descriptor", (ptr, *dims, *strides), TmaDescType(), attrs)


def descriptor_address(map: Value) -> OpResult:
    """A pointer to a kernel's argument."""
    type = PtrType(I8, "generic", DESCRIPTOR_ALIGN)
    return build1("cute.tma_descriptor_address", (map,), type)


def prefetch_tensormap(map: Value) -> Op:
    """Fetch a map into its cache."""
    return build("ptx.prefetch_tensormap", (map,))


def replace_tensormap(map: Value, field: str, value: Value, ord: int = 0) -> Op:
    """Change one field of a map."""
    attrs: dict[str, Attribute] = {"field": StringAttr(field), "ord": IntAttr(ord, I64)}
    return build("ptx.tensormap_replace", (map, value), (), attrs)


def copy_fence_tensormap(dst: Value, src: Value) -> Op:
    """Copy a map from shared to global memory and release it."""
    return build("ptx.tensormap_copy_fence", (dst, src))
