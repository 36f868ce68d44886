# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of small matrices by one instruction of a warp.

In: a record's name, and the registers of the thread for A, B and C. Out: those of D::

    d = prims.mma("m16n8k16.f32.f16.f16.f32", a, b, c)            # 4, 2 and 4 registers
    d = prims.mma_sp("m16n8k32.f32.f16.f16.f32", a, b, c, metadata, selector=0)

Which elements they hold is in `opencute.arch.mma` and `opencute.arch.sparse`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute.arch.mma import MmaAtom, mma_atom
from opencute.arch.sparse import SparseMmaAtom, sparse_mma_atom
from opencute.base.errors import ArgumentError
from opencute.dialects import ptx_matrix, vector
from opencute.ir.core import Value
from opencute.ir.types import I32
from opencute.lang.block.words import word
from opencute.lang.numbers import Float32, Float64, Int32, as_numeric
from opencute.lang.vectors import TensorSSA

__all__ = ["mma", "mma_sp"]

_CLASS: dict[str, Any] = {"f32": Float32, "f64": Float64}


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
    values = _operands(record, a, b, c)
    return _result(record, ptx_matrix.mma_sparse(name, *values, e, int(selector)))
