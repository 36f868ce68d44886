# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copies, reductions of memory, and exchanges within a warp."""

from __future__ import annotations

from typing import Any

from opencute.cute import arch
from opencute.dialects import ptx_memory, ptx_warp
from opencute.lang.block.words import mask_of, word
from opencute.lang.numbers import Boolean, Int32, Uint32, as_numeric

__all__ = [
    "cp_async_commit_group",
    "cp_async_shared_global",
    "cp_async_wait_group",
    "red",
    "redux_sync",
    "shfl_sync",
    "vote_sync",
]

_FULL = 0xFFFFFFFF


def _word(x: Any) -> str:
    return "" if x is None else str(getattr(x, "value", x))


def cp_async_shared_global(
    dst: Any, src: Any, size: int, modifier: Any = "ca", *, loc: Any = None, ip: Any = None
) -> None:
    """Start copying 4, 8 or 16 bytes from global to shared memory.

    Args:
        dst: where to, in shared memory; a multiple of `size`.
        src: where from, in global memory; likewise.
        size: bytes.
        modifier: "ca", or "cg" (16 bytes) to pass by L1.
    """
    from opencute.dialects import cute
    from opencute.dialects.cute import PtrType
    from opencute.ir.types import I8
    from opencute.lang.block.atomics import pointer_of

    places: list[Any] = []
    for pointer, space in ((dst, "smem"), (src, "gmem")):
        value = pointer_of(pointer, "cp_async_shared_global").value
        type: Any = value.type
        places.append(cute.recast(value, PtrType(I8, space, int(size), type.swizzle)))
    ptx_memory.cp_async(places[0], places[1], int(size), cache=_word(modifier))


def cp_async_commit_group(*, loc: Any = None, ip: Any = None) -> None:
    """Close a group of copies."""
    arch.cp_async_commit_group()


def cp_async_wait_group(n: int, *, loc: Any = None, ip: Any = None) -> None:
    """Wait until at most `n` groups of copies are under way."""
    arch.cp_async_wait_group(n)


def red(
    op: Any, type: Any, ptr: Any, value: Any, *, mem_order: Any = None, mem_scope: Any = None,
    loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """Combine memory with a value: `op` is add, min, max, inc, dec, and, or, xor.

    Args:
        op: a `ReductionOp`.
        type: a `ReductionType`; unsigned ones make min and max unsigned.
        ptr: where.
        value: a number of the pointer's type.
        mem_order: relaxed or release.
        mem_scope: among whom.
    """
    from opencute.lang.block.atomics import pointer_of

    pointer = pointer_of(ptr, "red", value)
    number = as_numeric(value, pointer.dtype).to(pointer.dtype)
    name, kind = _word(op), _word(type)
    ptx_memory.red(
        name, pointer.value, number.ir_value(), _word(mem_order) or "relaxed",
        _word(mem_scope) or "gpu", unsigned=kind.startswith("u") and name in ("min", "max"),
    )  # fmt: skip


def redux_sync(
    value: Any, kind: Any, membermask: Any = _FULL, *, abs: bool = False, nan: bool = False,
    loc: Any = None, ip: Any = None,
) -> Any:  # fmt: skip
    """The values of all lanes of a mask combined, as a `ReductionKind` says.

    Args:
        value: an integer of 32 bits, or a Float32.
        kind: the `ReductionKind`.
        membermask: the lanes, as bits.
        abs: take absolute values (floats).
        nan: a NaN wins (floats); else it is ignored.
    """
    number, name = as_numeric(value), _word(kind)
    unsigned = name in ("umin", "umax")
    out = ptx_warp.redux_sync(
        name[1:] if unsigned else name, mask_of(membermask), number.ir_value(), unsigned=unsigned,
        abs=abs, nan=nan,
    )  # fmt: skip
    cls: Any = Uint32 if unsigned else type(number)
    return cls(out)


def shfl_sync(
    membermask: Any, value: Any, offset: Any, mask_and_clamp: Any, kind: Any, *,
    return_value_and_is_valid: bool = False, loc: Any = None, ip: Any = None,
) -> Any:  # fmt: skip
    """A value of another lane, and, if asked for, whether that lane is inside of the segment.

    Args:
        membermask: the lanes that take part, as bits.
        value: a number of 32 bits.
        offset: which lane, depending on `kind`.
        mask_and_clamp: PTX's operand c: the segments' mask << 8 | the last lane to read from.
        kind: a `Shfl`.
        return_value_and_is_valid: return both.
    """
    number = as_numeric(value)
    cls: Any = type(number)
    out, inside = ptx_warp.shfl_sync(
        _word(kind), mask_of(membermask), number.ir_value(), word(offset), word(mask_and_clamp)
    )
    return (cls(out), Boolean(inside)) if return_value_and_is_valid else cls(out)


def vote_sync(membermask: Any, pred: Any, kind: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """A vote on a condition among the lanes of a mask: a Boolean, or the mask of those where it
    holds (BALLOT).

    Args:
        membermask: the lanes that take part, as bits.
        pred: the condition.
        kind: a `VoteSync`.
    """
    from opencute.lang.block.words import flag

    name = _word(kind)
    out = ptx_warp.vote_sync(name, mask_of(membermask), flag(pred))
    return Int32(out) if name == "ballot" else Boolean(out)
