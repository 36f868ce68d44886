# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Single PTX instructions that no MLIR dialect has; names and semantics follow the PTX ISA."""

from __future__ import annotations

from opencute.base.errors import VerificationError
from opencute.dialects.cute import POINTER
from opencute.ir.attributes import Attribute, StringAttr
from opencute.ir.builder import build, build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import BOOL, SCALAR_INT, Trait, attr, op, operand, optional, result
from opencute.ir.types import I1, I32, I64

__all__ = [
    "BAR_REDUCTIONS",
    "FENCE_PROXIES",
    "FENCE_SEMS",
    "SCOPES",
    "SREGS",
    "BarArriveOp",
    "BarRedOp",
    "BarSyncOp",
    "BarWarpSyncOp",
    "FenceOp",
    "FenceProxyOp",
    "NanosleepOp",
    "SRegOp",
    "bar_arrive",
    "bar_red",
    "bar_sync",
    "bar_warp_sync",
    "check_word",
    "fence",
    "fence_proxy",
    "nanosleep",
    "sreg",
]

_TRIPLES = (
    "tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid",
)  # fmt: skip
_LONG = ("clock64", "globaltimer")
_CHANGING = ("clock", *_LONG)
SREGS = (
    *(f"{name}.{axis}" for name in _TRIPLES for axis in "xyz"),
    "cluster_ctarank", "cluster_nctarank", "laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid",
    "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge",
    "dynamic_smem_size", "total_smem_size", *_CHANGING,
)  # fmt: skip
SCOPES = ("cta", "cluster", "gpu", "sys")
FENCE_SEMS = ("acq_rel", "sc")
BAR_REDUCTIONS = ("and", "or", "popc")
_TENSORMAP = tuple(
    f"tensormap::generic.{sem}.{scope}" for sem in ("release", "acquire") for scope in SCOPES
)
FENCE_PROXIES = (
    "alias", "async", "async.global", "async.shared::cta", "async.shared::cluster", *_TENSORMAP,
)  # fmt: skip


def check_word(op_: Op, key: str, words: tuple[str, ...]) -> str:
    """The string attribute `key` of an operation, which has to be one of `words`."""
    found = op_.attributes[key]
    assert isinstance(found, StringAttr)
    if found.value not in words:
        raise VerificationError(
            f"{op_.name}: there is no {key} {found.value!r}",
            code="OC1462", loc=op_.loc, expected=", ".join(w or "(empty)" for w in words),
        )  # fmt: skip
    return found.value


@op("ptx.sreg", Trait.PURE)
class SRegOp(Op):
    """Read a special register (PTX ISA, "Special Registers"); `reg` is one of SREGS."""

    reg = attr(StringAttr)
    out = result(SCALAR_INT)

    def own_traits(self) -> Trait:
        return Trait.READS | Trait.WRITES if self.reg.value in _CHANGING else Trait.PURE

    def verify(self) -> None:
        if self.reg.value not in SREGS:
            raise VerificationError(
                f"ptx.sreg: there is no register {self.reg.value!r}",
                code="OC1448",
                loc=self.loc,
                expected=", ".join(SREGS),
            )
        if self.out.type != (want := I64 if self.reg.value in _LONG else I32):
            raise VerificationError(
                f"ptx.sreg: {self.reg.value} has another width",
                code="OC1463", loc=self.loc, expected=want, found=self.out.type,
            )  # fmt: skip


_MEET = Trait.WRITES | Trait.READS | Trait.BLOCKING | Trait.CONVERGENT


@op("ptx.bar_sync", _MEET)
class BarSyncOp(Op):
    """Wait at barrier `barrier` (0 to 15) for all threads of the block, or for `count` threads
    (PTX ISA, "bar, barrier"); orders the memory accesses of those that meet."""

    barrier = operand(SCALAR_INT)
    count = optional(SCALAR_INT)


@op("ptx.bar_arrive", Trait.WRITES | Trait.READS | Trait.CONVERGENT)
class BarArriveOp(Op):
    """Count as one of the `count` threads that barrier `barrier` waits for, without waiting."""

    barrier = operand(SCALAR_INT)
    count = operand(SCALAR_INT)


@op("ptx.bar_red", _MEET)
class BarRedOp(Op):
    """As ptx.bar_sync, and combine `pred` of all threads that meet: and, or (i1), popc (i32)."""

    barrier = operand(SCALAR_INT)
    count = optional(SCALAR_INT)
    pred = operand(BOOL)
    op = attr(StringAttr)
    out = result(SCALAR_INT)

    def verify(self) -> None:
        want = I32 if check_word(self, "op", BAR_REDUCTIONS) == "popc" else I1
        if self.out.type != want:
            raise VerificationError(
                "ptx.bar_red: wrong result", code="OC1463", loc=self.loc,
                expected=want, found=self.out.type,
            )  # fmt: skip


@op("ptx.bar_warp_sync", _MEET)
class BarWarpSyncOp(Op):
    """Wait for the threads of the warp that `mask` names; orders their memory accesses."""

    mask = operand(SCALAR_INT)


@op("ptx.fence", Trait.WRITES | Trait.READS)
class FenceOp(Op):
    """Order this thread's memory accesses for the threads of `scope` (PTX ISA, "membar, fence")."""

    sem = attr(StringAttr)
    scope = attr(StringAttr)

    def verify(self) -> None:
        check_word(self, "sem", FENCE_SEMS)
        check_word(self, "scope", SCOPES)


@op("ptx.fence_proxy", Trait.WRITES | Trait.READS)
class FenceProxyOp(Op):
    """Order accesses through different proxies (PTX ISA, "fence.proxy"); `kind` is one of
    FENCE_PROXIES. Acquiring a tensor map names it: `ptr`, 128 bytes."""

    ptr = optional(POINTER)
    kind = attr(StringAttr)

    def verify(self) -> None:
        kind = check_word(self, "kind", FENCE_PROXIES)
        if (self.ptr is not None) != (".acquire." in kind):
            raise VerificationError(
                "ptx.fence_proxy: acquiring a tensor map takes a pointer, nothing else does",
                code="OC1464", loc=self.loc,
            )  # fmt: skip


@op("ptx.nanosleep", Trait.WRITES | Trait.READS)
class NanosleepOp(Op):
    """Let the thread rest for about `time` nanoseconds."""

    time = operand(SCALAR_INT)


def sreg(name: str) -> OpResult:
    """The value of special register `name`, such as ``tid.x``."""
    assert name in SREGS, name
    return build1("ptx.sreg", (), I64 if name in _LONG else I32, {"reg": StringAttr(name)})


def bar_sync(barrier: Value, count: Value | None = None) -> Op:
    """Wait at a barrier for all threads of the block, or for `count` of them."""
    return build("ptx.bar_sync", (barrier,) if count is None else (barrier, count))


def bar_arrive(barrier: Value, count: Value) -> Op:
    """Arrive at a barrier that `count` threads meet at, without waiting."""
    return build("ptx.bar_arrive", (barrier, count))


def bar_red(op: str, barrier: Value, count: Value | None, pred: Value) -> OpResult:
    """Wait at a barrier and combine a predicate: `op` is and, or, popc."""
    values = (barrier, pred) if count is None else (barrier, count, pred)
    type = I32 if op == "popc" else I1
    return build1("ptx.bar_red", values, type, {"op": StringAttr(op)})


def bar_warp_sync(mask: Value) -> Op:
    """Wait for the threads of a warp named by a mask."""
    return build("ptx.bar_warp_sync", (mask,))


def fence(sem: str, scope: str) -> Op:
    """Order memory accesses: `sem` one of FENCE_SEMS, `scope` one of SCOPES."""
    attrs: dict[str, Attribute] = {"sem": StringAttr(sem), "scope": StringAttr(scope)}
    return build("ptx.fence", (), (), attrs)


def fence_proxy(kind: str, ptr: Value | None = None) -> Op:
    """Order accesses through different proxies: `kind` is one of FENCE_PROXIES."""
    values = () if ptr is None else (ptr,)
    return build("ptx.fence_proxy", values, (), {"kind": StringAttr(kind)})


def nanosleep(time: Value) -> Op:
    """Rest for about `time` (i32) nanoseconds."""
    return build("ptx.nanosleep", (time,))
