# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of device functions that come as PTX text of their own.

%y = "ptx.extern"(%a, %b) {callee = "scale_add", library = ".visible .func ..."}
     : (f32, f32) -> f32
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.base.errors import VerificationError
from opencute.dialects.cute import PtrType
from opencute.dialects.llvm import LLVMPointerType
from opencute.ir.attributes import UNIT, Attribute, StringAttr, UnitAttr
from opencute.ir.builder import build
from opencute.ir.core import Op, Value
from opencute.ir.declare import Trait, attr, op, variadic
from opencute.ir.types import Type

__all__ = ["ExternOp", "extern", "passed_bits"]


def passed_bits(type: Type) -> int:
    """Bits of a value as a parameter of a device function; 0 where it cannot be one."""
    if isinstance(type, PtrType | LLVMPointerType):
        return 64
    width = int(getattr(type, "width", 0))
    return width if width in (32, 64) else 0


@op("ptx.extern", variadic_results=True)
class ExternOp(Op):
    """A call of the function `callee`, which `library` defines (PTX ISA, "call"). Parameters and
    the result have 32 or 64 bits. Without `pure` it may read and write memory and is not moved."""

    args = variadic()
    callee = attr(StringAttr)
    library = attr(StringAttr)
    pure = attr(UnitAttr, required=False)

    def own_traits(self) -> Trait:
        if "pure" in self.attributes:
            return Trait.PURE
        return Trait.READS | Trait.WRITES | Trait.CONVERGENT

    def verify(self) -> None:
        for v in (*self.operands, *self.results):
            if not passed_bits(v.type):
                raise VerificationError(
                    "ptx.extern: values of this type are not passed to device functions",
                    code="OC1497", loc=self.loc, expected="32 or 64 bits, or a pointer",
                    found=v.type,
                )  # fmt: skip
        if len(self.results) > 1:
            raise VerificationError(
                "ptx.extern: a device function has one result", code="OC1498", loc=self.loc,
                found=len(self.results),
            )  # fmt: skip


def extern(
    callee: str, library: str, args: Sequence[Value], results: Sequence[Type], *, pure: bool = False
) -> Op:
    """Call a device function."""
    attrs: dict[str, Attribute] = {"callee": StringAttr(callee), "library": StringAttr(library)}
    if pure:
        attrs["pure"] = UNIT
    return build("ptx.extern", args, results, attrs)
