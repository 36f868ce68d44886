# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Composition of plain layouts, on shapes and strides.

In: two layouts, for messages, and their shapes and strides. Out: those of the first after the
second; `algebra.composition` is that of everything that can be composed::

    a, b = Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))
    Composer(a, b).after(open_ended(a.shape, a.stride), b.shape, b.stride)
    # (((2, 2), 3), ((24, 2), 8))
"""

from __future__ import annotations

from typing import Any, NoReturn

from opencute.layout.basis import ScaledBasis, basis_get
from opencute.layout.ints import (
    ceil_div_int,
    fail,
    floor_div,
    is_static_int,
    is_tuple,
    known_equal,
    min_int,
    mul,
    to_str,
)
from opencute.layout.leaves import (
    Modes,
    Pair,
    divides_or_unknown,
    is_one,
    is_zero,
    leaves,
    merged,
    of_leaves,
    together,
)

__all__ = ["Composer", "open_ended"]


def open_ended(shape: Any, stride: Any) -> Pair:
    """Coalesce so that the function also stays beyond the layout's domain.

    A last mode of size 1 would be dropped by `coalesce` with its stride, which offsets beyond the
    domain still need; it stays as an open-ended mode.
    """
    modes = leaves(shape, stride)
    if not modes:
        return 1, 0
    last_shape, last_stride = modes[-1]
    modes[-1] = (2 if is_one(last_shape) else last_shape, last_stride)
    return of_leaves(merged(modes))


class Composer:
    """One composition: walks the leaves of `b` along the modes of a coalesced `a`.

    It remembers how far the leaves of `b` move along each mode of `a`: their moves add up, and the
    sum must stay inside the mode, as the result has no way to carry into the next one.
    """

    def __init__(self, a: Any, b: Any) -> None:
        self.whole = (a, b)
        self.moved: dict[tuple[Any, int], int] = {}

    def after(self, a: Pair, shape: Any, stride: Any, path: Any = ()) -> Pair:
        """`a` after ``shape:stride``; `path` is where in the whole `a` this part of it is."""
        if is_tuple(shape):
            return together([self.after(a, s, d, path) for s, d in zip(shape, stride, strict=True)])
        if isinstance(stride, ScaledBasis):
            sub = basis_get(stride, a[0]), basis_get(stride, a[1])
            return self.after(sub, shape, stride.value, stride.mode)
        if is_zero(stride):
            return shape, 0
        if not is_tuple(a[0]):
            return shape, mul(stride, a[1])
        return self.leaf(leaves(*a), shape, stride, path)

    def leaf(self, modes: Modes, shape: Any, stride: Any, path: Any) -> Pair:
        """Walk `shape` steps of `stride`, splitting them at the ends of the modes."""
        out: Modes = []
        rest, step = shape, stride
        negative = is_static_int(step) and step < 0
        for i, (extent, d) in enumerate(modes[:-1]):
            pace = -step if negative else step
            reach = ceil_div_int(extent, pace)  # steps that stay inside this mode
            if is_one(reach) and not is_one(rest):
                self._require(extent, pace)
            elif not is_one(rest):
                taken = min_int(reach, rest)
                if is_static_int(taken) and is_static_int(rest) and taken != rest:
                    self._require(pace, extent)
                    self._require(taken, rest)
                self._move(path, i, taken, pace, extent)
                out.append((taken, mul(step, d)))
                rest = 1 if known_equal(taken, rest) else floor_div(rest, taken)
            step = ceil_div_int(pace, extent)
            step = -step if negative else step
        if out and is_one(rest):
            return of_leaves(out)
        return of_leaves([*out, (rest, mul(step, modes[-1][1]))])

    def _require(self, n: Any, x: Any) -> None:
        if not divides_or_unknown(n, x):
            self._fail(f"{n} does not divide {x}")

    def _move(self, path: Any, i: int, taken: Any, pace: Any, extent: Any) -> None:
        if not (is_static_int(taken) and is_static_int(pace)):
            return
        total = self.moved.get((path, i), 0) + (taken - 1) * pace
        self.moved[path, i] = total
        if is_static_int(extent) and total >= extent:
            self._fail(f"its modes together move {total} along a mode of extent {extent}")

    def _fail(self, why: str) -> NoReturn:
        a, b = map(to_str, self.whole)
        fail(
            "OC1303",
            f"composition: {b} does not fit the modes of {a}: {why}",
            expected="strides and extents that divide the extents they walk along",
            found=f"{a} after {b}",
            hint="pad the layout, or choose a tile that divides its modes",
        )
