# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Atomic operations: lanes that meet at one element take turns.

Lanes come in the order of their threads (or another, by seed). Each way below gives the same as one
after the other: all at once where no two lanes meet, running totals where many meet at few
elements, and rounds (the first of each element, then the second, ...) otherwise.

>>> memory = np.zeros(2, np.int32)
>>> apply(memory, np.array([1, 1, 0]), (np.int32([5, 6, 7]),), np.add).tolist(), memory.tolist()
([0, 5, 0], [7, 11])
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opencute.sim.values import Array

__all__ = ["apply"]

Change = Callable[..., Any]
"""``change(old, *values)`` gives the new elements."""


def apply(items: Array, index: Array, values: Sequence[Array], change: Change) -> Array:
    """Change elements one lane after the other; returns what each lane found.

    Args:
        items: the memory; changed in place.
        index: the element of each lane, in the order in which they come.
        values: operands of each lane.
        change: new elements from old ones and operands; a NumPy ufunc may be accumulated.
    """
    if index.size == 1:
        old = items[index]
        items[index] = change(old, *values)
        return old
    order = np.argsort(index, kind="stable")
    sorted_index = index[order]
    first = np.flatnonzero(np.concatenate(([True], sorted_index[1:] != sorted_index[:-1])))
    counts = np.diff(np.append(first, index.size))
    most = int(counts.max())
    if most == 1:
        old = items[index]
        items[index] = change(old, *values)
        return old
    ordered = [v[order] for v in values]
    old = np.empty(index.size, items.dtype)
    if isinstance(change, np.ufunc) and first.size < most and items.dtype.kind in "iuf":
        _totals(items, sorted_index, first, counts, ordered[0], change, old)
    else:
        _rounds(items, sorted_index, first, counts, ordered, change, old)
    out = np.empty_like(old)
    out[order] = old
    return out


def _totals(
    items: Array, index: Array, first: Array, counts: Array, value: Array, change: np.ufunc,
    old: Array,
) -> None:  # fmt: skip
    for start, count in zip(first.tolist(), counts.tolist(), strict=True):
        place = index[start]
        run = np.empty(count + 1, items.dtype)
        run[0] = items[place]
        run[1:] = value[start : start + count]
        run = change.accumulate(run, dtype=items.dtype)
        old[start : start + count] = run[:-1]
        items[place] = run[-1]


def _rounds(
    items: Array, index: Array, first: Array, counts: Array, values: Sequence[Array],
    change: Change, old: Array,
) -> None:  # fmt: skip
    for turn in range(int(counts.max())):
        at = first[counts > turn] + turn
        place = index[at]
        found = items[place]
        old[at] = found
        items[place] = change(found, *(v[at] for v in values))
