# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Layouts of shared memory that matrix instructions and TMA read: atoms to tile with.

    >>> str(make_smem_layout_atom(SmemLayoutAtomKind.K_SW128, Float16))
    'S<3,4,3> o 0 o (8,64):(64,1)'

The swizzle is one of byte addresses: give it to the pointer (``swizzle=layout.inner``), and the
outer layout to the tensor.
"""

from __future__ import annotations

import enum
from typing import Any

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.lang.numbers import NumericMeta
from opencute.layout import ComposedLayout, Layout, Swizzle

__all__ = ["SmemLayoutAtomKind", "make_smem_layout_atom"]


class SmemLayoutAtomKind(enum.Enum):
    """The contiguous mode, and the width of the swizzle in bytes (INTER: none, rows of 16)."""

    MN_INTER = "mn_inter"
    MN_SW32 = "mn_sw32"
    MN_SW64 = "mn_sw64"
    MN_SW128 = "mn_sw128"
    K_INTER = "k_inter"
    K_SW32 = "k_sw32"
    K_SW64 = "k_sw64"
    K_SW128 = "k_sw128"


_BITS = {"inter": 0, "sw32": 1, "sw64": 2, "sw128": 3}


def make_smem_layout_atom(
    kind: Any, element_type: Any, *, loc: Any = None, ip: Any = None
) -> ComposedLayout:
    """The smallest layout of a kind: 8 rows of 16, 32, 64 or 128 bytes.

    Args:
        kind: contiguous mode and swizzle.
        element_type: numeric class of the elements.

    Raises:
        TypeMismatchError: not a kind, or not a type.
        ArgumentError: elements that do not fill a row.
    """
    if not isinstance(kind, SmemLayoutAtomKind) or not isinstance(element_type, NumericMeta):
        raise TypeMismatchError(
            "make_smem_layout_atom takes a kind and an element type", code="OC1614",
            expected="such as SmemLayoutAtomKind.K_SW128 and Float16",
            found=f"{kind}, {element_type}",
        )  # fmt: skip
    major, _, width = kind.value.partition("_")
    bits = _BITS[width]
    row, rest = divmod(128 << bits, element_type.dtype.memory_bits)
    if rest:
        raise ArgumentError(
            f"elements of {element_type} do not fill a row", code="OC2176", found=element_type
        )
    plain = Layout((8, row), (row, 1)) if major == "k" else Layout((row, 8), (1, row))
    return ComposedLayout(Swizzle(bits, 4, 3), 0, plain)
