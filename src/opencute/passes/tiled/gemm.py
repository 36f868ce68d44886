# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How `tiles` lowers ``cute.gemm``: one instruction for each m, n and k.

Before::

    "cute.gemm"(%d, %a, %b, %d) {atom = "m16n8k16.f32.f16.f16.f32", ...}

After, for each k, m and n, with %d, %a and %b as values::

    %d1 = "ptx.mma"(%a0, %b0, %d0) {atom = "m16n8k16.f32.f16.f16.f32"}

Why: fragments are values by now, so that each instruction takes and gives registers. Neighbouring
n run forward and backward in turn, so that one operand of an instruction is the last one's.

Cost: linear in the number of instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from opencute.arch.mma import MmaAtom, mma_atom
from opencute.dialects import math, ptx_matrix, vector
from opencute.dialects.tiled import GemmOp, extents
from opencute.ir.core import Value
from opencute.ir.types import Type, VectorType, element_type
from opencute.passes.tile_access import Lane, gather

__all__ = ["Side", "lower_gemm", "registers"]


class Side(Protocol):
    """A tile of memory or of values."""

    def load(self, wanted: Sequence[int]) -> dict[int, Lane]:
        """The wanted elements."""
        ...

    def store(self, values: dict[int, Lane]) -> None:
        """Write elements."""
        ...


def lower_gemm(op: GemmOp, d: Side, a: Side, b: Side, c: Side) -> None:
    """Build what replaces `op`; the sides are its operands' tiles."""
    atom = mma_atom(op.atom.value)
    _, m, n = extents(op.d_layout)
    k = extents(op.a_layout)[2]
    acc = c.load(range(atom.values[2] * m * n))
    if atom.threads == 1:
        _fma(m, n, k, a, b, acc)
    else:
        _mma(atom, (m, n, k), a, b, acc)
    d.store(acc)


def _order(m: int, n: int) -> list[tuple[int, int]]:
    return [(i, n - 1 - j if i % 2 else j) for i in range(m) for j in range(n)]


def _fma(m: int, n: int, k: int, a: Side, b: Side, acc: dict[int, Lane]) -> None:
    left = {i: lane.scalar() for i, lane in a.load(range(m * k)).items()}
    right = {i: lane.scalar() for i, lane in b.load(range(n * k)).items()}
    order = _order(m, n)
    for step in range(k):
        for i, j in order:
            value = acc[i + m * j].scalar()
            acc[i + m * j] = Lane(math.fma(left[i + m * step], right[j + n * step], value))


def registers(lanes: Sequence[Lane], type: Type) -> Value:
    """Elements as the registers that an instruction takes."""
    assert isinstance(type, VectorType)
    held = _held(lanes, type)
    if held is not None:
        return held
    value = gather(lanes)
    if not isinstance(value.type, VectorType):
        value = vector.broadcast(value, 1)
    return value if value.type == type else vector.bitcast(value, type)


def _held(lanes: Sequence[Lane], type: VectorType) -> Value | None:
    """The registers themselves, where the elements are what a matrix load put into them."""
    cast = lanes[0].value.op
    if cast is None or cast.name != "vector.bitcast":
        return None
    source = cast.operands[0]
    if not isinstance(source.type, VectorType) or source.type.element != type.element:
        return None
    per = len(lanes) // type.length
    first = lanes[0].index or 0
    if first % per or any(
        lane.value is not cast.result or lane.index != first + i for i, lane in enumerate(lanes)
    ):
        return None
    at = first // per
    if source.type == type:
        return source
    return vector.shuffle(source, source, range(at, at + type.length))


def _mma(atom: MmaAtom, mnk: tuple[int, int, int], a: Side, b: Side, acc: dict[int, Lane]) -> None:
    m, n, k = mnk
    va, vb, vc = atom.values
    ta, tb, tc = ptx_matrix.register_types(atom)
    left, right = a.load(range(va * m * k)), b.load(range(vb * n * k))
    element = element_type(acc[0].value.type)
    order = _order(m, n)
    for step in range(k):
        rows = [registers(_values(left, va, i + m * step), ta) for i in range(m)]
        columns = [registers(_values(right, vb, j + n * step), tb) for j in range(n)]
        for i, j in order:
            at = vc * (i + m * j)
            old = registers([acc[at + v] for v in range(vc)], tc)
            new = ptx_matrix.mma(atom.name, rows[i], columns[j], old)
            if element_type(tc) != element:
                new = vector.bitcast(new, VectorType(vc, element))
            for v in range(vc):
                acc[at + v] = Lane(new, v)


def _values(lanes: dict[int, Lane], count: int, which: int) -> list[Lane]:
    return [lanes[which * count + v] for v in range(count)]
