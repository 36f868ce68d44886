# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Broadcasting of shapes: NumPy's rule on the modes, where missing modes are appended.

In: shapes, static ints or nested tuples. Out: the common shape, and which element goes where::

    broadcast_shape((4, 1), (1, 3))       # (4, 3)
    broadcast_index((1, 2), (2, 2))       # [0, 0, 1, 1]
"""

from __future__ import annotations

import itertools
from typing import Any

from opencute.base.errors import LayoutError
from opencute.layout import flatten_to_tuple, product, to_str
from opencute.layout.ints import is_tuple

__all__ = ["broadcast_index", "broadcast_shape"]


def _pad(shape: Any, rank: int) -> tuple[Any, ...]:
    shape = shape if is_tuple(shape) else (shape,)
    return shape + (1,) * (rank - len(shape))


def _modes(shape: Any, target: Any) -> list[tuple[int, int]]:
    """Pairs (extent, target extent) of leaves; a mode of size 1 matches any profile."""
    if is_tuple(target) or is_tuple(shape):
        rank = max(len(s) if is_tuple(s) else 1 for s in (shape, target))
        pairs = zip(_pad(shape, rank), _pad(target, rank), strict=True)
        if product(shape) == 1:
            return [(1, n) for n in flatten_to_tuple(target)]
        return list(itertools.chain.from_iterable(_modes(a, b) for a, b in pairs))
    return [(shape, target)]


def broadcast_index(shape: Any, target: Any) -> list[int]:
    """For each element of `target`, in linear order, the element of `shape` that it repeats.

    Raises:
        LayoutError: a mode is neither 1 nor the target's extent.
    """
    index, step = [0], 1
    for extent, wanted in _modes(shape, target):
        if extent not in (1, wanted):
            raise LayoutError(
                "shapes do not broadcast", code="OC1353",
                expected=to_str(target), found=to_str(shape),
            )  # fmt: skip
        index = [i + (j * step if extent != 1 else 0) for j in range(wanted) for i in index]
        step *= extent
    return index


def broadcast_shape(a: Any, b: Any) -> Any:
    """The shape that both broadcast to.

    Raises:
        LayoutError: there is none.
    """
    if a == b:
        return a
    if is_tuple(a) or is_tuple(b):
        if not is_tuple(a) and a == 1:
            return b
        if not is_tuple(b) and b == 1:
            return a
        rank = max(len(s) if is_tuple(s) else 1 for s in (a, b))
        return tuple(map(broadcast_shape, _pad(a, rank), _pad(b, rank)))
    if 1 in (a, b):
        return max(a, b)
    raise LayoutError("shapes do not broadcast", code="OC1353", expected=to_str(a), found=to_str(b))
