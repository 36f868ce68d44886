# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`llvm`: addresses and memory after lowering."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.dialects.llvm import LLVMPointerType
from opencute.ir.attributes import DenseI32Attr, TypeAttr
from opencute.ir.core import Op
from opencute.ir.types import FunctionType, IntegerType, Type, VectorType, element_type
from opencute.sim.access import Access
from opencute.sim.lanes import Lanes
from opencute.sim.memory import RAW, RowBuffer, SimPointer
from opencute.sim.registry import Function, semantics
from opencute.sim.sync.shared import SHARED_BASE, SharedBuffer
from opencute.sim.tiles import int_attr
from opencute.sim.values import int_width, wrap

__all__ = [
    "address_of", "moved", "new_registers", "reading", "shared_address", "size_of", "to_pointer",
    "to_shared_pointer", "writing",
]  # fmt: skip

_DYNAMIC = -(1 << 31)


def size_of(type: Type | FunctionType, op: Op) -> int:
    """Bytes from one element of an array to the next."""
    if isinstance(type, VectorType):
        size = size_of(type.element, op) * type.length
        return 1 << (size - 1).bit_length()
    if isinstance(type, LLVMPointerType):
        return 8
    width = getattr(type, "width", None)
    if width is None:
        raise SimulationError(f"{op.name}: {type} has no size", code="OC3001", loc=op.loc)
    return 1 << (-(-int(width) // 8) - 1).bit_length()


def new_registers(lanes: Lanes, name: str, size: int) -> SimPointer:
    """A pointer to registers of all lanes that started together."""
    run = lanes.run
    buffer = RowBuffer(run.lanes, size, name, run.table.reserve(size))
    return SimPointer(buffer, 0)


def address_of(lanes: Lanes, ptr: Any) -> Any:
    """The address; registers become known to the address table."""
    if not isinstance(ptr, SimPointer):
        return int(ptr or 0)
    if ptr.buffer is not RAW and type(ptr.buffer) is not SharedBuffer:
        lanes.run.table.add(ptr.buffer.every or ptr.buffer)
    return ptr.address()


def shared_address(lanes: Lanes, ptr: Any) -> Any:
    """The address in the window of shared memory, as PTX has it: some 20 bits."""
    return address_of(lanes, ptr) & 0xFFFFFF


def to_shared_pointer(lanes: Lanes, value: Any) -> SimPointer:
    """A pointer for an address in the window of shared memory."""
    value = value.astype(np.int64) if type(value) is np.ndarray else int(value)
    return SimPointer(lanes.run.group.arena.whole, value - SHARED_BASE)


@semantics("llvm.getelementptr")
def gep(op: Op) -> Function:
    """Move by a number of elements."""
    raw, elem = op.attributes["rawConstantIndices"], op.attributes["elem_type"]
    assert isinstance(raw, DenseI32Attr) and isinstance(elem, TypeAttr)
    if len(raw.values) != 1:
        raise SimulationError("llvm.getelementptr: more than one index", code="OC3001", loc=op.loc)
    size = size_of(elem.value, op)
    (index,) = raw.values
    if index != _DYNAMIC:
        delta = index * size
        return lambda p: SimPointer(p.buffer, p.offset + delta)
    return lambda p, i: moved(p, i, size)


def moved(ptr: SimPointer, index: Any, size: int) -> SimPointer:
    """A pointer `index` times `size` bytes further, exact in 64 bits."""
    if type(index) is np.ndarray:
        index = index.astype(np.int64, copy=False)
        if size != 1:
            index = index * size
    else:
        index *= size
    return SimPointer(ptr.buffer, ptr.offset + index)


@semantics("llvm.addrspacecast")
def addrspacecast(op: Op) -> Function:
    """The same pointer; a pointer knows its memory without help of the type."""
    return lambda p: p


@semantics("llvm.ptrtoint", lanes=True)
def ptrtoint(op: Op) -> Function:
    """The address."""
    width = int_width(op.results[0].type)

    def run(lanes: Lanes, ptr: Any) -> Any:
        address = address_of(lanes, ptr)
        if type(address) is np.ndarray:
            return address if width == 64 else address.astype(f"i{width // 8}")
        return wrap(address, width)

    return run


@semantics("llvm.inttoptr")
def inttoptr(op: Op) -> Function:
    """An address whose buffer is found when it is used."""
    return to_pointer


def to_pointer(value: Any) -> SimPointer:
    """A pointer for an address."""
    if type(value) is np.ndarray:
        return SimPointer(RAW, value.astype(np.int64, copy=False))
    return SimPointer(RAW, int(value))


@semantics("llvm.alloca", lanes=True)
def alloca(op: Op) -> Function:
    """Registers for some elements, not initialised."""
    elem = op.attributes["elem_type"]
    assert isinstance(elem, TypeAttr)
    size = size_of(elem.value, op)
    name = f"alloca at {op.loc}" if op.loc else "alloca"

    def run(lanes: Lanes, count: Any) -> SimPointer:
        if type(count) is np.ndarray:
            count = int(count.max())
        return new_registers(lanes, name, int(count) * size)

    return run


def _access(op: Op, type: Type) -> Access:
    element = element_type(type)
    vector = isinstance(type, VectorType)
    if vector and element == IntegerType(1):
        raise SimulationError(
            f"{op.name}: vectors of i1 have no layout in memory", code="OC3001", loc=op.loc
        )
    run = type.length if isinstance(type, VectorType) else 1
    align = int_attr(op, "alignment")
    return Access(op, element, vector=vector, run=run, align=align, widest=32, natural=False)


def reading(access: Access) -> Function:
    """What a load through a pointer does."""

    def run(lanes: Lanes, ptr: SimPointer, taints: Any = (), track: bool = False) -> Any:
        value = access.read(lanes, ptr)
        return (value, access.garbage(lanes, ptr)) if track else value

    return run


def writing(access: Access) -> Function:
    """What a store of a value through a pointer does."""

    def run(lanes: Lanes, value: Any, ptr: SimPointer, taints: Any = (None,)) -> None:
        access.write(lanes, value, ptr)
        access.leave(lanes, ptr, taints[0])

    return run


@semantics("llvm.load", lanes=True, taint="memory", sinks=((0, "an address"),))
def load(op: Op) -> Function:
    """Read a scalar or a vector."""
    return reading(_access(op, op.results[0].type))


@semantics("llvm.store", lanes=True, taint="memory", sinks=((1, "an address"),))
def store(op: Op) -> Function:
    """Write a scalar or a vector."""
    return writing(_access(op, op.operands[0].type))
