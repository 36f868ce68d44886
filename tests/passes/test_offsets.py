# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which accesses reach the elements of a tile."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.dialects.cute import Dyn, LayoutAttr
from opencute.passes.offsets import accesses, element_offsets

pytestmark = pytest.mark.t0


def plan(
    layout: LayoutAttr, bits: int = 32, align: int = 16, most: int = 128
) -> list[tuple[int, ...]]:
    n = layout.static_size() or 0
    return [a.elements for a in accesses(layout, range(n), bits, align, most)]


def test_contiguous() -> None:
    layout = LayoutAttr(8, 1)
    (access,) = accesses(layout, range(8), 32, 16, 128)
    assert access.elements == tuple(range(8)) and access.align == 16


def test_contiguous_mode_is_second() -> None:
    assert plan(LayoutAttr((2, 4), (4, 1))) == [(0, 2, 4, 6, 1, 3, 5, 7)]


def test_dynamic_strides_make_rows() -> None:
    layout = LayoutAttr((4, 2), (1, Dyn(64, 4)))
    first, second = accesses(layout, range(8), 32, 16, 128)
    assert first.elements == (0, 1, 2, 3) and first.align == 16 and first.terms == ()
    assert second.elements == (4, 5, 6, 7) and second.align == 16 and second.terms == ((0, 1),)
    loose = LayoutAttr((4, 2), (1, Dyn(64)))
    assert accesses(loose, range(8), 32, 16, 128)[1].align == 4
    assert accesses(loose, range(8), 32, 16, 128, supposed=16)[1].align == 16


def test_lengths_are_powers_of_two() -> None:
    assert [len(e) for e in plan(LayoutAttr(7, 1))] == [4, 2, 1]
    assert [len(e) for e in plan(LayoutAttr(12, 1), align=4)] == [8, 4]


def test_broadcast_keeps_the_last() -> None:
    assert plan(LayoutAttr((4, 2), (0, 1))) == [(3, 7)]


@settings(max_examples=80, deadline=None)
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    stride=st.lists(st.integers(0, 9), min_size=3, max_size=3),
    bits=st.sampled_from([8, 16, 32, 64]),
    align=st.sampled_from([1, 4, 8, 16, 32]),
    most=st.sampled_from([32, 128, 256]),
)
def test_accesses_cover_places_once_and_are_aligned(
    shape: list[int], stride: list[int], bits: int, align: int, most: int
) -> None:
    layout = LayoutAttr(tuple(shape), tuple(stride[: len(shape)]))
    offsets = [o.static for o in element_offsets(layout)]
    align = max(align, bits // 8)
    seen: list[int] = []
    for a in accesses(layout, range(len(offsets)), bits, align, max(most, bits)):
        n = len(a.elements)
        assert n & (n - 1) == 0
        assert [offsets[i] for i in a.elements] == list(range(a.static, a.static + n))
        assert (a.static * bits // 8) % a.align == 0 and align % a.align == 0
        assert a.align * 8 <= max(most, bits)
        seen += range(a.static, a.static + n)
    assert sorted(seen) == sorted(set(offsets))
