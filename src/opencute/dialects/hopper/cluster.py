# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""PTX instructions on clusters: blocks that run together and reach each other's shared memory.

A pointer of space `dsmem` is to the shared memory of some block of the cluster::

    %q = "ptx.mapa"(%p, %rank) : (!cute.ptr<f32, smem, align<16>>, i32)
         -> !cute.ptr<f32, dsmem, align<16>>

Loads, stores and atomic operations take such pointers as they take others. `ptx.st_async` and
`ptx.red_async` write there later, and count their bytes on an mbarrier beside the data.
"""

from __future__ import annotations

from opencute.base.errors import VerificationError
from opencute.dialects.cute import POINTER, PtrType
from opencute.dialects.hopper.mbarrier import check_place
from opencute.dialects.ptx import check_word
from opencute.ir.attributes import UNIT, Attribute, IntAttr, StringAttr, UnitAttr
from opencute.ir.builder import build, build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import ANY, SCALAR_INT, Trait, attr, op, operand, result
from opencute.ir.types import F32, F64, I32, I64, Type, VectorType, element_type

__all__ = [
    "CLUSTER_SEMS",
    "GRIDDEP",
    "RED_ASYNC",
    "SETMAXNREG",
    "ClusterArriveOp",
    "ClusterWaitOp",
    "CpAsyncMBarrierArriveOp",
    "GriddepcontrolOp",
    "MapaOp",
    "RedAsyncOp",
    "SetmaxnregOp",
    "StAsyncOp",
    "cluster_arrive",
    "cluster_wait",
    "cp_async_mbarrier_arrive",
    "griddepcontrol",
    "mapa",
    "red_async",
    "setmaxnreg",
    "st_async",
]

CLUSTER_SEMS = ("release", "relaxed")
GRIDDEP = ("launch_dependents", "wait")
SETMAXNREG = ("inc", "dec")
_WORDS = (I32, I64, F32, F64)
_STORED = (
    *_WORDS, *(VectorType(n, t) for n in (2, 4) for t in _WORDS if n == 2 or t in (I32, F32)),
)  # fmt: skip
RED_ASYNC: dict[str, tuple[Type, ...]] = {
    "add": (I32, I64), "min": (I32,), "max": (I32,), "inc": (I32,), "dec": (I32,),
    "and": (I32,), "or": (I32,), "xor": (I32,),
}  # fmt: skip
"""The types that each asynchronous reduction works on."""
_ACTS = Trait.READS | Trait.WRITES


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


@op("ptx.cluster_arrive", _ACTS | Trait.CONVERGENT)
class ClusterArriveOp(Op):
    """Arrive at the barrier of the cluster (PTX ISA, "barrier.cluster"): `sem` is release, or
    relaxed, which orders nothing but mbarriers that were initialised and fenced."""

    sem = attr(StringAttr)

    def verify(self) -> None:
        check_word(self, "sem", CLUSTER_SEMS)


@op("ptx.cluster_wait", _ACTS | Trait.BLOCKING | Trait.CONVERGENT)
class ClusterWaitOp(Op):
    """Wait until all threads of the cluster have arrived at its barrier."""


@op("ptx.setmaxnreg", _ACTS | Trait.CONVERGENT)
class SetmaxnregOp(Op):
    """Let each thread of the warpgroup have `count` registers (PTX ISA, "setmaxnreg"): `action` is
    inc or dec."""

    count = attr(IntAttr)
    action = attr(StringAttr)

    def verify(self) -> None:
        check_word(self, "action", SETMAXNREG)
        n = self.count.value
        if n % 8 or not 24 <= n <= 256:
            raise VerificationError(
                f"ptx.setmaxnreg: {n} registers", code="OC1478", loc=self.loc,
                expected="a multiple of 8, 24 to 256", found=n,
            )  # fmt: skip


@op("ptx.griddepcontrol", _ACTS)
class GriddepcontrolOp(Op):
    """Programmatic dependent launch (PTX ISA, "griddepcontrol"): let the next kernel start
    (launch_dependents), or wait until those before have ended and their writes can be seen."""

    action = attr(StringAttr)

    def verify(self) -> None:
        check_word(self, "action", GRIDDEP)


@op("ptx.cp_async_mbarrier_arrive", _ACTS)
class CpAsyncMBarrierArriveOp(Op):
    """Let the mbarrier get an arrival when all copies (ptx.cp_async) that this thread has started
    are complete. Unless `noinc`, the phase first expects one arrival more."""

    ptr = operand(POINTER)
    noinc = attr(UnitAttr, required=False)

    def verify(self) -> None:
        check_place(self, self.ptr)


def _check_async(op_: StAsyncOp | RedAsyncOp, types: tuple[Type, ...]) -> None:
    check_place(op_, op_.mbar, remote=True)
    value, type = op_.value.type, op_.ptr.type
    assert isinstance(type, PtrType)
    own = (op_.mbar.type, type)
    good = all(isinstance(t, PtrType) and t.space == "dsmem" for t in own)
    if not good or value not in types or type.element not in (value, element_type(value)):
        raise VerificationError(
            f"{op_.name}: not for these operands", code="OC1479", loc=op_.loc,
            expected=f"pointers to dsmem, and one of {', '.join(map(str, types))}",
            found=f"{type}, {op_.mbar.type}, {value}",
        )  # fmt: skip


@op("ptx.st_async", _ACTS)
class StAsyncOp(Op):
    """Write to a block's shared memory later; its bytes then come to `mbar` in the same block."""

    ptr = operand(POINTER)
    value = operand(ANY)
    mbar = operand(POINTER)

    def verify(self) -> None:
        _check_async(self, _STORED)


@op("ptx.red_async", _ACTS)
class RedAsyncOp(Op):
    """As ptx.st_async, combining memory with the value: `op` is one of RED_ASYNC."""

    ptr = operand(POINTER)
    value = operand(ANY)
    mbar = operand(POINTER)
    op = attr(StringAttr)
    unsigned = attr(UnitAttr, required=False)

    def verify(self) -> None:
        _check_async(self, RED_ASYNC[check_word(self, "op", tuple(RED_ASYNC))])


def _far(type: PtrType) -> PtrType:
    return PtrType(type.element, "dsmem", type.align, type.swizzle)


def mapa(ptr: Value, rank: Value) -> OpResult:
    """A pointer to shared memory as one to that of block `rank` (i32) of the cluster."""
    assert isinstance(ptr.type, PtrType)
    return build1("ptx.mapa", (ptr, rank), _far(ptr.type))


def cluster_arrive(sem: str = "release") -> Op:
    """Arrive at the barrier of the cluster."""
    return build("ptx.cluster_arrive", (), (), {"sem": StringAttr(sem)})


def cluster_wait() -> Op:
    """Wait for all threads of the cluster."""
    return build("ptx.cluster_wait")


def setmaxnreg(action: str, count: int) -> Op:
    """Give or take registers: `action` is inc or dec."""
    attrs: dict[str, Attribute] = {"action": StringAttr(action), "count": IntAttr(count, I64)}
    return build("ptx.setmaxnreg", (), (), attrs)


def griddepcontrol(action: str) -> Op:
    """Programmatic dependent launch: `action` is launch_dependents or wait."""
    return build("ptx.griddepcontrol", (), (), {"action": StringAttr(action)})


def cp_async_mbarrier_arrive(ptr: Value, *, noinc: bool = False) -> Op:
    """Arrive when this thread's copies are complete."""
    attrs: dict[str, Attribute] = {"noinc": UNIT} if noinc else {}
    return build("ptx.cp_async_mbarrier_arrive", (ptr,), (), attrs)


def st_async(ptr: Value, value: Value, mbar: Value) -> Op:
    """Write to another block's shared memory later."""
    return build("ptx.st_async", (ptr, value, mbar))


def red_async(op: str, ptr: Value, value: Value, mbar: Value, *, unsigned: bool = False) -> Op:
    """Combine another block's shared memory with a value later."""
    attrs: dict[str, Attribute] = {"op": StringAttr(op)}
    if unsigned:
        attrs["unsigned"] = UNIT
    return build("ptx.red_async", (ptr, value, mbar), (), attrs)
