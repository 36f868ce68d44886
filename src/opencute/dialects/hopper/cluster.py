# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""PTX instructions on clusters: blocks that run together and reach each other's shared memory.

A pointer of space `dsmem` is to the shared memory of some block of the cluster::

    %q = "ptx.mapa"(%p, %rank) : (!cute.ptr<f32, smem, align<16>>, i32)
         -> !cute.ptr<f32, dsmem, align<16>>
"""

from __future__ import annotations

from opencute.base.errors import VerificationError
from opencute.dialects.cute import POINTER, PtrType
from opencute.ir.builder import build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import SCALAR_INT, Trait, op, operand, result

__all__ = ["MapaOp", "mapa"]


@op("ptx.mapa", Trait.PURE)
class MapaOp(Op):
    """The place in the shared memory of block `rank` of the cluster that `ptr` is in the own."""

    ptr = operand(POINTER)
    rank = operand(SCALAR_INT)
    out = result(POINTER)

    def verify(self) -> None:
        own, far = self.ptr.type, self.out.type
        assert isinstance(own, PtrType)
        if own.space != "smem" or far != _far(own):
            raise VerificationError(
                "ptx.mapa: the result is the pointer in dsmem", code="OC1477", loc=self.loc,
                expected=_far(own), found=far,
            )  # fmt: skip


def _far(type: PtrType) -> PtrType:
    return PtrType(type.element, "dsmem", type.align, type.swizzle)


def mapa(ptr: Value, rank: Value) -> OpResult:
    """A pointer to shared memory as one to that of block `rank` (i32) of the cluster."""
    assert isinstance(ptr.type, PtrType)
    return build1("ptx.mapa", (ptr, rank), _far(ptr.type))
