# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How elements and pointers of the cute level look in memory at the llvm level.

=================== =======================================================================
cute                llvm
=================== =======================================================================
pointer to gmem     ``!llvm.ptr<1>``; smem 3; dsmem 7; rmem and generic ``!llvm.ptr``
i1                  one byte, 0 or 1
i4, f4E2M1FN, ...   packed, the element with the lower index in the lower bits
=================== =======================================================================

`Cells` moves a run of elements: it knows the type that is loaded or stored for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute.base.errors import CompileError
from opencute.dialects import arith, llvm, vector
from opencute.dialects.cute import PtrType, storage_bits
from opencute.ir.builder import current_loc
from opencute.ir.core import Value
from opencute.ir.types import I1, I8, FloatType, IntegerType, Type, VectorType

__all__ = ["SPACE", "advance", "convert_type", "load_run", "store_run"]

Load = Callable[[Value, Type, int], Value]
Store = Callable[[Value, Value, int], Any]

SPACE = {
    "generic": llvm.GENERIC,
    "gmem": llvm.GLOBAL,
    "smem": llvm.SHARED,
    "rmem": llvm.GENERIC,
    "dsmem": llvm.CLUSTER,
}


def convert_type(type: Type) -> Type:
    """The llvm-level type of a value."""
    if isinstance(type, PtrType):
        if type.space not in SPACE:
            raise CompileError(
                f"a {type.space} pointer has no address", code="OC1061", loc=current_loc()
            )
        return llvm.LLVMPointerType(SPACE[type.space])
    return type


def memory_type(element: Type) -> Type:
    """The type of one element as the unit of address arithmetic; elements of a byte or more."""
    return I8 if element == I1 or storage_bits(element) < 8 else element


def advance(base: Value, offset: Value | int, element: Type) -> Value:
    """The address `offset` elements after `base`."""
    if isinstance(offset, int) and offset == 0:
        return base
    bits = storage_bits(element)
    if bits >= 8:
        return llvm.gep(base, offset, memory_type(element))
    if isinstance(offset, int):
        if offset * bits % 8:
            raise _unaligned(element)
        return llvm.gep(base, offset * bits // 8, I8)
    per_byte = arith.constant((8 // bits).bit_length() - 1, offset.type)
    return llvm.gep(base, arith.binary("shrsi", offset, per_byte), I8)


def _unaligned(element: Type) -> CompileError:
    return CompileError(
        f"an access to {element} elements does not start at a byte",
        code="OC1062",
        loc=current_loc(),
        hint="let tiles of sub-byte elements begin and end at whole bytes",
    )


def load_run(
    address: Value, element: Type, count: int, align: int, load: Load = llvm.load
) -> Value:
    """`count` consecutive elements: a scalar if it is one, else a vector; `load` reads memory."""
    bits = storage_bits(element)
    if bits < 8:
        words = _packed(element, count)
        return vector.bitcast(load(address, words, align), VectorType(count, element))
    if element != I1:
        return load(address, element if count == 1 else VectorType(count, element), align)
    type = I8 if count == 1 else VectorType(count, I8)
    return arith.cmpi("ne", load(address, type, align), arith.constant(0, type))


def store_run(
    value: Value, address: Value, element: Type, count: int, align: int, store: Store = llvm.store
) -> None:
    """Write what `load_run` would read."""
    if storage_bits(element) < 8:
        value = vector.bitcast(value, _packed(element, count))
    elif element == I1:
        value = arith.cast("extui", value, I8)
    store(value, address, align)


def _packed(element: Type, count: int) -> VectorType:
    total = count * storage_bits(element)
    if total % 8 or not isinstance(element, IntegerType | FloatType):
        raise _unaligned(element)
    return VectorType(total // 8, I8)
