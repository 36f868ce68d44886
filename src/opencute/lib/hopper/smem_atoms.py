# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The pieces of shared memory that TMA writes and wgmma reads in one order.

A piece is eight rows of 16, 32, 64 or 128 bytes, in each of which the 16-byte words change places
by a swizzle. In: a kind and an element type. Out: a composed layout whose inner part swizzles
*byte* addresses and whose outer part counts elements, as `get_tensor(outer, swizzle=inner)` takes
them::

    make_smem_layout_atom(SmemLayoutAtomKind.K_SW128, Float16)   # S<3,4,3> o 0 o (8,64):(64,1)
"""

from __future__ import annotations

import enum
from typing import Any

from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.lang.pointers import element_bits
from opencute.layout import ComposedLayout, Layout, Swizzle

__all__ = ["SmemLayoutAtomKind", "make_smem_layout_atom"]

_ROWS = 8


class SmemLayoutAtomKind(enum.Enum):
    """Which mode is contiguous, K or M|N, and over how many bytes 16-byte words change places."""

    MN_INTER = ("mn", 0)
    MN_SW32 = ("mn", 1)
    MN_SW64 = ("mn", 2)
    MN_SW128 = ("mn", 3)
    K_INTER = ("k", 0)
    K_SW32 = ("k", 1)
    K_SW64 = ("k", 2)
    K_SW128 = ("k", 3)

    @property
    def is_k_major(self) -> bool:
        """Whether K is contiguous."""
        return self.value[0] == "k"

    @property
    def swizzle(self) -> Swizzle:
        """The swizzle of byte addresses."""
        return Swizzle(self.value[1], 4, 3)

    @property
    def contiguous_bits(self) -> int:
        """Bits of a row: 128 without a swizzle, up to 1024."""
        return 128 << self.value[1]


def make_smem_layout_atom(
    kind: SmemLayoutAtomKind, element_type: Any, *, loc: Any = None, ip: Any = None
) -> ComposedLayout:
    """The piece of a kind for elements of a type.

    Args:
        kind: the contiguous mode and the swizzle.
        element_type: a numeric class.

    Raises:
        TypeMismatchError: no such kind.
        LayoutError: elements that do not fill the 16-byte words.
    """
    if not isinstance(kind, SmemLayoutAtomKind):
        raise TypeMismatchError(
            "not a kind of shared-memory layout", code="OC1287", found=repr(kind),
            expected=", ".join(k.name for k in SmemLayoutAtomKind),
        )  # fmt: skip
    bits = element_bits(element_type)
    if 128 % bits:
        raise LayoutError(
            "elements of this width do not fill 16-byte words", code="OC1330",
            expected="4, 8, 16, 32, 64 or 128 bits", found=f"{element_type} ({bits} bits)",
        )  # fmt: skip
    n = kind.contiguous_bits // bits
    rows = (_ROWS, n) if kind.is_k_major else (n, _ROWS)
    steps = (n, 1) if kind.is_k_major else (1, n)
    return ComposedLayout(kind.swizzle, 0, Layout(rows, steps))
