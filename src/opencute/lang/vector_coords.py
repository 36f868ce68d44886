# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Coordinates and reduction profiles of vectors in registers: compile-time integers only.

In: what a user writes in brackets. Out: a coordinate of the layout algebra::

    plain_coord((slice(None), np.int64(2)))       # (None, 2)
"""

# pyright: reportUnknownArgumentType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import operator
from typing import Any

from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.lang.numbers import Numeric
from opencute.layout import Layout, product, to_str
from opencute.layout.ints import is_sequence, is_tuple

__all__ = ["check_range", "has_none", "plain_coord", "reduced_modes"]


def reduced_modes(layout: Layout, profile: Any, out: list[tuple[Any, bool]]) -> None:
    """The modes that a reduction profile speaks of, and whether it keeps them."""
    if not is_tuple(profile):
        out.append((layout, profile is None))
        return
    entries: Any = profile
    if not is_tuple(layout.shape) or len(entries) != layout.rank:
        raise LayoutError(
            "reduction profile and shape differ in rank", code="OC1352",
            expected=to_str(layout.shape), found=to_str(profile),
        )  # fmt: skip
    for i, p in enumerate(entries):
        reduced_modes(layout[i], p, out)


def plain_coord(crd: Any) -> Any:
    """A coordinate with `:` as None and numbers as ints.

    Raises:
        LayoutError: a slice that is not full.
        TypeMismatchError: a run-time number, or no number.
    """
    if is_sequence(crd):
        items: Any = crd
        return tuple(plain_coord(c) for c in items)
    if crd is None or crd is Ellipsis:
        return crd
    if isinstance(crd, slice):
        if crd == slice(None):
            return None
        raise LayoutError(
            "only full slices select a mode", code="OC1354", found=crd,
            hint="a part is a tile: cute.local_tile(x, (4,), (i,)) has elements 4 i to 4 i + 3; "
            "cute.domain_offset((i,), x) begins at any element",
        )  # fmt: skip
    if isinstance(crd, Numeric) and crd.is_dynamic:
        raise TypeMismatchError(
            "a vector in registers is indexed by compile-time integers", code="OC1222",
            hint="store it to a register tensor (cute.make_rmem_tensor) and index that",
        )  # fmt: skip
    if not hasattr(crd, "__index__"):
        raise TypeMismatchError("a coordinate is made of integers", code="OC1230", found=crd)
    return operator.index(crd)


def check_range(crd: Any, shape: Any, vec: object) -> None:
    """Refuse a coordinate outside of the shape of `vec`.

    Raises:
        LayoutError: an integer is negative or too large.
    """
    if is_tuple(crd):
        items: Any = crd
        for c, s in zip(items, shape if is_tuple(shape) else (shape,), strict=False):
            check_range(c, s, vec)
    elif isinstance(crd, int) and not 0 <= crd < product(shape):
        raise LayoutError(
            "a coordinate is outside of the vector", code="OC1366",
            expected=f"0 to {product(shape) - 1}", found=f"{crd} in {vec}",
        )  # fmt: skip


def has_none(crd: Any) -> bool:
    """Whether a coordinate keeps a mode."""
    return any(map(has_none, crd)) if is_tuple(crd) else crd is None or crd is Ellipsis
