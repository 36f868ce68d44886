# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Fused multiply-adds in f32, which round once, as native loops.

In: arrays of f32. Out: the sums, None where NumPy has to do the work (few elements, no LLVM)::

    out = fma(a, b, c)                # elementwise
    out = outer(a, b, c)              # for each lane, c + the outer products of k pairs of vectors
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import numpy as np

from opencute.sim.fused.compiled import Compiled
from opencute.sim.values import Array

__all__ = ["LOOPS", "fma", "outer"]

_FEWEST = 2048  # elements below which a call of native code is not worth its price


def fma(a: Array, b: Array, c: Array) -> Array | None:
    """``a * b + c`` of arrays that go together."""
    shape = np.broadcast_shapes(a.shape, b.shape, c.shape)
    size = 1
    for extent in shape:
        size *= extent
    if size < _FEWEST or not LOOPS.ready(size):
        return None
    out = np.empty(shape, np.float32)
    a, b, c = (np.ascontiguousarray(np.broadcast_to(v, shape), np.float32) for v in (a, b, c))
    LOOPS("fma", size, a, b, c, out)
    return out


def outer(a: Array, b: Array, c: Array) -> Array | None:
    """For each lane, ``c + a[0] ⊗ b[0] + a[1] ⊗ b[1] ...``, in this order.

    Args:
        a: (lanes, k, m).
        b: (lanes, k, n).
        c: (lanes, n, m).
    """
    lanes, k, m = a.shape
    n = b.shape[2]
    if lanes * n * m * k < _FEWEST or not LOOPS.ready(lanes * n * m * k):
        return None
    out = np.array(c, np.float32, order="C")
    a, b = np.ascontiguousarray(a, np.float32), np.ascontiguousarray(b, np.float32)
    LOOPS("outer", lanes, k, n, m, a, b, out)
    return out


_TEXT = """
declare float @llvm.fma.f32(float, float, float)

define i64 @fma(i64 %n, ptr noalias %a, ptr noalias %b, ptr noalias %c, ptr noalias %out) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %pa = getelementptr inbounds float, ptr %a, i64 %i
  %pb = getelementptr inbounds float, ptr %b, i64 %i
  %pc = getelementptr inbounds float, ptr %c, i64 %i
  %po = getelementptr inbounds float, ptr %out, i64 %i
  %x = load float, ptr %pa
  %y = load float, ptr %pb
  %z = load float, ptr %pc
  %r = call float @llvm.fma.f32(float %x, float %y, float %z)
  store float %r, ptr %po
  %i1 = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %loop, label %done
done:
  ret i64 0
}

define i64 @outer(i64 %lanes, i64 %k, i64 %n, i64 %m, ptr noalias %a, ptr noalias %b,
                  ptr noalias %out) {
entry:
  %tile = mul nuw nsw i64 %n, %m
  br label %lane
lane:
  %l = phi i64 [ 0, %entry ], [ %l1, %nextlane ]
  %to = mul nuw nsw i64 %l, %tile
  %c = getelementptr inbounds float, ptr %out, i64 %to
  %steps = mul nuw nsw i64 %l, %k
  br label %step
step:
  %s = phi i64 [ 0, %lane ], [ %s1, %nextstep ]
  %at = add nuw nsw i64 %steps, %s
  %am = mul nuw nsw i64 %at, %m
  %bn = mul nuw nsw i64 %at, %n
  %av = getelementptr inbounds float, ptr %a, i64 %am
  %bv = getelementptr inbounds float, ptr %b, i64 %bn
  br label %row
row:
  %j = phi i64 [ 0, %step ], [ %j1, %nextrow ]
  %pb = getelementptr inbounds float, ptr %bv, i64 %j
  %y = load float, ptr %pb
  %jm = mul nuw nsw i64 %j, %m
  %cr = getelementptr inbounds float, ptr %c, i64 %jm
  br label %item
item:
  %i = phi i64 [ 0, %row ], [ %i1, %item ]
  %pa = getelementptr inbounds float, ptr %av, i64 %i
  %pc = getelementptr inbounds float, ptr %cr, i64 %i
  %x = load float, ptr %pa
  %z = load float, ptr %pc
  %r = call float @llvm.fma.f32(float %x, float %y, float %z)
  store float %r, ptr %pc
  %i1 = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %i1, %m
  br i1 %more, label %item, label %nextrow
nextrow:
  %j1 = add nuw nsw i64 %j, 1
  %rows = icmp slt i64 %j1, %n
  br i1 %rows, label %row, label %nextstep
nextstep:
  %s1 = add nuw nsw i64 %s, 1
  %stepsleft = icmp slt i64 %s1, %k
  br i1 %stepsleft, label %step, label %nextlane
nextlane:
  %l1 = add nuw nsw i64 %l, 1
  %lanesleft = icmp slt i64 %l1, %lanes
  br i1 %lanesleft, label %lane, label %done
done:
  ret i64 0
}
"""
LOOPS = Compiled(_TEXT, {"fma": "ipppp", "outer": "iiiippp"}, patience=1 << 21)
"""The native functions."""
