# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Plans of copies: boxes, modes and coordinates, for the layouts that C++ CuTe documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute import layout as la
from opencute.base.errors import LayoutError
from opencute.lang.hopper.tma_plan import (
    box_of,
    coordinate_strides,
    make_plan,
    map_extents,
    paths,
)
from opencute.layout import Layout as L

pytestmark = pytest.mark.t0


def plan_of(gmem: Any, tile: Any, tiler: Any, bits: int = 16, map_bits: int = 16) -> Any:
    to_modes = la.composition(la.make_identity_layout(gmem.shape), tiler)
    return make_plan(gmem, tile, to_modes, bits, map_bits)


ROWS, COLUMNS = L((1024, 256), (256, 1)), L((1024, 256), (1, 1024))
K_ATOM, MN_ATOM = L((8, 64), (64, 1)), L((64, 8), (1, 64))


@pytest.mark.parametrize(
    ("gmem", "tile", "tiler", "shape", "modes", "strides"),
    [
        (ROWS, L((64, 32), (32, 1)), (64, 32), (32, 64), "1 0", "(1@1,1@0)"),
        (ROWS, la.tile_to_shape(K_ATOM, (128, 128), (0, 1)), (128, 128), (64, 128), "1 0",
         "(1@1,1@0)"),
        (COLUMNS, la.tile_to_shape(MN_ATOM, (128, 64)), (128, 64), (64, 8), "0 1", "(1@0,1@1)"),
        (COLUMNS, la.tile_to_shape(MN_ATOM, (128, 64), (1, 0)), (128, 64), (64, 64), "0 1",
         "(1@0,1@1)"),
        (L((1024, 32, 512), (64, 1, 65536)), L((16, 8, 2), (16, 1, 8)), (16, 8, 2), (8, 2, 16),
         "1 2 0", "(1@2,1@0,1@1)"),
        (L((512, 256, 3), (256, 1, 131072)), L((64, 64), (64, 1)), (64, 64), (64, 64, 1), "1 0 2",
         "(1@1,1@0,1@2)"),
        (L(((32, 40), ((8, 8), 656)), ((1, 32), ((1280, 10240), 81920))), L((128, (32, 2))),
         (128, (32, 2)), (128, 32, 2), "0.0+0.1 1.0.0+1.0.1 1.1",
         "((1@0,32@0),((1@1,8@1),1@2))"),
        (L((512, 1, 64), (64, 7, 1)), L((64, 64), (64, 1)), (64, 1, 64), (64, 64), "2 0",
         "(1@1,0,1@0)"),
        (L((512, 4, 64), (64, 0, 1)), L((64, 64), (64, 1)), (64, 1, 64), (64, 64), "2 0",
         "(1@1,0,1@0)"),
    ],
)  # fmt: skip
def test_documented_layouts(
    gmem: Any, tile: Any, tiler: Any, shape: Any, modes: str, strides: str
) -> None:
    plan = plan_of(gmem, tile, tiler)
    assert plan.shape == shape
    words = ["+".join(".".join(map(str, p)) for p in group) for group in plan.modes]
    assert " ".join(words) == modes
    assert la.to_str(coordinate_strides(gmem, plan)) == strides


def test_modes_beyond_five_share_a_dimension() -> None:
    gmem = la.make_layout((64, 64, 3, 4, 5, 6, 7))
    plan = plan_of(gmem, L((64, 32)), (64, 32))
    assert plan.rank == 5 and len(plan.modes[4]) == 3
    extents, strides = map_extents(gmem, plan)
    assert extents[4] == 5 * 6 * 7 and strides[4] == gmem.stride[4]
    assert la.to_str(coordinate_strides(gmem, plan)).endswith("1@4,5@4,30@4)")


def test_elements_narrower_than_the_tensor() -> None:
    plan = plan_of(ROWS, L((64, 32), (32, 1)), (64, 32), 16, 8)
    assert (plan.shape, plan.scale, plan.values) == ((64, 64), 2, 2048)
    assert map_extents(ROWS, plan) == ([512, 1024], [1, 512])
    assert la.to_str(coordinate_strides(ROWS, plan)) == "(1@1,2@0)"


def test_blocks_share_the_outermost_extents() -> None:
    plan = plan_of(ROWS, L((64, 32), (32, 1)), (64, 32))
    assert box_of(plan, 4) == (32, 16)
    deep = plan_of(L((512, 256, 3), (256, 1, 131072)), L((64, 64), (64, 1)), (64, 64))
    assert box_of(deep, 2) == (64, 32, 1)
    with pytest.raises(LayoutError) as e:
        box_of(plan, 3)
    assert e.value.code == "OC1323"


@pytest.mark.parametrize(
    ("gmem", "tile", "tiler", "bits", "code"),
    [
        (ROWS, L((64, 32)), (64, 32), 16, "OC1322"),
        (ROWS, L((64, 32), (32, 1)), (64, 32), 32, "OC1321"),
        (L((64, 64), (64, 2)), L((64, 32), (32, 1)), (64, 32), 16, "OC1322"),
    ],
)
def test_refusals(gmem: Any, tile: Any, tiler: Any, bits: int, code: str) -> None:
    with pytest.raises(LayoutError) as e:
        plan_of(gmem, tile, tiler, 16, bits)
    assert e.value.code == code


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    extents=st.lists(st.sampled_from([2, 3, 4, 8]), min_size=1, max_size=4),
)
def test_boxes_are_what_lies_in_the_tile(data: Any, extents: list[int]) -> None:
    """Law: element i of the tile in shared memory is where the box and the coordinates say."""
    rank = len(extents)
    order = data.draw(st.permutations(range(rank)))
    tile_shape = tuple(extents)
    gmem_shape = tuple(n * data.draw(st.integers(1, 3)) for n in extents)
    gmem = la.make_ordered_layout(gmem_shape, order=tuple(order))
    tile = la.make_ordered_layout(tile_shape, order=tuple(order))
    plan = plan_of(gmem, tile, tile_shape)
    dims, steps = map_extents(gmem, plan)
    strides = coordinate_strides(gmem, plan)
    coords = L(gmem.shape, strides)
    inner = la.composition(coords, tile_shape)
    places = np.arange(plan.values)
    for i in range(0, la.size(tile), plan.values):
        at = la.right_inverse(tile)(i)
        start = la.flatten_to_tuple(la.coord_add((0,) * plan.rank, inner(at)))
        address = np.zeros_like(places)
        left = places
        for n, d, c in zip(plan.shape, steps, start, strict=True):
            address = address + (c + left % n) * d
            left = left // n
        want = [la.composition(gmem, tile_shape)(la.right_inverse(tile)(i + j)) for j in places]
        assert address.tolist() == want
    assert all(n > 0 for n in dims) and len(paths(gmem.shape)) == rank
