# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of small matrices by one instruction of a warp.

In: a record's name, and the registers of the thread for A, B and C. Out: those of D::

    d = prims.mma("m16n8k16.f32.f16.f16.f32", a, b, c)            # 4, 2 and 4 registers
    d = prims.mma_sp("m16n8k32.f32.f16.f16.f32", a, b, c, metadata, selector=0)

Which elements they hold is in `opencute.arch.mma` and `opencute.arch.sparse`. `wgmma_sp` is the
like of a warpgroup, which runs while its threads go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute import layout as la
from opencute.arch.mma import MmaAtom, mma_atom
from opencute.arch.sparse import SparseMmaAtom, sparse_mma_atom
from opencute.arch.wgmma import wgmma_atom
from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.dialects import ptx_matrix, vector
from opencute.dialects.hopper import wgmma as dialect
from opencute.ir.core import Value
from opencute.ir.types import I32
from opencute.lang.block.words import word
from opencute.lang.hopper.descriptors import Descriptor, descriptor_tensor
from opencute.lang.numbers import (
    BFloat16,
    Boolean,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Float64,
    Int8,
    Int32,
    TFloat32,
    Uint8,
    as_numeric,
)
from opencute.lang.pointers import AddressSpace
from opencute.lang.tensors import TracedTensor, layout_operands, tile
from opencute.lang.vectors import TensorSSA
from opencute.layout import ComposedLayout, Layout, make_layout

__all__ = ["mma", "mma_sp", "wgmma_sp"]

_CLASS: dict[str, Any] = {"f32": Float32, "f64": Float64}
_ELEMENTS: dict[str, Any] = {
    "f16": Float16, "bf16": BFloat16, "tf32": TFloat32, "f32": Float32, "s8": Int8, "u8": Uint8,
    "s32": Int32, "e4m3": Float8E4M3FN, "e5m2": Float8E5M2,
}  # fmt: skip


def _registers(what: str, given: Any, count: int, type: str) -> Value:
    """Registers as a vector: numbers, or a vector of them."""
    numeric = _CLASS.get(type, Int32)
    if isinstance(given, TensorSSA):
        given = [given[i] for i in range(given.value.type.length)]  # pyright: ignore
    items = list(given)
    if len(items) != count:
        raise ArgumentError(
            f"mma: {what} has another number of registers", code="OC2945", expected=count,
            found=len(items),
        )  # fmt: skip
    values: list[Value] = []
    for item in items:
        number: Any = as_numeric(item)
        if numeric is Int32 and number.dtype.width == 32 and number.dtype.is_float:
            number = number.bitcast(Int32)
        values.append(number.to(numeric).ir_value())
    return vector.from_elements(values)


def _operands(atom: MmaAtom | SparseMmaAtom, *given: Any) -> list[Value]:
    return [
        _registers(what, x, count, type)
        for what, x, count, type in zip(
            "ABC", given, atom.registers, atom.types[1:], strict=True
        )
    ]  # fmt: skip


def _result(atom: MmaAtom | SparseMmaAtom, value: Value) -> tuple[Any, ...]:
    numeric = _CLASS.get(atom.types[0], Int32)
    return tuple(numeric(vector.extract(value, i)) for i in range(atom.registers[2]))


def mma(
    atom: str, a: Sequence[Any], b: Sequence[Any], c: Sequence[Any], *, loc: Any = None,
    ip: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """The registers of ``a * b + c``.

    Args:
        atom: shape and types, such as ``m16n8k16.f32.f16.f16.f32``.
        a: the thread's registers of A.
        b: of B.
        c: of C.

    Raises:
        ArgumentError: no such instruction, or another number of registers.
    """
    record = mma_atom(atom)
    return _result(record, ptx_matrix.mma(atom, *_operands(record, a, b, c)))


def mma_sp(
    atom: str, a: Sequence[Any], b: Sequence[Any], c: Sequence[Any], metadata: Any,
    selector: int = 0, *, loc: Any = None, ip: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """The registers of ``a * b + c``, where half of each small run along k of A is left out.

    Args:
        atom: shape and types, such as ``m16n8k32.f32.f16.f16.f32``; k counts what is left out.
        a: the thread's registers of the kept elements of A.
        b: of B.
        c: of C.
        metadata: the thread's 32 bits that say which elements are kept, in ascending order.
        selector: which threads of each four have the metadata.

    Raises:
        ArgumentError: no such instruction, or another number of registers.
    """
    name = atom if atom.startswith("sp.") else f"sp.{atom}"
    record = sparse_mma_atom(name)
    if not 0 <= int(selector) < record.selectors:
        raise ArgumentError(
            "mma_sp: no such selector", code="OC2945", expected=f"0 to {record.selectors - 1}",
            found=selector,
        )  # fmt: skip
    e = word(metadata)
    assert e.type == I32
    left, right, acc = _operands(record, a, b, c)
    out = ptx_matrix.mma_sparse(name, left, right, acc, e, int(selector))
    return _result(record, out)


def _tile_of(tensor: Any, shape: tuple[int, int], mn_major: bool, which: str) -> TracedTensor:
    """The descriptor of one tile in shared memory, as a tensor of three modes."""
    if not isinstance(tensor, TracedTensor):
        raise TypeMismatchError(
            f"wgmma_sp: {which} is no tensor in shared memory", code="OC1619", found=str(tensor)
        )
    one = Layout(1, 0)
    layout = tensor.layout
    if isinstance(layout, ComposedLayout):
        layout = ComposedLayout(layout.inner, layout.offset, make_layout(layout.outer, one, one))
    else:
        layout = make_layout(layout, one, one)
    return descriptor_tensor(TracedTensor(tensor.iterator, layout), shape, mn_major, which)


def wgmma_sp(
    atom: str, acc: Any, a: Any, b: Any, metadata: Any, selector: int = 0, *,
    accumulate: Any = True, a_mn_major: bool = False, b_mn_major: bool = False, loc: Any = None,
    ip: Any = None,
) -> None:  # fmt: skip
    """Start adding ``a * b`` to an accumulator, where half of each small run along k of A is left
    out; the four warps of a warpgroup do it, and wait as for other products of warpgroups.

    Args:
        atom: shape and types, such as ``m64n128k32.f32.f16.f16``; k counts what is left out.
        acc: the thread's elements of the accumulator, a register tensor.
        a: the kept elements, (64, k / 2) in shared memory, or a register tensor of the thread's.
        b: (N, k) in shared memory.
        metadata: the thread's 32 bits that say which elements are kept, in ascending order.
        selector: which threads of each four have the metadata.
        accumulate: False begins a new sum.
        a_mn_major: whether A is contiguous along M.
        b_mn_major: whether B is contiguous along N.

    Raises:
        ArgumentError: no such instruction, or no such selector.
        LayoutError: the operands do not lie as the instruction reads them.
        TypeMismatchError: operands of other types, or elsewhere.
    """
    in_registers = isinstance(a, TracedTensor) and a.memspace == AddressSpace.rmem
    record = wgmma_atom(f"wgmma.sp.{atom}.{'rs' if in_registers else 'ss'}")
    if not 0 <= int(selector) < record.selectors:
        raise ArgumentError(
            "wgmma_sp: no such selector", code="OC2945", expected=f"0 to {record.selectors - 1}",
            found=selector,
        )  # fmt: skip
    _, n, k = record.mnk
    types = record.types
    for what, x, type in zip(("the accumulator", "A", "B"), (acc, a, b), types, strict=False):
        _check_elements(what, x, type)
    right = _tile_of(b, (n, k), b_mn_major, "B")
    left = _own(a, record.values[0], "A", types[1]) if in_registers else _tile_of(
        a, (64, k // 2), a_mn_major, "A"
    )  # fmt: skip
    highs = [
        x.iterator.strides.high if isinstance(x.iterator, Descriptor) else 0 for x in (left, right)
    ]
    majors = ["mn" if x else "k" for x in (a_mn_major, b_mn_major)]
    dialect.cute_wgmma(
        record.name, tile(_own(acc, record.values[2], "the accumulator", types[0])),
        left.iterator.value, layout_operands(left.layout)[0],
        right.iterator.value, layout_operands(right.layout)[0],
        Boolean(accumulate).ir_value(), majors=(majors[0], majors[1]),
        highs=(highs[0], highs[1]), meta=[word(metadata)], selector=int(selector),
    )  # fmt: skip


def _check_elements(what: str, tensor: Any, type: str) -> None:
    want = _ELEMENTS[type]
    found = tensor.element_type if isinstance(tensor, TracedTensor) else None
    if found is not want and (want is not TFloat32 or found is not Float32):
        raise TypeMismatchError(
            f"wgmma_sp: the atom does not take {what}", code="OC1280", expected=want,
            found=str(tensor),
        )  # fmt: skip


def _own(tensor: Any, count: int, what: str, type: str) -> TracedTensor:
    """A register tensor as the instruction's values, with three modes."""
    ok = isinstance(tensor, TracedTensor) and tensor.memspace == AddressSpace.rmem
    if not ok or la.size(tensor.layout) != count or not la.is_static(tensor.layout):
        raise TypeMismatchError(
            f"wgmma_sp: {what} of a thread has {count} elements in registers", code="OC1281",
            found=str(tensor),
        )  # fmt: skip
    pointer = tensor.iterator.recast(_ELEMENTS[type])
    return TracedTensor(pointer, make_layout(tensor.layout, Layout(1, 0), Layout(1, 0)))
