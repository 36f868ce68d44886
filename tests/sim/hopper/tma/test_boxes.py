# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where tiles are in memory, against a walk over their elements one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.arch.tma import Tile
from opencute.sim.hopper.tma.boxes import runs_of
from opencute.sim.hopper.tma.tensor_maps import TensorMap, encode, replaced

pytestmark = pytest.mark.t0
QUICK = settings(max_examples=60, deadline=None)


def strides_of(dims: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Bytes, rows padded to 16."""
    out: list[int] = []
    step = -(-dims[0] * size // 16) * 16
    for n in dims[1:]:
        out.append(step)
        step *= n
    return tuple(out)


def elements(runs: Any, size: int) -> list[int | None]:
    """The offset of each element in the order of arrival; None outside of the tensor."""
    starts = runs.starts[0, 0]
    inside = np.ones(starts.size, bool) if runs.inside is None else runs.inside[0, 0]
    out: list[int | None] = []
    for at, ok in zip(starts.tolist(), inside.tolist(), strict=True):
        out += [at + i if ok else None for i in range(0, runs.width, size)]
    return out


@QUICK
@given(data=st.data(), rank=st.integers(1, 5), size=st.sampled_from([1, 2, 4, 8]))
def test_boxes(data: Any, rank: int, size: int) -> None:
    dims = tuple(data.draw(st.integers(1, 9)) for _ in range(rank))
    inner = 16 // size * data.draw(st.integers(1, 2))
    box = (inner, *(data.draw(st.integers(1, 4)) for _ in range(rank - 1)))
    steps = tuple(data.draw(st.integers(1, 2)) for _ in range(rank))
    element = {1: "u8", 2: "f16", 4: "f32", 8: "f64"}[size]
    tile = Tile(element, box, steps)
    map_ = TensorMap(tile, 4096, dims, strides_of(dims, size))
    coords = [data.draw(st.integers(-3, n)) for n in dims]
    want: list[int | None] = []
    for index in itertools.product(*(range(n) for n in tile.shape[::-1])):
        at = [c + i * s for c, i, s in zip(coords, index[::-1], steps, strict=True)]
        ok = all(0 <= a < n for a, n in zip(at, dims, strict=True))
        offset = at[0] * size + sum(a * d for a, d in zip(at[1:], map_.strides, strict=True))
        want.append(offset if ok else None)
    assert elements(runs_of(map_, coords), size) == want


@QUICK
@given(data=st.data(), space=st.integers(1, 3))
def test_columns_of_pixels(data: Any, space: int) -> None:
    """A column walks through the bounding box of each image, the first dimension fastest."""
    dims = (16, *(data.draw(st.integers(2, 5)) for _ in range(space)), 3)
    lower = tuple(data.draw(st.integers(-1, 0)) for _ in range(space))
    upper = tuple(data.draw(st.integers(-1, 1)) for _ in range(space))
    pixels = data.draw(st.integers(1, 12))
    tile = Tile("f16", (), lower=lower, upper=upper, channels=8, pixels=pixels)
    map_ = TensorMap(tile, 4096, dims, strides_of(dims, 2))
    ends = [n - 1 + u for n, u in zip(dims[1:], upper, strict=False)]
    start = [data.draw(st.integers(lo, max(lo, e))) for lo, e in zip(lower, ends, strict=True)]
    image, channel = data.draw(st.integers(0, 2)), data.draw(st.sampled_from([0, 8]))
    offsets = [data.draw(st.integers(0, 2)) for _ in range(space)]
    at, n = list(start), image
    want: list[int | None] = []
    for _ in range(pixels):
        place = [a + o for a, o in zip(at, offsets, strict=True)]
        ok = all(0 <= p < d for p, d in zip(place, dims[1:], strict=False)) and n < dims[-1]
        base = sum(p * d for p, d in zip((*place, n), map_.strides, strict=True))
        want += [base + (channel + c) * 2 if ok else None for c in range(8)]
        for i in range(space):
            at[i] += 1
            if at[i] <= ends[i]:
                break
            at[i] = lower[i]
        else:
            n += 1
    if any(e < lo for lo, e in zip(lower, ends, strict=True)):
        return  # an empty box has no order
    coords = [channel, *start, image]
    assert elements(runs_of(map_, coords, offsets), 2) == want


def test_fields_are_changed_one_by_one() -> None:
    map_ = TensorMap(Tile("f16", (64, 8)), 4096, (64, 32), (128,))
    other = TensorMap(Tile("f16", (32, 4), (1, 2)), 8192, (40, 7), (256,))
    data = encode(map_)
    for field, ord, value in (
        ("global_address", 0, 8192), ("global_dim", 0, 40), ("global_dim", 1, 7),
        ("global_stride", 0, 256), ("box_dim", 0, 32), ("box_dim", 1, 4),
        ("element_stride", 1, 2), ("rank", 0, 1),
    ):  # fmt: skip
        data = replaced(data, field, ord, value)
    np.testing.assert_array_equal(data, encode(other))
