# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Buffers and addresses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencute.base.errors import ArgumentError
from opencute.sim import Buffer
from opencute.sim.access import mark
from opencute.sim.memory import AddressTable, TensorModes

pytestmark = pytest.mark.t0


def test_a_buffer_is_the_memory_of_the_array() -> None:
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    b = Buffer.from_numpy(x, "x")
    assert (b.base, b.size, b.name) == (x.ctypes.data, 48, "x")
    b.items(np.int32)[5] = 99
    assert x[1, 1] == 99


@pytest.mark.parametrize(
    "view", [np.s_[::2], np.s_[1:3], np.s_[::-1], np.s_[:, ::-2], np.s_[2:2], np.s_[:, 3]]
)
def test_strided_views_reach_from_their_lowest_to_their_highest_byte(view: object) -> None:
    x = np.arange(24, dtype=np.int16).reshape(4, 6)
    v = x[view]  # type: ignore[index]
    b = Buffer.from_numpy(v)
    indices = np.arange(24).reshape(4, 6)[view].ravel()  # type: ignore[index]
    if indices.size == 0:
        assert b.size == 0
        return
    assert b.base == x.ctypes.data + 2 * int(indices.min())
    assert b.size == 2 * int(indices.max() - indices.min() + 1)


def test_read_only_comes_from_the_array() -> None:
    x = np.zeros(4)
    assert not Buffer.from_numpy(x).read_only
    x.flags.writeable = False
    assert Buffer.from_numpy(x).read_only


def test_raw_memory_keeps_its_owner() -> None:
    x = np.arange(4, dtype=np.uint8)
    b = Buffer.from_address(x.ctypes.data, 4, "raw", owner=x)
    assert b.owner is x and b.raw.tolist() == [0, 1, 2, 3]
    with pytest.raises(ArgumentError, match="OC2301"):
        Buffer.from_address(0, 4)


@given(st.sets(st.integers(0, 40).map(lambda k: k * 100), min_size=1), st.integers(0, 4200))
def test_the_table_finds_the_array_that_holds_an_address(bases: set[int], address: int) -> None:
    table = AddressTable()
    raw = np.zeros(60, np.uint8)
    for base in bases:
        table.add(Buffer(raw, base, str(base)))
    found = table.find(address)
    want = next((b for b in bases if b <= address < b + 60), None)
    assert (found and found.base) == want


def test_a_view_inside_of_another_array() -> None:
    table = AddressTable()
    outer, inner = (
        Buffer(np.zeros(100, np.uint8), 1000, "o"),
        Buffer(np.zeros(8, np.uint8), 1020, "i"),
    )
    table.add(inner)
    table.add(outer)
    assert table.find(1024) is inner
    assert table.find(1090) is outer
    assert table.find(1100) is None


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 24, 32, 128])
@pytest.mark.parametrize("grain", [1, 2, 8, 16])
@pytest.mark.parametrize("clean", [False, True])
def test_runs_are_marked_in_pieces_as_large_as_they_lie(width: int, grain: int, clean: bool):
    rng = np.random.default_rng(width)
    places = rng.integers(0, (1000 - width) // grain + 1, (3, 5)) * grain
    written = np.full(1000, not clean)
    want = written.copy()
    want[places[..., None] + np.arange(width)] = clean
    mark(written, places, width, clean)
    np.testing.assert_array_equal(written, want)
    mark(written, places[:0], width, not clean)
    np.testing.assert_array_equal(written, want)


@pytest.mark.parametrize(
    ("shape", "strides"), [((5, 3), (3, 1)), ((5, 3), (1, 5)), ((4, 2, 3), (3, 12, 1)),
                           ((1, 7), (9, 1)), ((3, 4), (8, 1)), ((6,), (2,)), ((2, 3), (0, 1))]
)  # fmt: skip
def test_coordinates_of_bytes(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    modes = TensorModes(shape, strides, 32, 8)
    for at in np.ndindex(*shape):
        offset = 8 + 4 * sum(i * s for i, s in zip(at, strides, strict=True))
        want = tuple(0 if s == 0 else i for i, s in zip(at, strides, strict=True))
        assert modes.coordinate(offset + 3) == want
        assert modes.past(want) == str(want)


def test_coordinates_outside_go_on_along_the_largest_stride() -> None:
    modes = TensorModes((40, 8), (8, 1), 32)
    assert modes.coordinate(4 * 323) == (40, 3)
    assert modes.past((40, 3)).startswith("(40, 3): mode 0 has no 40, or an index past the end of")
    assert modes.coordinate(-4) == (-1, 7) and modes.past((-1, 7)) == "(-1, 7): mode 0 has no -1"
    columns = TensorModes((40, 8), (1, 40), 16)
    assert columns.coordinate(2 * 321) == (1, 8)
    assert columns.bounds() == "a coordinate in (40, 8): 0 <= i < 40, 0 <= j < 8"


def test_bytes_between_rows_have_no_coordinate() -> None:
    assert TensorModes((3, 4), (8, 1), 32).coordinate(4 * 5) is None
    assert TensorModes((3,), (2,), 32).coordinate(4) is None
    assert TensorModes((2, 4), (4, 1), 4).coordinate(3) == (1, 2)  # two elements in a byte
