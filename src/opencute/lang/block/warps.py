# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Exchanges within a warp: shuffles, votes, matches, reductions, election of a lane.

Values of any width go through shuffles: narrower ones in a word of their own, wider ones and
vectors word by word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.dialects import arith, ptx_warp, scf
from opencute.ir.builder import current_block, insert_at, new_block
from opencute.ir.core import Block, Value
from opencute.ir.types import I32, I64, IntegerType
from opencute.lang.block.words import by_words, flag, mask_of, word
from opencute.lang.numbers import Boolean, Float32, Int32, Integer, Uint32, as_numeric

__all__ = [
    "activemask",
    "elect_one",
    "elected",
    "make_warp_uniform",
    "match_all_sync",
    "match_any_sync",
    "shuffle_sync",
    "shuffle_sync_bfly",
    "shuffle_sync_down",
    "shuffle_sync_op",
    "shuffle_sync_up",
    "vote_all_sync",
    "vote_any_sync",
    "vote_ballot_sync",
    "vote_uni_sync",
    "warp_reduction",
    "warp_reduction_max",
    "warp_reduction_sum",
    "warp_redux_sync",
]

_FULL = 0xFFFFFFFF


# ---------------------------------------------------------------- shuffles
def shuffle_sync_op(
    value: Any,
    offset: Any,
    mask: Any = _FULL,
    mask_and_clamp: Any = 31,
    kind: Any = "idx",
    *,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """A value of another lane of the warp.

    Args:
        value: a number of any type, or a vector.
        offset: which lane, depending on `kind`.
        mask: the lanes that take part.
        mask_and_clamp: PTX's operand c: the segments' mask << 8 | the last lane to read from.
        kind: "idx" (the lane's number), "up", "down" (distances), "bfly" (lane xor offset).

    Raises:
        ArgumentError: there is no such kind.

    Source: PTX ISA, "shfl.sync".
    """
    mode = str(getattr(kind, "name", kind)).lower()
    if mode not in ptx_warp.SHFL_MODES:
        raise ArgumentError(
            "no such shuffle", code="OC2128", expected=", ".join(ptx_warp.SHFL_MODES), found=kind
        )
    lanes, src, clamp = mask_of(mask), word(offset), word(mask_and_clamp)
    return by_words(value, lambda w: ptx_warp.shfl_sync(mode, lanes, w, src, clamp)[0])


_SHUFFLE_ARGS = """

Args:
    value: a number of any type, or a vector.
    offset: says which lane.
    mask: the lanes that take part, as bits.
    mask_and_clamp: PTX's operand c: the segments' mask << 8 | the last lane to read from.

Source: PTX ISA, "shfl.sync".
"""


def _shuffle(mode: str, clamp: int, what: str) -> Callable[..., Any]:
    def shuffle(
        value: Any,
        offset: Any,
        mask: Any = _FULL,
        mask_and_clamp: Any = clamp,
        *,
        loc: Any = None,
        ip: Any = None,
    ) -> Any:
        return shuffle_sync_op(value, offset, mask, mask_and_clamp, mode)

    suffix = "" if mode == "idx" else f"_{mode}"
    shuffle.__name__ = shuffle.__qualname__ = f"shuffle_sync{suffix}"
    shuffle.__doc__ = f"The value of {what}.{_SHUFFLE_ARGS}"
    return shuffle


shuffle_sync = _shuffle("idx", 31, "lane `offset`")
shuffle_sync_up = _shuffle("up", 0, "the lane `offset` before this one")
shuffle_sync_down = _shuffle("down", 31, "the lane `offset` after this one")
shuffle_sync_bfly = _shuffle("bfly", 31, "the lane whose number is this one's xor `offset`")


def make_warp_uniform(value: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """A value that all lanes of the warp have, so that it may be kept once for all of them: that of
    lane 0. Facts that are known of an integer stay known.

    Args:
        value: a number of any type, or a vector.
    """
    out = shuffle_sync(value, 0)
    if isinstance(value, Integer) and isinstance(out, Integer):
        out.div, out.nonneg, out.is_index = value.div, value.nonneg, value.is_index
    return out


# ---------------------------------------------------------------- votes
def vote_all_sync(pred: Any, mask: Any = _FULL, *, loc: Any = None, ip: Any = None) -> Any:
    """Whether a condition holds in all lanes, as Boolean.

    Args:
        pred: the condition.
        mask: the lanes that take part, as bits.

    Source: PTX ISA, "vote.sync".
    """
    return Boolean(ptx_warp.vote_sync("all", mask_of(mask), flag(pred)))


def vote_any_sync(pred: Any, mask: Any = _FULL, *, loc: Any = None, ip: Any = None) -> Any:
    """Whether a condition holds in any lane, as Boolean.

    Args:
        pred: the condition.
        mask: the lanes that take part, as bits.

    Source: PTX ISA, "vote.sync".
    """
    return Boolean(ptx_warp.vote_sync("any", mask_of(mask), flag(pred)))


def vote_uni_sync(pred: Any, mask: Any = _FULL, *, loc: Any = None, ip: Any = None) -> Any:
    """Whether a condition is the same in all lanes, as Boolean.

    Args:
        pred: the condition.
        mask: the lanes that take part, as bits.

    Source: PTX ISA, "vote.sync".
    """
    return Boolean(ptx_warp.vote_sync("uni", mask_of(mask), flag(pred)))


def vote_ballot_sync(pred: Any, mask: Any = _FULL, *, loc: Any = None, ip: Any = None) -> Any:
    """The lanes where a condition holds, as the bits of an Int32.

    Args:
        pred: the condition.
        mask: the lanes that take part, as bits.

    Source: PTX ISA, "vote.sync".
    """
    return Int32(ptx_warp.vote_sync("ballot", mask_of(mask), flag(pred)))


def activemask(*, loc: Any = None, ip: Any = None) -> Any:
    """The lanes that run this together, as the bits of an Int32."""
    return Int32(ptx_warp.activemask())


def _key(value: Any) -> Value:
    number = as_numeric(value)
    raw = number.ir_value()
    if number.dtype.is_float:
        raw = arith.cast("bitcast", raw, IntegerType(number.dtype.width))
        if number.dtype.width < 32:
            return arith.cast("extui", raw, I32)
    if raw.type in (I32, I64):
        return raw
    return word(number)


def match_any_sync(value: Any, mask: Any = _FULL, *, loc: Any = None, ip: Any = None) -> Any:
    """The lanes whose 32 or 64 bits equal this lane's, as the bits of an Int32.

    Args:
        value: a number of 32 or 64 bits; narrower ones are widened.
        mask: the lanes that take part, as bits.

    Source: PTX ISA, "match.sync".
    """
    return Int32(ptx_warp.match_sync("any", mask_of(mask), _key(value))[0])


def match_all_sync(
    value: Any, mask: Any = _FULL, *, loc: Any = None, ip: Any = None
) -> tuple[Any, Any]:
    """`mask` if all lanes have equal 32 or 64 bits, else 0; and whether they have.

    Args:
        value: a number of 32 or 64 bits; narrower ones are widened.
        mask: the lanes that take part, as bits.

    Source: PTX ISA, "match.sync".
    """
    lanes, equal = ptx_warp.match_sync("all", mask_of(mask), _key(value))
    return Int32(lanes), Boolean(equal)


# ---------------------------------------------------------------- reductions
_UNSIGNED_KINDS = {"umin": "min", "umax": "max"}


def warp_redux_sync(
    value: Any,
    kind: Any,
    mask_and_clamp: Any = _FULL,
    abs: bool = False,
    nan: bool | None = None,
    *,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """A value of all lanes combined, in all of them.

    Args:
        value: Int32, Uint32, or Float32 for "fmin" and "fmax".
        kind: "add", "min", "max", "and", "or", "xor", "fmin", "fmax".
        mask_and_clamp: the lanes that take part.
        abs: take absolute values (floats).
        nan: a NaN wins (floats); else it is ignored.

    Raises:
        ArgumentError: there is no such reduction.
        TypeMismatchError: not for this type.

    Source: PTX ISA, "redux.sync".
    """
    name = str(getattr(kind, "name", kind)).lower()
    number = as_numeric(value)
    unsigned = name in _UNSIGNED_KINDS or not number.dtype.signed
    name = _UNSIGNED_KINDS.get(name, name)
    if number.dtype.is_float and name in ("min", "max"):
        name = f"f{name}"
    if name not in ptx_warp.REDUX_OPS:
        raise ArgumentError(
            "no such reduction", code="OC2128", expected=", ".join(ptx_warp.REDUX_OPS), found=kind
        )
    floats = name in ("fmin", "fmax")
    cls: Any = type(number)
    if (cls is not Float32) if floats else (cls not in (Int32, Uint32)):
        raise TypeMismatchError(
            f"warp_redux_sync {name!r} is not for {cls.__name__}", code="OC1291",
            expected="Float32" if floats else "Int32 or Uint32", found=cls.__name__,
            hint="warp_reduction() combines values of any type",
        )  # fmt: skip
    out = ptx_warp.redux_sync(
        name, mask_of(mask_and_clamp), number.ir_value(),
        unsigned=unsigned and name in ("min", "max"), abs=floats and abs, nan=floats and bool(nan),
    )  # fmt: skip
    return cls(out)


def warp_reduction(
    val: Any, op: Callable[[Any, Any], Any], *, threads_in_group: int = 32,
    loc: Any = None, ip: Any = None,
) -> Any:  # fmt: skip
    """A value of all lanes of a group combined by a function, in all of them.

    Args:
        val: a number of any type, or a vector.
        op: combines two values.
        threads_in_group: neighbouring lanes that form a group, a power of two.

    Raises:
        ArgumentError: no such group.
    """
    n = int(threads_in_group)
    if n < 1 or n > 32 or n & (n - 1):
        raise ArgumentError(
            "no such number of threads in a group of a warp", code="OC2128",
            expected="a power of two, at most 32", found=n,
        )  # fmt: skip
    offset = n // 2
    while offset:
        val = op(val, shuffle_sync_bfly(val, offset))
        offset //= 2
    return val


def warp_reduction_sum(
    val: Any, *, threads_in_group: int = 32, loc: Any = None, ip: Any = None
) -> Any:
    """The sum of the values of a group of lanes.

    Args:
        val: a number of any type, or a vector.
        threads_in_group: neighbouring lanes that form a group, a power of two.

    Raises:
        ArgumentError: no such group.
    """
    return warp_reduction(val, lambda a, b: a + b, threads_in_group=threads_in_group)


def warp_reduction_max(
    val: Any, *, threads_in_group: int = 32, loc: Any = None, ip: Any = None
) -> Any:
    """The greatest of the values of a group of lanes.

    Args:
        val: a number of any type, or a vector.
        threads_in_group: neighbouring lanes that form a group, a power of two.

    Raises:
        ArgumentError: no such group.
    """
    return warp_reduction(val, _greater, threads_in_group=threads_in_group)


def _greater(a: Any, b: Any) -> Any:
    from opencute.lang import mathfns

    greater: Any = mathfns.max
    return greater(a, b)


# ---------------------------------------------------------------- election
class elect_one:
    """``with cute.arch.elect_one():`` runs its body in one lane of the warp.

    Variables that the body assigns cannot be used after it: the other lanes have no value for them.
    """

    def __init__(self, *, loc: Any = None, ip: Any = None) -> None:
        self.lanes = mask_of(_FULL)
        self._before: Block | None = None

    @property
    def elected(self) -> Any:
        """Whether this lane is the one, as Boolean."""
        return Boolean(ptx_warp.elect_sync(self.lanes)[1])

    def __enter__(self) -> None:
        self._condition = self.elected
        self._region, block = new_block()
        self._before = current_block()
        self._inside = insert_at(block)
        self._inside.__enter__()

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            scf.yield_()
        self._inside.__exit__(*error)
        if error[0] is None:
            orelse, empty = new_block()
            with insert_at(empty):
                scf.yield_()
            scf.if_(self._condition.ir_value(), (), self._region, orelse)


def elected(election: Any) -> Any:
    """The condition of a rewritten ``with elect_one():``."""
    if not isinstance(election, elect_one):
        raise TypeMismatchError(
            "a function called elect_one has to be that of cute.arch", code="OC1612",
            found=type(election).__name__, hint="give it another name",
        )  # fmt: skip
    return election.elected
