# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""PTX instructions on mbarriers: 8 bytes of shared memory that count arrivals and bytes.

Pointers are to shared memory of the block (`smem`) or of any block of the cluster (`dsmem`), where
only arriving, expecting and completing is possible. `pred` lets only some threads take part::

    "ptx.mbarrier_init"(%bar, %count) : (!cute.ptr<i64, smem, align<8>>, i32) -> ()
    "ptx.mbarrier_arrive"(%bar, %one) {kind = "arrive", scope = "", sem = ""}
    %done = "ptx.mbarrier_try_wait"(%bar, %parity) {scope = "", sem = ""}

Phases are named by a parity (i32) or by the token (i64) that arriving in them gave. An empty `sem`
or `scope` is the instruction without that word, which stands for release or acquire, and cta.
"""

from __future__ import annotations

from opencute.base.errors import VerificationError
from opencute.dialects.cute import POINTER, PtrType
from opencute.dialects.ptx import check_word
from opencute.ir.attributes import Attribute, StringAttr
from opencute.ir.builder import build, build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import BOOL, SCALAR_INT, Constraint, Trait, attr, op, operand, optional
from opencute.ir.declare import result as result_slot
from opencute.ir.types import I1, I32, I64

__all__ = [
    "ARRIVALS",
    "ARRIVE_SEMS",
    "MBARRIER_SCOPES",
    "WAIT_SEMS",
    "FenceMBarrierInitOp",
    "MBarrierArriveOp",
    "MBarrierArriveTokenOp",
    "MBarrierInitOp",
    "MBarrierInvalOp",
    "MBarrierPendingCountOp",
    "MBarrierTestWaitOp",
    "MBarrierTryWaitOp",
    "MBarrierTxOp",
    "MBarrierWaitOp",
    "fence_mbarrier_init",
    "mbarrier_arrive",
    "mbarrier_arrive_token",
    "mbarrier_init",
    "mbarrier_inval",
    "mbarrier_pending_count",
    "mbarrier_test_wait",
    "mbarrier_try_wait",
    "mbarrier_tx",
    "mbarrier_wait",
]

ARRIVALS = ("arrive", "arrive_drop", "arrive_expect_tx", "arrive_drop_expect_tx")
"""Kinds of arrival: the value is a number of arrivals, or of bytes that the phase expects."""
TX = ("expect_tx", "complete_tx")
ARRIVE_SEMS = ("", "release", "relaxed")
WAIT_SEMS = ("", "acquire", "relaxed")
MBARRIER_SCOPES = ("", "cta", "cluster")
_PHASE = Constraint("i32 (a parity) or i64 (a token)", lambda t: t in (I32, I64))
_TOKEN = Constraint("i64", lambda t: t == I64)
_ACTS = Trait.READS | Trait.WRITES


def check_place(op_: Op, ptr: Value, *, remote: bool = False) -> None:
    """Raise unless a pointer is to 8 bytes of shared memory; `remote`: also of another block."""
    type = ptr.type
    assert isinstance(type, PtrType)
    spaces = ("smem", "dsmem") if remote else ("smem",)
    if type.space not in spaces or type.align % 8 or type.swizzle:
        raise VerificationError(
            f"{op_.name}: an mbarrier is 8 bytes of shared memory", code="OC1475", loc=op_.loc,
            expected=f"{' or '.join(spaces)}, align<8>", found=type,
        )  # fmt: skip


@op("ptx.mbarrier_init", _ACTS)
class MBarrierInitOp(Op):
    """Make an mbarrier that expects `count` arrivals in each phase."""

    ptr = operand(POINTER)
    count = operand(SCALAR_INT)
    pred = optional(BOOL)

    def verify(self) -> None:
        check_place(self, self.ptr)


@op("ptx.mbarrier_inval", _ACTS)
class MBarrierInvalOp(Op):
    """The mbarrier ends; its memory may be used for other things."""

    ptr = operand(POINTER)

    def verify(self) -> None:
        check_place(self, self.ptr)


def _check_arrival(op_: MBarrierArriveOp | MBarrierArriveTokenOp) -> None:
    check_word(op_, "kind", ARRIVALS)
    check_word(op_, "sem", ARRIVE_SEMS)
    check_word(op_, "scope", MBARRIER_SCOPES)
    if op_.scope.value and not op_.sem.value:
        raise VerificationError(
            f"{op_.name}: a scope goes with release or relaxed", code="OC1476", loc=op_.loc
        )


@op("ptx.mbarrier_arrive", _ACTS)
class MBarrierArriveOp(Op):
    """Arrive (PTX ISA, "mbarrier.arrive", "mbarrier.arrive_drop"): `kind` is one of ARRIVALS."""

    ptr = operand(POINTER)
    value = operand(SCALAR_INT)
    pred = optional(BOOL)
    kind = attr(StringAttr)
    sem = attr(StringAttr)
    scope = attr(StringAttr)

    def verify(self) -> None:
        check_place(self, self.ptr, remote=True)
        _check_arrival(self)


@op("ptx.mbarrier_arrive_token", _ACTS)
class MBarrierArriveTokenOp(Op):
    """As ptx.mbarrier_arrive on the block's own memory; `token` names the phase."""

    ptr = operand(POINTER)
    value = operand(SCALAR_INT)
    kind = attr(StringAttr)
    sem = attr(StringAttr)
    scope = attr(StringAttr)
    token = result_slot(_TOKEN)

    def verify(self) -> None:
        check_place(self, self.ptr)
        _check_arrival(self)


@op("ptx.mbarrier_pending_count", Trait.PURE)
class MBarrierPendingCountOp(Op):
    """Arrivals that a phase still waited for when `token` was made (i32)."""

    token = operand(_TOKEN)
    out = result_slot(SCALAR_INT)


@op("ptx.mbarrier_tx", _ACTS)
class MBarrierTxOp(Op):
    """Let a phase expect more bytes (`kind` expect_tx), or tell it that they have come
    (complete_tx), without arriving."""

    ptr = operand(POINTER)
    bytes = operand(SCALAR_INT)
    pred = optional(BOOL)
    kind = attr(StringAttr)

    def verify(self) -> None:
        check_place(self, self.ptr, remote=True)
        check_word(self, "kind", TX)


def _check_wait(op_: MBarrierTestWaitOp | MBarrierTryWaitOp | MBarrierWaitOp) -> None:
    check_place(op_, op_.ptr)
    check_word(op_, "sem", WAIT_SEMS)
    check_word(op_, "scope", MBARRIER_SCOPES)
    if op_.scope.value and not op_.sem.value:
        raise VerificationError(
            f"{op_.name}: a scope goes with acquire or relaxed", code="OC1476", loc=op_.loc
        )


@op("ptx.mbarrier_test_wait", _ACTS)
class MBarrierTestWaitOp(Op):
    """Whether a phase is complete."""

    ptr = operand(POINTER)
    phase = operand(_PHASE)
    sem = attr(StringAttr)
    scope = attr(StringAttr)
    out = result_slot(BOOL)

    def verify(self) -> None:
        _check_wait(self)


@op("ptx.mbarrier_try_wait", _ACTS)
class MBarrierTryWaitOp(Op):
    """Whether a phase is complete, after a rest of at most `time` nanoseconds, or as long as the
    hardware likes."""

    ptr = operand(POINTER)
    phase = operand(_PHASE)
    time = optional(SCALAR_INT)
    sem = attr(StringAttr)
    scope = attr(StringAttr)
    out = result_slot(BOOL)

    def verify(self) -> None:
        _check_wait(self)


@op("ptx.mbarrier_wait", _ACTS | Trait.BLOCKING | Trait.CONVERGENT)
class MBarrierWaitOp(Op):
    """Wait until a phase is complete."""

    ptr = operand(POINTER)
    phase = operand(_PHASE)
    sem = attr(StringAttr)
    scope = attr(StringAttr)

    def verify(self) -> None:
        _check_wait(self)


@op("ptx.fence_mbarrier_init", _ACTS)
class FenceMBarrierInitOp(Op):
    """Make this thread's ptx.mbarrier_init visible to the cluster and to asynchronous copies."""


# ---------------------------------------------------------------- builders
def _words(**words: str) -> dict[str, Attribute]:
    return {key: StringAttr(word) for key, word in words.items()}


def _with(pred: Value | None, *values: Value) -> tuple[Value, ...]:
    return values if pred is None else (*values, pred)


def mbarrier_init(ptr: Value, count: Value, pred: Value | None = None) -> Op:
    """Make an mbarrier for `count` (i32) arrivals."""
    return build("ptx.mbarrier_init", _with(pred, ptr, count))


def fence_mbarrier_init() -> Op:
    """Make initialised mbarriers visible."""
    return build("ptx.fence_mbarrier_init")


def mbarrier_inval(ptr: Value) -> Op:
    """End an mbarrier."""
    return build("ptx.mbarrier_inval", (ptr,))


def mbarrier_arrive(
    kind: str, ptr: Value, value: Value, pred: Value | None = None, *,
    sem: str = "", scope: str = "",
) -> Op:  # fmt: skip
    """Arrive: `kind` is one of ARRIVALS, `value` (i32) the arrivals or bytes."""
    attrs = _words(kind=kind, sem=sem, scope=scope)
    return build("ptx.mbarrier_arrive", _with(pred, ptr, value), (), attrs)


def mbarrier_arrive_token(
    kind: str, ptr: Value, value: Value, *, sem: str = "", scope: str = ""
) -> OpResult:
    """As `mbarrier_arrive`; the result names the phase."""
    attrs = _words(kind=kind, sem=sem, scope=scope)
    return build1("ptx.mbarrier_arrive_token", (ptr, value), I64, attrs)


def mbarrier_pending_count(token: Value) -> OpResult:
    """Arrivals that were missing when a token was made."""
    return build1("ptx.mbarrier_pending_count", (token,), I32)


def mbarrier_tx(kind: str, ptr: Value, bytes: Value, pred: Value | None = None) -> Op:
    """Expect or complete some bytes (i32): `kind` is expect_tx or complete_tx."""
    return build("ptx.mbarrier_tx", _with(pred, ptr, bytes), (), _words(kind=kind))


def mbarrier_test_wait(ptr: Value, phase: Value, *, sem: str = "", scope: str = "") -> OpResult:
    """Whether the phase of a parity or token is complete."""
    attrs = _words(sem=sem, scope=scope)
    return build1("ptx.mbarrier_test_wait", (ptr, phase), I1, attrs)


def mbarrier_try_wait(
    ptr: Value, phase: Value, time: Value | None = None, *, sem: str = "", scope: str = ""
) -> OpResult:
    """As `mbarrier_test_wait`, after a rest."""
    attrs = _words(sem=sem, scope=scope)
    return build1("ptx.mbarrier_try_wait", _with(time, ptr, phase), I1, attrs)


def mbarrier_wait(ptr: Value, phase: Value, *, sem: str = "", scope: str = "") -> Op:
    """Wait for the phase of a parity or token."""
    return build("ptx.mbarrier_wait", (ptr, phase), (), _words(sem=sem, scope=scope))
