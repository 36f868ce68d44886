# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native loops over the pieces of memory that lanes touch, for the checking mode.

In: a `Walk`, which says what each lane touches, and the words of a shadow. Out: words changed as
`sync.checks` would, or what has to be known to leave the rest to it::

    walk = Walk(offsets, slots, threads, first_block, width, shift)
    most, bits, last = walk.look(shadow.writer, shadow.last_read)

What is here is what happens in nearly all accesses of programs without races; everything that needs
more than a comparison of words with what all lanes know is told, and left to NumPy.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from opencute.sim.fused.compiled import Compiled
from opencute.sim.values import Array

__all__ = ["FEWEST", "LOOPS", "Walk"]

FEWEST = 2048
"""Pieces below which a call of native code is not worth its price."""


class Walk:
    """The pieces that lanes touch.

    Args:
        offsets: byte offsets of runs, (P or 1, Q or 1, runs), or flat with a mask.
        slots: numbers of the lanes, (P, Q), or flat.
        threads: of a block.
        first_block: the number in the launch of the first block.
        width: bytes of a run, a multiple of a piece.
        shift: of a piece.
    """

    def __init__(
        self, offsets: Array, slots: Array, threads: int, first_block: int, width: int, shift: int
    ) -> None:  # fmt: skip
        if slots.ndim == 1:
            offsets = offsets.reshape(1, -1, 1)
        self.offsets = np.ascontiguousarray(offsets, np.int64)
        self.slots, self.threads, self.first_block = slots, threads, first_block
        P, Q = slots.shape if slots.ndim > 1 else (1, slots.size)
        p, q, runs = self.offsets.shape
        self._walk = (
            P, Q, runs, width >> shift, shift, self.offsets, q * runs if p > 1 else 0,
            runs if q > 1 else 0, self.slots,
        )  # fmt: skip

    @cached_property
    def inner(self) -> Array:
        """The lanes' numbers within their blocks."""
        return self.slots % self.threads

    @cached_property
    def blocks(self) -> Array:
        """The numbers of their blocks in the launch."""
        return self.slots // self.threads + self.first_block

    def _call(self, name: str, *args: Any) -> int:
        return LOOPS(name, *self._walk, *args)

    def look(self, writer: Array, last_read: Array) -> tuple[int, int, int]:
        """Of shared memory: the greatest word of a writer, all of these ored, and the greatest of
        the last readers."""
        out = np.zeros(3, np.int64)
        self._call("look", writer, last_read, out)
        most, bits, read = out.tolist()
        return most, bits, read

    def read_shared(self, last_read: Array, reader: Array, word: int, stamp: int) -> None:
        """Lanes read shared memory: the words of their warps are set."""
        self._call("mark", last_read, reader, reader.shape[1], self.inner, word, stamp)

    def write(self, writer: Array, write_op: Array, first: int, word: int, number: int) -> int:
        """Lanes write: the words of pieces become theirs. Returns how many of them became others'
        in this very access."""
        if not self._call("claim", writer, write_op, first, word, number):
            return 0
        return self._call("lost", writer, first, word)

    def look_global(
        self, writer: Array, reader: Array, floor: Array, first: int, threads: int, reads: bool
    ) -> int:
        """Of global memory: how many pieces others have written, or (for who writes) read without
        the lane's block having met since."""
        writes = 0 if reads else 1
        return self._call("strange", writer, reader, floor, first, threads, self.blocks, writes)

    def read_global(
        self, last_read: Array, reader: Array, floor: Array, first: int, threads: int, time: int,
        strength: int, number: int,
    ) -> None:  # fmt: skip
        """Lanes read global memory; see `AccessCheck`, where nobody knows more than floors."""
        self._call(
            "beside", last_read, reader, floor, first, threads, self.blocks, time, strength, number
        )  # fmt: skip


def _loop(name: str, params: str, body: str, head: str = "", result: str = "  ret i64 0") -> str:
    """A function that runs `body` for each piece; it begins with %piece and %slot, and leaves by
    a branch to %next. `lane` code runs once for each lane."""
    lane, _, piece = body.rpartition("---\n")
    return f"""
define i64 @{name}(i64 %P, i64 %Q, i64 %runs, i64 %count, i64 %shift, ptr noalias %off, i64 %sp,
                   i64 %sq, ptr noalias %slots, {params}) {{
entry:
  %pv = alloca i64
  %qv = alloca i64
  %rv = alloca i64
  %cv = alloca i64
  %acc = alloca i64
  %bits = alloca i64
  %last = alloca i64
  store i64 0, ptr %acc
  store i64 0, ptr %bits
  store i64 0, ptr %last
  store i64 0, ptr %pv
{head}
  br label %row
row:
  %p = load i64, ptr %pv
  store i64 0, ptr %qv
  br label %lane
lane:
  %q = load i64, ptr %qv
  %l0 = mul i64 %p, %Q
  %l = add i64 %l0, %q
  %sptr = getelementptr inbounds i64, ptr %slots, i64 %l
  %slot = load i64, ptr %sptr
  %o0 = mul i64 %p, %sp
  %o1 = mul i64 %q, %sq
  %o = add i64 %o0, %o1
{lane}
  store i64 0, ptr %rv
  br label %run
run:
  %r = load i64, ptr %rv
  %o2 = add i64 %o, %r
  %optr = getelementptr inbounds i64, ptr %off, i64 %o2
  %place = load i64, ptr %optr
  %base = ashr i64 %place, %shift
  store i64 0, ptr %cv
  br label %one
one:
  %c = load i64, ptr %cv
  %piece = add i64 %base, %c
{piece}
next:
  %c1 = add i64 %c, 1
  store i64 %c1, ptr %cv
  %cm = icmp slt i64 %c1, %count
  br i1 %cm, label %one, label %nextrun
nextrun:
  %r1 = add i64 %r, 1
  store i64 %r1, ptr %rv
  %rm = icmp slt i64 %r1, %runs
  br i1 %rm, label %run, label %nextlane
nextlane:
  %q1 = add i64 %q, 1
  store i64 %q1, ptr %qv
  %qm = icmp slt i64 %q1, %Q
  br i1 %qm, label %lane, label %nextrow
nextrow:
  %p1 = add i64 %p, 1
  store i64 %p1, ptr %pv
  %pm = icmp slt i64 %p1, %P
  br i1 %pm, label %row, label %done
done:
{result}
}}
"""


_WRITER = """
  %wptr = getelementptr inbounds i64, ptr %writer, i64 %piece
  %w = load i64, ptr %wptr
  %m0 = load i64, ptr %acc
  %m1 = call i64 @llvm.smax.i64(i64 %m0, i64 %w)
  store i64 %m1, ptr %acc
  %b0 = load i64, ptr %bits
  %b1 = or i64 %b0, %w
  store i64 %b1, ptr %bits
"""
_WARP = """
  %inptr = getelementptr inbounds i64, ptr %inners, i64 %l
  %inner = load i64, ptr %inptr
  %warp = lshr i64 %inner, 5
  %rbase = mul i64 %warp, %size
  %lane32 = and i64 %inner, 31
  %mine = add i64 %lane32, %word
  %rrow = getelementptr inbounds i64, ptr %reader, i64 %rbase
"""
_OUT = """
  %m9 = load i64, ptr %acc
  store i64 %m9, ptr %out
  %b9 = load i64, ptr %bits
  %out1 = getelementptr inbounds i64, ptr %out, i64 1
  store i64 %b9, ptr %out1
  %l9 = load i64, ptr %last
  %out2 = getelementptr inbounds i64, ptr %out, i64 2
  store i64 %l9, ptr %out2
  ret i64 0
"""
_COUNT = """
  %total = load i64, ptr %acc
  ret i64 %total
"""
_LOOK = (
    _WRITER
    + """
  %lptr = getelementptr inbounds i64, ptr %read, i64 %piece
  %lr = load i64, ptr %lptr
  %x0 = load i64, ptr %last
  %x1 = call i64 @llvm.smax.i64(i64 %x0, i64 %lr)
  store i64 %x1, ptr %last
  br label %next
"""
)
# Another lane's word of this time, where this operation has read last: both have.
_MARK = (
    _WARP
    + "---\n"
    + """
  %lptr = getelementptr inbounds i64, ptr %read, i64 %piece
  %before = load i64, ptr %lptr
  store i64 %stamp, ptr %lptr
  %now = icmp eq i64 %before, %stamp
  %rptr = getelementptr inbounds i64, ptr %rrow, i64 %piece
  %old = load i64, ptr %rptr
  %d0 = xor i64 %old, %mine
  %near = icmp ult i64 %d0, 256
  %other = icmp ne i64 %d0, 0
  %n0 = and i1 %near, %other
  %n1 = and i1 %n0, %now
  %f0 = and i64 %mine, -64
  %f1 = or i64 %f0, 32
  %new = select i1 %n1, i64 %f1, i64 %mine
  store i64 %new, ptr %rptr
  br label %next
"""
)
_ME = """
  %me = add i64 %slot, %first
  %mine = add i64 %me, %word
"""
_CLAIM = (
    _ME
    + "---\n"
    + """
  %wptr = getelementptr inbounds i64, ptr %writer, i64 %piece
  %old = load i64, ptr %wptr
  store i64 %mine, ptr %wptr
  %late = icmp sge i64 %old, %word
  %other = icmp ne i64 %old, %mine
  %both = and i1 %late, %other
  %n1 = zext i1 %both to i64
  %a0 = load i64, ptr %acc
  %a1 = add i64 %a0, %n1
  store i64 %a1, ptr %acc
  %iptr = getelementptr inbounds i32, ptr %ops, i64 %piece
  store i32 %op, ptr %iptr
  br label %next
"""
)
_LOST = (
    _ME
    + "---\n"
    + """
  %wptr = getelementptr inbounds i64, ptr %writer, i64 %piece
  %found = load i64, ptr %wptr
  %differs = icmp ne i64 %found, %mine
  %d1 = zext i1 %differs to i64
  %a0 = load i64, ptr %acc
  %a1 = add i64 %a0, %d1
  store i64 %a1, ptr %acc
  br label %next
"""
)
# A word is time << 33 | level << 31 | strength << 29 | who.
_READER = """
  %level0 = lshr i64 %b, 31
  %level = and i64 %level0, 3
  %rwho = and i64 %b, 536870911
  %one_ = icmp eq i64 %level, 0
  %isme = icmp eq i64 %rwho, %me
  %own = and i1 %one_, %isme
  br i1 %own, label %{own}, label %others
others:
  %who32 = trunc i64 %rwho to i32
  %threads32 = trunc i64 %threads to i32
  %theirs0 = udiv i32 %who32, %threads32
  %theirs1 = zext i32 %theirs0 to i64
  %theirs = select i1 %one_, i64 %theirs1, i64 %rwho
  %mineblock = icmp eq i64 %theirs, %block
  %notall = icmp ne i64 %level, 2
  %same = and i1 %mineblock, %notall
  %when = lshr i64 %b, 33
  %over = icmp sle i64 %when, %floor
  %past = and i1 %same, %over
  br i1 %past, label %{own}, label %{else_}
"""
_BLOCK = """
  %me = add i64 %slot, %first
  %bptr = getelementptr inbounds i64, ptr %blocks, i64 %l
  %block = load i64, ptr %bptr
  %fptr = getelementptr inbounds i64, ptr %floors, i64 %slot
  %floor = load i64, ptr %fptr
"""
_STRANGE = (
    _BLOCK
    + "---\n"
    + """
  %wptr = getelementptr inbounds i64, ptr %writer, i64 %piece
  %w = load i64, ptr %wptr
  %none = icmp eq i64 %w, 0
  %wwho = and i64 %w, 536870911
  %byme = icmp eq i64 %wwho, %me
  %landed = icmp slt i64 %w, 9223372028264841216
  %fine0 = and i1 %byme, %landed
  %fine = or i1 %none, %fine0
  br i1 %fine, label %readers, label %bad
readers:
  %ask = icmp ne i64 %writes, 0
  br i1 %ask, label %look, label %next
look:
  %rptr = getelementptr inbounds i64, ptr %reader, i64 %piece
  %b = load i64, ptr %rptr
  %nobody = icmp eq i64 %b, 0
  br i1 %nobody, label %next, label %somebody
somebody:
"""
    + _READER.format(own="next", else_="bad")
    + """
bad:
  %a0 = load i64, ptr %acc
  %a1 = add i64 %a0, 1
  store i64 %a1, ptr %acc
  br label %next
"""
)
_BESIDE = (
    _BLOCK
    + """
  %s0 = shl i64 %strength, 29
  %m0 = add i64 %me, %time
  %mine = add i64 %m0, %s0
  %wideblock = or i64 %block, 2147483648
"""
    + "---\n"
    + """
  %iptr = getelementptr inbounds i32, ptr %read, i64 %piece
  store i32 %op, ptr %iptr
  %rptr = getelementptr inbounds i64, ptr %reader, i64 %piece
  %b = load i64, ptr %rptr
  %nobody = icmp eq i64 %b, 0
  br i1 %nobody, label %set, label %somebody
somebody:
"""
    + _READER.format(own="set", else_="wide")
    + """
set:
  store i64 %mine, ptr %rptr
  br label %next
wide:
  %bs0 = lshr i64 %b, 29
  %bs1 = and i64 %bs0, 3
  %bs = call i64 @llvm.smin.i64(i64 %bs1, i64 %strength)
  %bs2 = shl i64 %bs, 29
  %who2 = select i1 %same, i64 %wideblock, i64 4294967296
  %v0 = add i64 %who2, %time
  %v1 = add i64 %v0, %bs2
  store i64 %v1, ptr %rptr
  br label %next
"""
)
_PTR = "ptr noalias %"
_TEXT = "\n".join((
    "declare i64 @llvm.smax.i64(i64, i64)",
    "declare i64 @llvm.smin.i64(i64, i64)",
    _loop("look", f"{_PTR}writer, {_PTR}read, {_PTR}out", _LOOK, result=_OUT),
    _loop("mark", f"{_PTR}read, {_PTR}reader, i64 %size, {_PTR}inners, i64 %word, i64 %stamp",
          _MARK),
    _loop("claim", f"{_PTR}writer, {_PTR}ops, i64 %first, i64 %word, i64 %number", _CLAIM,
          head="  %op = trunc i64 %number to i32", result=_COUNT),
    _loop("lost", f"{_PTR}writer, i64 %first, i64 %word", _LOST, result=_COUNT),
    _loop("strange", f"{_PTR}writer, {_PTR}reader, {_PTR}floors, i64 %first, i64 %threads, "
          f"{_PTR}blocks, i64 %writes", _STRANGE, result=_COUNT),
    _loop("beside", f"{_PTR}read, {_PTR}reader, {_PTR}floors, i64 %first, i64 %threads, "
          f"{_PTR}blocks, i64 %time, i64 %strength, i64 %number", _BESIDE,
          head="  %op = trunc i64 %number to i32"),
))  # fmt: skip
_WALK = "iiiiipiip"
LOOPS = Compiled(
    _TEXT,
    {
        "look": _WALK + "ppp", "mark": _WALK + "ppipii",
        "claim": _WALK + "ppiii", "lost": _WALK + "pii", "strange": _WALK + "pppiipi",
        "beside": _WALK + "pppiipiii",
    },
    patience=1 << 22,
)  # fmt: skip
"""The native functions."""
