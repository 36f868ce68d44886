# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Reading memory at byte offsets, checked, in one native pass.

In: memory, offsets and what they must not exceed. Out: the items, or None where somebody else has
to do it: if an offset is out of bounds or misaligned (so that the caller finds out which), for few
items, until there was enough work to be worth a compiler, and without LLVM::

    gather(raw, offsets, origin=0, width=4, last=size - 4, low=3, base=0)
    gather(raw, offsets, starts, origin=0, width=4, last=size - 4, low=3, base=0)  # tiles
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from opencute.base.errors import MissingPieceError, ToolchainError
from opencute.native.jit import HostModule, compile_host
from opencute.sim.fused.compiled import Compiled
from opencute.sim.values import Array

__all__ = ["SPACED", "MemoryPatience", "evenly", "gather"]

WIDTHS = (1, 2, 4, 8, 16)
FEWEST = 1024
"""Items below which a call of native code is not worth its price."""


class MemoryPatience:
    """Items that are still read by NumPy before the native function is compiled."""

    left = 1 << 21


_modules: list[HostModule] = []


def gather(
    raw: Array, offsets: Array, starts: Array | None = None, *, origin: Any, width: int, last: int,
    low: int, base: int,
) -> Array | None:  # fmt: skip
    """Items of `width` bytes at ``origin + offsets``, as bytes on a further axis.

    Args:
        raw: the memory as contiguous bytes.
        offsets: byte offsets, of shape (p, q) or (p, q, runs).
        starts: what to add to offsets of shape (p, q), for each of the runs, on a further axis.
        origin: what to add to them: an int, or one for each block, of shape (p, 1).
        width: bytes of an item: 1, 2, 4, 8 or 16.
        last: the largest offset that is in bounds.
        low: bits that ``base + offset`` must not have.
        base: the address of offset 0.
    """
    blocks = origin.shape[0] if type(origin) is np.ndarray else 1
    rows = max(offsets.shape[0], blocks)
    inner = offsets.size // offsets.shape[0] if offsets.shape[0] else 0
    runs = 1 if starts is None else starts.size
    if rows * inner * runs < FEWEST or width not in WIDTHS or last < 0:
        return None
    if MemoryPatience.left > 0:
        MemoryPatience.left -= rows * inner * runs
        return None
    function = _function(width, starts is not None)
    if function is None or not raw.flags.c_contiguous:
        return None
    offsets = np.ascontiguousarray(offsets, np.int64)
    begin = np.ascontiguousarray(np.broadcast_to(origin, (rows, 1)), np.int64)
    shape = offsets.shape[1:] if starts is None else (*offsets.shape[1:], runs)
    out = np.empty((rows, *shape, width), np.uint8)
    step = inner if offsets.shape[0] > 1 else 0
    more: tuple[int, ...] = ()
    if starts is not None:
        starts = np.ascontiguousarray(starts, np.int64)
        more = runs, starts.ctypes.data
    bad = function(
        rows, inner, offsets.ctypes.data, step, begin.ctypes.data, raw.ctypes.data,
        out.ctypes.data, last, low, base, *more,
    )  # fmt: skip
    return None if bad else out


@lru_cache(maxsize=2 * len(WIDTHS))
def _function(width: int, tiles: bool) -> Any:
    """The native function for a width; None without LLVM."""
    type = f"i{8 * width}"
    item = _ITEM.format(type=type, before="acc2" if tiles else "acc1")
    text = (_TILES if tiles else _GATHER).format(
        width=width, type=type, row=_ROW, item=item, end=_END
    )
    try:
        module = compile_host(text, passes="small", opt=2)
    except (MissingPieceError, ToolchainError):
        return None
    _modules.append(module)
    n, p = ctypes.c_int64, ctypes.c_void_p
    prototype = ctypes.CFUNCTYPE(n, n, n, p, n, p, p, p, n, n, n, *((n, p) if tiles else ()))
    return prototype(module.address(f"gather{width}"))


def evenly(offsets: Array, step: int) -> bool:
    """Whether numbers of a flat array grow by `step` from each to the next."""
    if SPACED.ready(offsets.size) and offsets.flags.c_contiguous and offsets.dtype == np.int64:
        return SPACED("spaced", offsets.size, step, offsets) == 0
    return bool((offsets[1:] - offsets[:-1] == step).all())


# What is the same for items and for tiles. A bad offset reads at the start of the memory instead;
# offsets are compared unsigned.
_ROW = """\
  %sp = getelementptr inbounds i64, ptr %starts, i64 %p
  %start = load i64, ptr %sp
  %here = getelementptr inbounds i8, ptr %raw, i64 %start
  %off0 = mul i64 %p, %step
  %orow = getelementptr inbounds i64, ptr %o, i64 %off0
"""
_ITEM = """\
  %beyond = icmp ugt i64 %off, %last
  %address = add i64 %off, %base
  %odd = and i64 %address, %low
  %one = zext i1 %beyond to i64
  %both = or i64 %odd, %one
  %acc = or i64 %{before}, %both
  %safe = select i1 %beyond, i64 0, i64 %off
  %from = getelementptr inbounds i8, ptr %here, i64 %safe
  %v = load {type}, ptr %from, align 1
"""
_END = """\
end:
  %p1 = add nuw nsw i64 %p, 1
  %rows = icmp slt i64 %p1, %P
  br i1 %rows, label %row, label %leave
leave:
  ret i64 %acc
}
"""
_GATHER = """
define i64 @gather{width}(i64 %P, i64 %Q, ptr %o, i64 %step, ptr %starts, ptr %raw,
                          ptr noalias %out, i64 %last, i64 %low, i64 %base) {{
entry:
  br label %row
row:
  %p = phi i64 [ 0, %entry ], [ %p1, %end ]
  %acc0 = phi i64 [ 0, %entry ], [ %acc, %end ]
{row}  %done = mul i64 %p, %Q
  %drow = getelementptr inbounds {type}, ptr %out, i64 %done
  br label %lane
lane:
  %q = phi i64 [ 0, %row ], [ %q1, %lane ]
  %acc1 = phi i64 [ %acc0, %row ], [ %acc, %lane ]
  %op = getelementptr inbounds i64, ptr %orow, i64 %q
  %off = load i64, ptr %op
{item}  %to = getelementptr inbounds {type}, ptr %drow, i64 %q
  store {type} %v, ptr %to, align 1
  %q1 = add nuw nsw i64 %q, 1
  %more = icmp slt i64 %q1, %Q
  br i1 %more, label %lane, label %end
{end}"""
_TILES = """
define i64 @gather{width}(i64 %P, i64 %Q, ptr %o, i64 %step, ptr %starts, ptr %raw,
                          ptr noalias %out, i64 %last, i64 %low, i64 %base, i64 %R, ptr %runs) {{
entry:
  %rowsize = mul i64 %Q, %R
  br label %row
row:
  %p = phi i64 [ 0, %entry ], [ %p1, %end ]
  %acc0 = phi i64 [ 0, %entry ], [ %acc, %end ]
{row}  %done = mul i64 %p, %rowsize
  %drow = getelementptr inbounds {type}, ptr %out, i64 %done
  br label %lane
lane:
  %q = phi i64 [ 0, %row ], [ %q1, %next ]
  %acc1 = phi i64 [ %acc0, %row ], [ %acc, %next ]
  %op = getelementptr inbounds i64, ptr %orow, i64 %q
  %first = load i64, ptr %op
  %done1 = mul i64 %q, %R
  %dlane = getelementptr inbounds {type}, ptr %drow, i64 %done1
  br label %run
run:
  %r = phi i64 [ 0, %lane ], [ %r1, %run ]
  %acc2 = phi i64 [ %acc1, %lane ], [ %acc, %run ]
  %rp = getelementptr inbounds i64, ptr %runs, i64 %r
  %more = load i64, ptr %rp
  %off = add i64 %first, %more
{item}  %to = getelementptr inbounds {type}, ptr %dlane, i64 %r
  store {type} %v, ptr %to, align 1
  %r1 = add nuw nsw i64 %r, 1
  %again = icmp slt i64 %r1, %R
  br i1 %again, label %run, label %next
next:
  %q1 = add nuw nsw i64 %q, 1
  %lanesleft = icmp slt i64 %q1, %Q
  br i1 %lanesleft, label %lane, label %end
{end}"""
_SPACED = """
define i64 @spaced(i64 %n, i64 %step, ptr %o) {
entry:
  %first = load i64, ptr %o
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %want = phi i64 [ %first, %entry ], [ %next, %loop ]
  %acc0 = phi i64 [ 0, %entry ], [ %acc, %loop ]
  %op = getelementptr inbounds i64, ptr %o, i64 %i
  %off = load i64, ptr %op
  %differs = xor i64 %off, %want
  %acc = or i64 %acc0, %differs
  %next = add i64 %want, %step
  %i1 = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %loop, label %done
done:
  ret i64 %acc
}
"""
SPACED = Compiled(_SPACED, {"spaced": "iip"}, patience=1 << 22)
"""The native function of `evenly`."""
