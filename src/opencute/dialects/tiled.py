# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products of the register fragments of a thread, or of the threads of a warp.

``cute.gemm`` adds the product of two tiles of fragments to a third, by one atom for each m, n, k::

    "cute.gemm"(%d, %a, %b, %c) {atom = "m16n8k16.f32.f16.f16.f32",
        a_layout = #cute.layout<"((2,2,2),4,2):((1,2,4),8,32)">, ...}
        : (!cute.ptr<f32, rmem, align<16>>, ...) -> ()

Layouts have the form (V, M, K), (V, N, K), (V, M, N) and (V, M, N): V are the atom's values of one
thread.
"""

from __future__ import annotations

from typing import Any, cast

from opencute.arch.mma import ELEMENT_BITS, MMA_ATOMS, mma_atom
from opencute.base.errors import VerificationError
from opencute.dialects.cute import POINTER, LayoutAttr, PtrType, Tile
from opencute.ir.attributes import StringAttr
from opencute.ir.builder import build
from opencute.ir.core import Op
from opencute.ir.declare import Trait, attr, op, operand
from opencute.ir.types import BF16, F16, F32, F64, I8, I32, FloatType, IntegerType, Type

__all__ = ["ATOM_TYPES", "GemmOp", "extents", "gemm"]

ATOM_TYPES: dict[str, Type] = {
    "f64": F64, "f32": F32, "tf32": FloatType("tf32", 32), "f16": F16, "bf16": BF16,
    "e4m3": FloatType("f8E4M3FN", 8), "e5m2": FloatType("f8E5M2", 8), "s32": I32, "s8": I8,
    "u8": I8, "s4": IntegerType(4), "u4": IntegerType(4),
}  # fmt: skip
"""The element of a fragment by the name that PTX has for it."""

assert set(ATOM_TYPES) == set(ELEMENT_BITS) - {"b1"}


def extents(layout: LayoutAttr) -> tuple[int, int, int]:
    """The sizes of the three modes of a fragment tile."""
    shape: Any = layout.shape
    a, b, c = (_size(mode) for mode in shape)
    return a, b, c


def _size(tree: Any) -> int:
    if isinstance(tree, tuple):
        out = 1
        for item in cast("tuple[Any, ...]", tree):
            out *= _size(item)
        return out
    assert isinstance(tree, int)
    return tree


@op("cute.gemm", Trait.READS | Trait.WRITES | Trait.CONVERGENT)
class GemmOp(Op):
    """d = a * b + c on tiles of register fragments; d may be c, and else shares nothing with the
    others. For each m and n the products of ascending k are added one after the other."""

    d = operand(POINTER)
    a = operand(POINTER)
    b = operand(POINTER)
    c = operand(POINTER)
    atom = attr(StringAttr)
    d_layout = attr(LayoutAttr)
    a_layout = attr(LayoutAttr)
    b_layout = attr(LayoutAttr)
    c_layout = attr(LayoutAttr)

    def verify(self) -> None:
        if self.atom.value not in MMA_ATOMS:
            raise VerificationError(
                f"cute.gemm: no MMA atom is called {self.atom.value!r}", code="OC1485", loc=self.loc
            )
        layouts = (self.d_layout, self.a_layout, self.b_layout, self.c_layout)
        for layout in layouts:
            rank = len(layout.shape) if isinstance(layout.shape, tuple) else 1
            if layout.dyns() or rank != 3:
                raise VerificationError(
                    "cute.gemm: fragments have static layouts with three modes",
                    code="OC1486", loc=self.loc, found=layout.text(),
                )  # fmt: skip
        self._check_sizes()
        self._check_types()

    def _check_sizes(self) -> None:
        atom = mma_atom(self.atom.value)
        d, a, b, c = map(extents, (self.d_layout, self.a_layout, self.b_layout, self.c_layout))
        va, vb, vc = atom.values
        want = ((vc, a[1], b[1]), (va, d[1], b[2]), (vb, d[2], a[2]), (vc, a[1], b[1]))
        if (d, a, b, c) != want:
            raise VerificationError(
                "cute.gemm: the shapes of the fragments do not fit the atom and each other",
                code="OC1487", loc=self.loc,
                expected="(V, M, N), (V, M, K), (V, N, K), (V, M, N); "
                f"V are {vc}, {va}, {vb}, {vc}",
                found=f"{d}, {a}, {b}, {c}",
            )  # fmt: skip

    def _check_types(self) -> None:
        atom = mma_atom(self.atom.value)
        for ptr, name in zip((self.d, self.a, self.b, self.c), atom.types, strict=True):
            type = ptr.type
            assert isinstance(type, PtrType)
            if type.element != ATOM_TYPES.get(name) or type.space != "rmem":
                raise VerificationError(
                    "cute.gemm: a fragment is not what the atom takes", code="OC1488",
                    loc=self.loc, expected=f"{ATOM_TYPES.get(name)} in registers", found=type,
                )  # fmt: skip


def gemm(atom: str, d: Tile, a: Tile, b: Tile, c: Tile) -> Op:
    """d = a * b + c by an atom."""
    attrs = {
        "atom": StringAttr(atom), "d_layout": d.layout, "a_layout": a.layout,
        "b_layout": b.layout, "c_layout": c.layout,
    }  # fmt: skip
    return build("cute.gemm", (d.ptr, a.ptr, b.ptr, c.ptr), (), attrs)
