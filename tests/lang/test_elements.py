# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Elements of fragments: what visiting them builds, and that a table finds what a layout does."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

from compiled import on_device
from opencute import Float32, Int32, cute
from opencute.base.errors import LayoutError
from opencute.ir.builder import current_block

pytestmark = pytest.mark.t0


def built() -> collections.Counter[str]:
    """What the block that is being traced has, by name."""
    block = current_block()
    assert block is not None
    return collections.Counter(op.name for op in block.ops)


def test_places_are_found_once() -> None:
    out = np.zeros(8, np.float32)
    counts: list[collections.Counter[str]] = []

    def body(o: Any) -> None:
        f = cute.make_rmem_tensor(8, Float32)
        before = built()
        for i in range(8):
            f[i] = Float32(2.0)
        for _ in range(3):
            for i in range(8):
                f[i] = f[i] * f[i]
        counts.append(built() - before)
        for i in range(8):
            o[i] = f[i]

    on_device(body, out)
    (made,) = counts
    # What is known is not loaded, and what nobody reads not stored.
    assert made["cute.store"] == 8 and made["cute.load"] == 0 and made["arith.mulf"] == 24
    # Seven elements are not the first one; and there is the constant that is stored.
    assert made["cute.ptr_add"] == 7 and made["arith.constant"] == 8
    assert (out == 256).all()


@pytest.mark.parametrize(
    ("shape", "stride"), [((4, 3), (3, 1)), (((2, 2), 3), ((1, 6), 2)), (12, 1), ((3, 2), (1, 0))]
)
def test_a_table_finds_what_the_layout_does(shape: Any, stride: Any) -> None:
    layout = cute.make_layout(shape, stride=stride)
    n = cute.size(layout)
    out = np.zeros(n, np.int32)

    def body(o: Any) -> None:
        f = cute.make_rmem_tensor(layout, Int32)
        for i in range(cute.cosize(layout)):
            cute.make_tensor(f.iterator, cute.make_layout(cute.cosize(layout)))[i] = Int32(i)
        for i in range(n):
            o[i] = f[i]

    on_device(body, out)
    assert out.tolist() == [layout(i) for i in range(n)]


def test_indices_beyond_the_table_are_the_layouts() -> None:
    """The last mode has no end: who goes on is where the next one would be."""
    out = np.zeros(2, np.int32)

    def body(o: Any) -> None:
        f = cute.make_rmem_tensor(8, Int32)
        for i in range(8):
            f[i] = Int32(i)
        half = cute.make_tensor(f.iterator, cute.make_layout(4))
        o[0], o[1] = half[3], half[6]

    on_device(body, out)
    assert out.tolist() == [3, 6]

    def wrong(o: Any) -> None:
        o[0] = cute.make_rmem_tensor((2, 2), Int32)[1, 1, 1]

    with pytest.raises(LayoutError):
        on_device(wrong, out)
