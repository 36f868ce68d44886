# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Single PTX instructions that no MLIR dialect has; names and semantics follow the PTX ISA."""

from __future__ import annotations

from opencute.base.errors import VerificationError
from opencute.ir.attributes import StringAttr
from opencute.ir.builder import build, build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import SCALAR_INT, Trait, attr, op, operand, optional, result
from opencute.ir.types import I32

__all__ = ["SREGS", "BarSyncOp", "SRegOp", "bar_sync", "sreg"]

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

    def verify(self) -> None:
        if self.reg.value not in SREGS:
            raise VerificationError(
                f"ptx.sreg: there is no register {self.reg.value!r}",
                code="OC1448",
                loc=self.loc,
                expected=", ".join(SREGS),
            )


@op("ptx.bar_sync", Trait.WRITES | Trait.READS | Trait.BLOCKING | Trait.CONVERGENT)
class BarSyncOp(Op):
    """Wait at barrier `barrier` (0 to 15) for all threads of the block, or for `count` threads
    (PTX ISA, "bar, barrier"); orders the memory accesses of those that meet."""

    barrier = operand(SCALAR_INT)
    count = optional(SCALAR_INT)


def sreg(name: str) -> OpResult:
    """The value of special register `name`, such as ``tid.x``."""
    assert name in SREGS, name
    return build1("ptx.sreg", (), I32, {"reg": StringAttr(name)})


def bar_sync(barrier: Value, count: Value | None = None) -> Op:
    """Wait at a barrier for all threads of the block, or for `count` of them."""
    return build("ptx.bar_sync", (barrier,) if count is None else (barrier, count))
