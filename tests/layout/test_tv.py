# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of thread-value layouts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import Layout, make_layout_tv, make_ordered_layout, product, size
from strategies import LAWS, points

pytestmark = pytest.mark.t0

extents = st.tuples(st.sampled_from([1, 2, 3, 4]), st.sampled_from([1, 2, 4]))
orders = st.sampled_from([(0, 1), (1, 0)])


@LAWS
@given(extents, orders, extents, orders)
def test_make_layout_tv(threads, thread_order, values, value_order):
    thr = make_ordered_layout(threads, thread_order)
    val = make_ordered_layout(values, value_order)
    tiler, tv = make_layout_tv(thr, val)
    assert tiler == tuple(t * v for t, v in zip(threads, values, strict=True))
    assert size(tv[0]) == size(thr) and size(tv[1]) == size(val)
    assert sorted(points(tv)) == list(range(product(tiler)))
    tile = Layout(tiler)
    for m in range(threads[0]):
        for n in range(threads[1]):
            for i in range(values[0]):
                for j in range(values[1]):
                    here = tile(m * values[0] + i, n * values[1] + j)
                    assert tv(thr(m, n), val(i, j)) == here


def test_make_layout_tv_examples():
    tiler, tv = make_layout_tv(Layout((4, 32), (32, 1)), Layout((4, 4), (4, 1)))
    assert (tiler, str(tv)) == ((16, 128), "((32,4),(4,4)):((64,4),(16,1))")
    tiler, tv = make_layout_tv(Layout((4, 64), (64, 1)), Layout((16, 8), (8, 1)))
    assert (tiler, str(tv)) == ((64, 512), "((64,4),(8,16)):((512,16),(64,1))")


def test_make_layout_tv_refuses_gaps():
    for thr in (Layout((4, 32), (64, 1)), Layout((4, 32), (0, 1)), Layout((4, 32), (16, 1))):
        with pytest.raises(LayoutError, match="leave gaps or repeat"):
            make_layout_tv(thr, Layout((4, 4), (4, 1)))
