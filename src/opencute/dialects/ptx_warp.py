# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""PTX instructions in which the threads of a warp exchange values.

Each takes a `mask` of the threads that take part (bit i: lane i); they wait for each other.
"""

from __future__ import annotations

from opencute.base.errors import VerificationError
from opencute.dialects.ptx import check_word
from opencute.ir.attributes import UNIT, Attribute, StringAttr, UnitAttr
from opencute.ir.builder import build, build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import BOOL, SCALAR_INT, Constraint, Trait, attr, op, operand, result
from opencute.ir.types import F32, I1, I32, I64, Type

__all__ = [
    "MATCH_MODES",
    "REDUX_OPS",
    "SHFL_MODES",
    "VOTE_MODES",
    "ActivemaskOp",
    "ElectSyncOp",
    "MatchSyncOp",
    "ReduxSyncOp",
    "ShflSyncOp",
    "VoteSyncOp",
    "activemask",
    "elect_sync",
    "match_sync",
    "redux_sync",
    "shfl_sync",
    "vote_sync",
]

SHFL_MODES = ("idx", "up", "down", "bfly")
VOTE_MODES = ("all", "any", "uni", "ballot")
MATCH_MODES = ("any", "all")
REDUX_OPS = ("add", "min", "max", "and", "or", "xor", "fmin", "fmax")

_TOGETHER = Trait.BLOCKING | Trait.CONVERGENT
_WORD = Constraint("i32 or f32", lambda t: t in (I32, F32))
_KEY = Constraint("i32 or i64", lambda t: t in (I32, I64))


def _expect(op_: Op, found: Value, want: Type) -> None:
    if found.type != want:
        raise VerificationError(
            f"{op_.name}: wrong type", code="OC1465", loc=op_.loc, expected=want, found=found.type
        )


@op("ptx.shfl_sync", _TOGETHER)
class ShflSyncOp(Op):
    """`value` of another lane: lane `src` (idx), `src` lanes up or down, or lane xor `src` (bfly).
    `clamp` is PTX's operand c: segment mask << 8 | clamp value. `inside`: whether the source lane
    was within the segment; where it was not, the value is the thread's own."""

    mask = operand(SCALAR_INT)
    value = operand(_WORD)
    src = operand(SCALAR_INT)
    clamp = operand(SCALAR_INT)
    mode = attr(StringAttr)
    out = result(_WORD)
    inside = result(BOOL)

    def verify(self) -> None:
        check_word(self, "mode", SHFL_MODES)
        _expect(self, self.out, self.value.type)


@op("ptx.vote_sync", _TOGETHER)
class VoteSyncOp(Op):
    """Whether `pred` holds in all threads, in any, is equal in all (uni), or the mask of threads
    where it holds (ballot, i32)."""

    mask = operand(SCALAR_INT)
    pred = operand(BOOL)
    mode = attr(StringAttr)
    out = result(SCALAR_INT)

    def verify(self) -> None:
        _expect(self, self.out, I32 if check_word(self, "mode", VOTE_MODES) == "ballot" else I1)


@op("ptx.match_sync", _TOGETHER)
class MatchSyncOp(Op):
    """The threads whose `value` equals this thread's (any); or all of `mask` if all are equal,
    else 0 (all). `equal`: whether that is not 0."""

    mask = operand(SCALAR_INT)
    value = operand(_KEY)
    mode = attr(StringAttr)
    out = result(SCALAR_INT)
    equal = result(BOOL)

    def verify(self) -> None:
        check_word(self, "mode", MATCH_MODES)
        _expect(self, self.out, I32)


@op("ptx.redux_sync", _TOGETHER)
class ReduxSyncOp(Op):
    """`value` of all threads combined: i32 (min and max are signed unless `unsigned`), or f32 for
    fmin and fmax, where `abs` takes absolute values and `nan` lets a NaN win."""

    mask = operand(SCALAR_INT)
    value = operand(_WORD)
    op = attr(StringAttr)
    unsigned = attr(UnitAttr, required=False)
    abs = attr(UnitAttr, required=False)
    nan = attr(UnitAttr, required=False)
    out = result(_WORD)

    def verify(self) -> None:
        word = check_word(self, "op", REDUX_OPS)
        _expect(self, self.value, F32 if word in ("fmin", "fmax") else I32)
        _expect(self, self.out, self.value.type)


@op("ptx.activemask", Trait.READS | Trait.WRITES | Trait.CONVERGENT)
class ActivemaskOp(Op):
    """The mask of threads that run this instruction together."""

    out = result(SCALAR_INT)


@op("ptx.elect_sync", _TOGETHER)
class ElectSyncOp(Op):
    """Elect one of the threads of `mask`: its lane, and whether it is this thread."""

    mask = operand(SCALAR_INT)
    leader = result(SCALAR_INT)
    elected = result(BOOL)


def shfl_sync(
    mode: str, mask: Value, value: Value, src: Value, clamp: Value
) -> tuple[OpResult, OpResult]:
    """`value` of another lane, and whether that lane is inside the segment."""
    attrs = {"mode": StringAttr(mode)}
    types = (value.type, I1)
    out, inside = build("ptx.shfl_sync", (mask, value, src, clamp), types, attrs).results
    return out, inside


def vote_sync(mode: str, mask: Value, pred: Value) -> OpResult:
    """A vote on an i1 among the threads of `mask`."""
    type = I32 if mode == "ballot" else I1
    return build1("ptx.vote_sync", (mask, pred), type, {"mode": StringAttr(mode)})


def match_sync(mode: str, mask: Value, value: Value) -> tuple[OpResult, OpResult]:
    """The mask of threads with an equal i32 or i64, and whether it is not 0."""
    attrs = {"mode": StringAttr(mode)}
    out, equal = build("ptx.match_sync", (mask, value), (I32, I1), attrs).results
    return out, equal


def redux_sync(
    op: str,
    mask: Value,
    value: Value,
    *,
    unsigned: bool = False,
    abs: bool = False,
    nan: bool = False,
) -> OpResult:
    """The values of all threads of `mask` combined."""
    flags = {"unsigned": unsigned, "abs": abs, "nan": nan}
    attrs: dict[str, Attribute] = {"op": StringAttr(op)}
    attrs |= {key: UNIT for key, on in flags.items() if on}
    return build1("ptx.redux_sync", (mask, value), value.type, attrs)


def activemask() -> OpResult:
    """The mask of active threads."""
    return build1("ptx.activemask", (), I32)


def elect_sync(mask: Value) -> tuple[OpResult, OpResult]:
    """The lane of one elected thread, and whether it is this thread."""
    leader, elected = build("ptx.elect_sync", (mask,), (I32, I1)).results
    return leader, elected
