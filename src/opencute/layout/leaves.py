# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Shapes with their strides as lists of leaves: what layouts and their algebra both stand on.

In: a shape and congruent strides, or leaves of them. Out: leaves (extent, stride), or a pair of a
shape and strides; `layout.Layout` is made of such a pair::

    leaves((2, (1, 6)), (1, (6, 2)))        # [(2, 1), (1, 6), (6, 2)]
    merged([(2, 1), (1, 6), (6, 2)])        # [(12, 1)]
    of_leaves([(12, 1)])                    # (12, 1)
    together([(4, 1), ((2, 2), (4, 8))])    # ((4, (2, 2)), (1, (4, 8)))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute.layout.basis import ScaledBasis, coord_add
from opencute.layout.ints import divides, is_static_int, known_equal, mul
from opencute.layout.tuples import flatten_to_tuple

__all__ = [
    "Modes",
    "Pair",
    "coalesced",
    "coprofile",
    "divides_or_unknown",
    "is_one",
    "is_zero",
    "leaves",
    "merged",
    "of_leaves",
    "together",
]

Pair = tuple[Any, Any]
"""A shape and congruent strides."""
Modes = list[Pair]
"""Extents and strides of leaves."""


def is_one(x: Any) -> bool:
    """Whether an integer is known to be 1."""
    return is_static_int(x) and x == 1


def is_zero(x: Any) -> bool:
    """Whether an integer is known to be 0."""
    return is_static_int(x) and x == 0


def divides_or_unknown(n: Any, x: Any) -> bool:
    """False only when static `n` certainly does not divide static `x`."""
    return not (is_static_int(n) and is_static_int(x)) or divides(n, x)


def leaves(shape: Any, stride: Any) -> Modes:
    """The leaves as (extent, stride) pairs."""
    return list(zip(flatten_to_tuple(shape), flatten_to_tuple(stride), strict=True))


def of_leaves(modes: Modes) -> Pair:
    """A flat shape and its strides: integers for a single leaf, ``1:0`` for none."""
    if not modes:
        return 1, 0
    if len(modes) == 1:
        return modes[0]
    return together(modes)


def together(pairs: Sequence[Pair]) -> Pair:
    """The pair of which these are the modes."""
    return tuple([s for s, _ in pairs]), tuple([d for _, d in pairs])


def merged(modes: Modes, merge_dynamic: bool = False) -> Modes:
    """Coalesce from the right; size-1 modes survive only at the end."""
    out: Modes = []
    for shape, stride in reversed(modes):
        if is_one(shape) and out:
            continue
        if out:
            next_shape, next_stride = out[-1]
            if is_one(next_shape):
                out[-1] = (shape, stride)
                continue
            mergeable = merge_dynamic or is_static_int(next_shape)
            if mergeable and known_equal(mul(shape, stride), next_stride):
                out[-1] = (mul(shape, next_shape), stride)
                continue
        out.append((shape, stride))
    return out[::-1]


def coalesced(modes: Modes, merge_dynamic: bool = False) -> Pair:
    """Neighbours that continue each other merged, modes of size 1 dropped."""
    return of_leaves([m for m in merged(modes, merge_dynamic) if not is_one(m[0])])


def coprofile(stride: Any) -> Any:
    """The profile of a layout's offsets: 0, or a tuple if the strides are basis elements."""
    total: Any = 0
    for d in flatten_to_tuple(stride):
        step = ScaledBasis(0, d.mode).as_tuple() if isinstance(d, ScaledBasis) else 0
        total = coord_add(total, step)
    return total
