# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Single PTX instructions that no MLIR dialect has; names and semantics follow the PTX ISA."""

from __future__ import annotations

from opencute.ir.attributes import StringAttr
from opencute.ir.builder import build1
from opencute.ir.core import Op, OpResult
from opencute.ir.declare import SCALAR_INT, Trait, attr, op, result
from opencute.ir.types import I32

__all__ = ["SREGS", "SRegOp", "sreg"]

SREGS = (
    *(f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
    "laneid",
    "warpid",
)


@op("ptx.sreg", Trait.PURE)
class SRegOp(Op):
    """Read a special register (PTX ISA, "Special Registers"); `reg` is one of SREGS."""

    reg = attr(StringAttr)
    out = result(SCALAR_INT)


def sreg(name: str) -> OpResult:
    """The value of special register `name`, such as ``tid.x``."""
    assert name in SREGS, name
    return build1("ptx.sreg", (), I32, {"reg": StringAttr(name)})
