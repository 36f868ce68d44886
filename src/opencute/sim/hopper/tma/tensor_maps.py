# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor maps in the simulator: 128 bytes of memory, as on hardware, in a format of our own.

So maps can be copied, changed by ``tensormap.replace`` and read through any pointer; bytes that are
no map are found out when a copy reads them.

>>> encode(TensorMap(Tile("f16", (64, 8)), 4096, (64, 64), (128,))).size
128
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from opencute.arch.tma import (
    DESCRIPTOR_ALIGN,
    DESCRIPTOR_BYTES,
    INTERLEAVES,
    L2_PROMOTIONS,
    MAX_RANK,
    OOB_FILLS,
    TMA_SWIZZLES,
    TMA_TYPES,
    Tile,
    map_faults,
)
from opencute.base.errors import ArgumentError, SimulationError
from opencute.ir.core import Op
from opencute.ir.types import I8
from opencute.sim.access import Access
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.values import Array

__all__ = ["MapReader", "TensorMap", "encode", "replaced"]

_MAGIC = 0x504D434F
_FORMAT = struct.Struct("<Q8BIHH5Q4Q5H5Bx3h3h4x")
assert _FORMAT.size == DESCRIPTOR_BYTES
_WORDS: tuple[tuple[str, ...], ...] = tuple(
    tuple(table) for table in (TMA_TYPES, INTERLEAVES, TMA_SWIZZLES, L2_PROMOTIONS, OOB_FILLS)
)


@dataclass(frozen=True)
class TensorMap:
    """A tensor map.

    Args:
        tile: what one instruction moves.
        address: of the tensor.
        dims: extents, innermost first.
        strides: in bytes, of all dimensions but the innermost.
    """

    tile: Tile
    address: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]


def _padded(values: tuple[int, ...], count: int) -> list[int]:
    return [*values, *[0] * (count - len(values))]


def encode(map_: TensorMap) -> Array:
    """A map as bytes."""
    tile = map_.tile
    words = (tile.element, tile.interleave, tile.swizzle, tile.l2, tile.oob)
    codes = [table.index(word) for table, word in zip(_WORDS, words, strict=True)]
    data = _FORMAT.pack(
        map_.address & (1 << 64) - 1, tile.rank, *codes, int(tile.im2col), 0, _MAGIC,
        tile.channels, tile.pixels, *_padded(map_.dims, MAX_RANK),
        *_padded(map_.strides, MAX_RANK - 1), *_padded(tile.box, MAX_RANK),
        *_padded(tile.strides, MAX_RANK), *_padded(tile.lower, 3), *_padded(tile.upper, 3),
    )  # fmt: skip
    return np.frombuffer(data, np.uint8)


@lru_cache(maxsize=1024)
def _decode(data: bytes) -> TensorMap | str:
    """The map that some bytes are, or what is wrong with them."""
    fields = _FORMAT.unpack(data)
    address, rank, *codes = fields[:7]
    im2col, _, magic, channels, pixels = fields[7:12]
    if magic != _MAGIC or not 1 <= rank <= MAX_RANK:
        return "these 128 bytes are no tensor map"
    dims, strides, box, steps = fields[12:17], fields[17:21], fields[21:26], fields[26:31]
    lower, upper = fields[31:34], fields[34:37]
    element, interleave, swizzle, l2, oob = (
        table[code] for table, code in zip(_WORDS, codes, strict=True)
    )
    n = rank - 2 if im2col else 0
    try:
        tile = Tile(
            element, () if im2col else box[:rank], steps[:rank], swizzle, interleave, l2, oob,
            lower[:n], upper[:n], channels, pixels,
        )  # fmt: skip
    except ArgumentError as e:
        return e.message
    map_ = TensorMap(tile, address, dims[:rank], strides[: rank - 1])
    fault = next(map_faults(tile, address, map_.dims, map_.strides), None)
    return map_ if fault is None else fault[1]


class MapReader:
    """Reads the maps that the pointers of an operation are to.

    Args:
        op: the operation, for messages.
    """

    def __init__(self, op: Op) -> None:
        self.op = op
        n = DESCRIPTOR_BYTES
        self.access = Access(
            op, I8, vector=True, run=n, align=DESCRIPTOR_ALIGN, widest=n, unit=True, counted="maps"
        )

    def bytes(self, lanes: Lanes, ptr: SimPointer) -> Array:
        """The bytes of each lane's map, (P, Q, 128), P and Q may be 1."""
        taint = self.access.garbage(lanes, ptr)
        if taint is not None:
            raise SimulationError(
                f"{self.op.name}: the tensor map is not initialised, {lanes.name((0, 0))}",
                code="OC3060", loc=self.op.loc,
                hint="copy a map there before: cpasync.copy_tensormap",
            )  # fmt: skip
        return self.access.read(lanes, ptr).view(np.uint8)

    def by_map(
        self, lanes: Lanes, ptr: SimPointer
    ) -> Iterator[tuple[TensorMap, Lanes, Callable[[Any], Any]]]:
        """The maps, with the lanes that have them and what picks their values.

        Raises:
            SimulationError: the bytes are no map.
        """
        data = self.bytes(lanes, ptr)
        flat = data.reshape(-1, DESCRIPTOR_BYTES)
        if flat.shape[0] == 1 or (flat == flat[0]).all():
            yield self._map(lanes, flat[0]), lanes, lambda v: v
            return
        kinds, which = np.unique(flat, axis=0, return_inverse=True)
        which = lanes.full(which.reshape(data.shape[:2]))
        for i, kind in enumerate(kinds):
            part, pick, _ = lanes.sub(which == i)
            yield self._map(part, kind), part, pick

    def _map(self, lanes: Lanes, data: Array) -> TensorMap:
        found = _decode(data.tobytes())
        if isinstance(found, str):
            raise SimulationError(
                f"{self.op.name}: {found}, {lanes.name((0, 0))}", code="OC3061", loc=self.op.loc,
                hint="a map is made by host code and passed to the kernel, or copied from one",
            )  # fmt: skip
        return found


def replaced(data: Array, field: str, ord: int, value: int) -> Array:
    """The bytes of a map with one field changed, as ``tensormap.replace`` does.

    Args:
        data: 128 bytes.
        field: which.
        ord: the dimension, where fields are listed by dimension.
        value: the new one.
    """
    fields = list(_FORMAT.unpack(data.tobytes()))
    at = {"global_address": 0, "rank": 1, "global_dim": 12 + ord, "global_stride": 17 + ord,
          "box_dim": 21 + ord, "element_stride": 26 + ord}[field]  # fmt: skip
    if field == "rank":
        value += 1  # the instruction counts from 0
    mask = {"global_address": 64, "global_stride": 64, "rank": 8, "element_stride": 8}
    fields[at] = value & (1 << mask.get(field, 32 if field == "global_dim" else 16)) - 1
    return np.frombuffer(_FORMAT.pack(*fields), np.uint8)
