# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The order of a main loop on tensor cores: everything is done once, early enough, and apart."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.kernels.gemm.sm80_order import Event, Order

pytestmark = pytest.mark.t0


@st.composite
def orders(draw: st.DrawFn) -> Order:
    return Order(
        m=draw(st.integers(1, 6)), n=2 * draw(st.integers(1, 6)), steps=draw(st.integers(2, 4)),
        copies=draw(st.integers(1, 16)), ahead=draw(st.integers(0, 24)),
        gap=draw(st.integers(0, 6)), turning=draw(st.booleans()), together=draw(st.integers(1, 4)),
    )  # fmt: skip


def three_trips(order: Order) -> list[tuple[int, Event]]:
    """Events with the tile that they belong to, as the loop does them for three tiles."""
    found = [(0, event) for event in order.before()]
    for tile in range(3):
        found += [(tile + event.later, event._replace(later=False)) for event in order.trip()]
    return found


@settings(max_examples=25, deadline=None)
@given(orders())
def test_every_product_finds_what_it_needs(order: Order) -> None:
    held: set[tuple[int, Event]] = set()
    products = []
    arrived = 0
    for tile, event in three_trips(order):
        if event.what in ("A", "B"):
            assert tile <= arrived, "the tile has not arrived"
            held.add((tile, event))
        elif event.what == "wait":
            assert len([e for t, e in held if t == arrived]) == len(order.reads())
            arrived += 1
        elif event.what == "mma":
            start = event.n - event.n % order.pair
            assert (tile, Event("A", event.m, 0, event.step)) in held
            assert (tile, Event("B", 0, start, event.step)) in held
            products.append((tile, event))
    assert len(products) == len(set(products)) == 3 * order.m * order.n * order.steps


@settings(max_examples=25, deadline=None)
@given(orders())
def test_reads_are_early_and_apart(order: Order) -> None:
    per_step = order.m * order.n
    reads = order.reads()
    needs = order.products()
    for number, read in reads:
        first = min(
            i for i, p in enumerate(needs)
            if p.step == read.step
            and (p.m == read.m if read.what == "A" else p.n - p.n % order.pair == read.n)
        )  # fmt: skip
        assert first - number >= min(order.ahead, per_step // 2)
    gap = min(order.gap, per_step * order.steps // len(reads)) if order.ahead else 0
    assert all(b[0] - a[0] >= gap for a, b in pairwise(reads))
    assert reads[-1][0] + gap <= reads[0][0] + per_step * order.steps  # the next tile's first one


@settings(max_examples=25, deadline=None)
@given(orders())
def test_each_copy_is_started_once_and_before_the_wait(order: Order) -> None:
    trip = order.trip()
    assert [e.m for e in trip if e.what == "copy"] == list(range(order.copies))
    assert [e.what for e in trip].count("wait") == 1
    wait = [e.what for e in trip].index("wait")
    assert all(e.what != "copy" for e in trip[wait:])


def test_the_copies_of_the_default_tile_are_started_two_by_two() -> None:
    order = Order(m=6, n=8, steps=4, copies=14, ahead=6, gap=4, turning=False, together=2)
    letters = "".join(
        {"mma": ".", "copy": "c", "wait": "|", "acquire": ""}.get(e.what, "L") for e in order.trip()
    )
    assert "ccc" not in letters.replace("L", "") and letters.count("cc") == 7
    assert "LL" not in letters and letters.count("L") == 40
