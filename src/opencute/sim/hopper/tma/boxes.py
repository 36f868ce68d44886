# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where the elements of a tile are in global memory, and which of them are inside of the tensor.

In: a map and the coordinates of each lane. Out: byte offsets from the tensor's address, and a mask,
for runs of equal size in the order in which they arrive in shared memory::

    runs = runs_of(map_, [x, y])       # x, y: arrays (P, Q)
    runs.starts, runs.inside, runs.width
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opencute.sim.hopper.tma.tensor_maps import TensorMap
from opencute.sim.values import Array

__all__ = ["Runs", "runs_of"]

_WIDEST = 16


@dataclass(frozen=True)
class Runs:
    """Runs of bytes of a tile.

    Args:
        width: bytes of each.
        starts: offsets from the tensor's address, (P, Q, runs).
        inside: whether a run is inside of the tensor, (P, Q, runs), None: all are.
    """

    width: int
    starts: Array
    inside: Array | None


def _grain(map_: TensorMap, inner: Array) -> int:
    """Bytes that lie next to each other, all inside of the tensor or all outside."""
    tile, size = map_.tile, map_.tile.type.bits // 8
    if tile.strides[0] != 1:
        return size
    low = (tile.shape[0] | map_.dims[0]) * size | _WIDEST
    low |= int(np.bitwise_or.reduce(inner, axis=None)) * size
    return max(low & -low, size)


def _inner(map_: TensorMap, first: Array) -> tuple[int, Array, Array]:
    """Along the innermost dimension: bytes of a run, byte offsets, what is inside."""
    tile, size = map_.tile, map_.tile.type.bits // 8
    grain = _grain(map_, first)
    if tile.strides[0] != 1:
        places = first[..., None] + np.arange(tile.shape[0]) * tile.strides[0]
    else:
        places = first[..., None] + np.arange(0, tile.shape[0], grain // size)
    return grain, places * size, (places >= 0) & (places < map_.dims[0])


def runs_of(map_: TensorMap, coords: Sequence[Any], offsets: Sequence[Any] = ()) -> Runs:
    """The runs of the tile at some coordinates.

    Args:
        map_: the map.
        coords: of each lane, innermost first: ints, or arrays (P, Q).
        offsets: for im2col, what is added to the coordinates of pixels.
    """
    at = [np.atleast_2d(np.asarray(c, np.int64)) for c in coords]
    width, starts, inside = _inner(map_, at[0])
    if map_.tile.im2col:
        more = [np.atleast_2d(np.asarray(o, np.int64)) for o in offsets]
        outer, ok = _pixels(map_, at[1:], more)
    else:
        outer, ok = _outer(map_, at[1:])
    starts = starts[..., None, :] + outer[..., None]
    inside = inside[..., None, :] & ok[..., None]
    starts = starts.reshape(*starts.shape[:2], -1)
    inside = inside.reshape(*inside.shape[:2], -1)
    return Runs(width, starts, None if inside.all() else inside)


def _outer(map_: TensorMap, coords: Sequence[Array]) -> tuple[Array, Array]:
    """Offsets of the rows of a box, the second dimension fastest, and whether they are inside."""
    tile = map_.tile
    outer, ok = np.zeros((1, 1, 1), np.int64), np.ones((1, 1, 1), np.bool_)
    for i, first in enumerate(coords, 1):
        places = first[..., None] + np.arange(tile.shape[i]) * tile.strides[i]
        good = (places >= 0) & (places < map_.dims[i])
        outer = places[..., :, None] * map_.strides[i - 1] + outer[..., None, :]
        ok = good[..., :, None] & ok[..., None, :]
        outer = outer.reshape(*outer.shape[:2], -1)
        ok = ok.reshape(*ok.shape[:2], -1)
    return outer, ok


def _pixels(
    map_: TensorMap, coords: Sequence[Array], offsets: Sequence[Array]
) -> tuple[Array, Array]:
    """Offsets of the pixels of a column: they go through the box of each image, row by row."""
    tile, space = map_.tile, map_.tile.rank - 2
    steps = np.arange(tile.pixels, dtype=np.int64)
    outer, ok = np.zeros((1, 1, 1), np.int64), np.ones((1, 1, 1), np.bool_)
    carry = np.broadcast_to(steps, (1, 1, tile.pixels))
    for i in range(space):
        low, step = tile.lower[i], tile.strides[i + 1]
        extent = map_.dims[i + 1] + tile.upper[i] - low
        count = max(-(-extent // step), 1)
        index = (coords[i][..., None] - low) // step + carry
        carry = index // count
        places = low + (index % count) * step
        if offsets:
            places = places + offsets[i][..., None]
        outer = outer + places * map_.strides[i]
        ok = ok & (places >= 0) & (places < map_.dims[i + 1])
    image = coords[space][..., None] + carry
    outer = outer + image * map_.strides[space]
    return outer, ok & (image >= 0) & (image < map_.dims[space + 1])
