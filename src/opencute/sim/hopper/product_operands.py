# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operands of warpgroups' products in shared memory, as their descriptors say where they lie.

In: the upper half of a descriptor and the layout of tiles, once for an operation; for each run, the
lower halves that some warps give. Out: the matrices that they see, which elements of them nothing
wrote, and the places that they read.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from opencute.arch.descriptors import FIELDS, decode, places, swizzled
from opencute.arch.mma import ELEMENT_BITS
from opencute.base.errors import SimulationError
from opencute.dialects.cute import LayoutAttr
from opencute.dialects.tiled import extents
from opencute.ir.core import Op
from opencute.sim.hopper.product_reads import CORE
from opencute.sim.lanes import Lanes
from opencute.sim.numbers.words import WORDS, together
from opencute.sim.sync.shared import SHARED_BASE
from opencute.sim.tiles import Tile
from opencute.sim.values import Array

__all__ = ["WARP_ROWS", "Operand"]

WARP_ROWS = 16
"""Rows of the left operand that one warp reads, and of the results that it has."""
_REMEMBERED = 64  # sets of descriptors that an operand keeps the places of
_REMEMBERED_PARTS = 4096  # what single warps read of an operand
_WRITTEN = np.ones(8, np.bool_).view(np.uint64)[0]  # eight bytes


@lru_cache(maxsize=512)
def _pattern(
    extent: int, k: int, bits: int, mn_major: bool, leading: int, stride: int, swizzle: int
) -> Array:
    """Bytes from an operand's start to its elements, (extent, k)."""
    found = places(extent, k, bits, mn_major, leading, stride, swizzle)
    return np.array(found, np.int64).reshape(k, extent).T.copy()


_DTYPES = {
    "f16": "float16", "bf16": "bfloat16", "tf32": "float32", "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2", "s8": "int8", "u8": "int8",
}  # fmt: skip


def _dtype(type: str) -> np.dtype[Any]:
    import ml_dtypes

    name = _DTYPES[type]
    return np.dtype(getattr(ml_dtypes, name, None) or name)


@dataclass(eq=False)
class _Places:
    """Where some warps find an operand, in the shared memory of their block.

    Args:
        places: of its elements, not to be written to.
        first: the least of them.
        last: the greatest.
    """

    places: Array
    first: int
    last: int
    _words: _Words | None = None

    def words(self, size: int) -> _Words:
        """How to read elements of a size there."""
        if self._words is None:
            index = self.places // size
            along, across = (together(x, 16 // size) for x in (index, index.swapaxes(1, 2)))
            turned = across > along
            index, grain = index.swapaxes(1, 2) if turned else index, max(along, across)
            words = np.ascontiguousarray(index[..., ::grain] // grain)
            self._words = _Words(words, grain * size, turned)
        return self._words


@dataclass(eq=False)
class _Words:
    """Places of elements as those of words, which lie together along one of the two axes.

    Args:
        index: of the words, for each warp.
        size: bytes of each.
        turned: whether they lie along the first axis.
    """

    index: Array
    size: int
    turned: bool

    def take(self, memory: Any, dtype: np.dtype[Any], first: Array) -> Array:
        """The elements, for blocks whose memory begins at `first`."""
        index = self.index
        if first.any():
            index = index + (first // self.size)[:, None, None]
        items = memory.items(dtype if self.size == dtype.itemsize else WORDS[self.size])
        values = items.take(index).view(dtype)
        return values.swapaxes(1, 2) if self.turned else values

    def written(self, bytes_: Array, first: Array) -> bool:
        """Whether all bytes are written, as far as can be told quickly."""
        if self.size < 8 or bytes_.size % 8:
            return False
        each = self.size // 8
        index = self.index * each + (first // 8)[:, None, None]
        words = bytes_.view(np.uint64)
        return all((words.take(index + i) == _WRITTEN).all() for i in range(each))


class Operand:
    """An operand in shared memory.

    Args:
        op: the product, for messages.
        which: ``A`` or ``B``.
        extent: M or N of the instruction.
        k: K of the instruction.
        type: its elements, as PTX names them.
        layout: of the tiles, in units of 16 bytes.
        high: the upper half of the descriptor.
        mn_major: what the instruction is told.
    """

    def __init__(
        self, op: Op, which: str, extent: int, k: int, type: str, layout: LayoutAttr, high: int,
        mn_major: bool,
    ) -> None:  # fmt: skip
        self.op, self.which, self.type = op, which, type
        self.extent, self.k, self.mn_major = extent, k, mn_major
        self.high = np.uint32(high).view(np.int32).item() << 32  # as the signed number it is
        self.bits = ELEMENT_BITS[type]
        self.dtype = _dtype(type)
        tile = Tile(op, layout)
        assert tile.fixed is not None
        _, self.uses, self.steps = extents(layout)
        units = (tile.fixed[:, None] + np.arange(tile.run)).reshape(-1)
        self.units = units.reshape(self.steps, self.uses).T  # (uses, steps)
        self.known: dict[Any, _Places] = {}
        self.parts: dict[Any, Array] = {}

    def read(
        self, lanes: Lanes, blocks: Array, low: Array, rows: Array | None
    ) -> tuple[Array, Array | None]:
        """The matrices that some warps see, and which elements of them nothing wrote.

        Args:
            lanes: whose memory it is.
            blocks: for each warp, its block among those that run together.
            low: for each warp, the lower halves of the descriptors of some products.
            rows: for each warp, the first of the 16 rows that it looks at; None: it sees all.
        """
        arena = lanes.run.group.arena
        known = self._inside(lanes, low, rows)
        first = blocks * arena.stride
        values = known.words(self.bits // 8).take(arena.whole, self.dtype, first)
        if arena.whole.clean(False):
            return values, None
        if known.words(self.bits // 8).written(arena.written, first):
            arena.whole.clean(True)
            return values, None
        word = np.dtype(f"u{self.bits // 8}")
        at = (known.places + first[:, None, None]) // (self.bits // 8)
        full = np.ones(word.itemsize, np.bool_).view(word)[0]
        written = arena.written.view(word).take(at) == full
        if written.all():
            arena.whole.clean(True)
            return values, None
        return values, ~written

    def places(self, lanes: Lanes, blocks: Array, low: Array, rows: Array | None) -> Array:
        """Places of the elements in the arena; see `read`.

        Raises:
            SimulationError: they are not in shared memory.
        """
        known = self._inside(lanes, low, rows)
        arena = lanes.run.group.arena
        return (
            known.places + (blocks * arena.stride)[:, None, None] if blocks.any() else known.places
        )

    def _inside(self, lanes: Lanes, low: Array, rows: Array | None) -> _Places:
        """What is known of places, if they are in shared memory."""
        known = self._known(low, rows)
        arena = lanes.run.group.arena
        if known.first < 0 or known.last + self.bits // 8 > arena.size:
            byte = known.places
            bad = (byte < 0) | (byte + self.bits // 8 > arena.size)
            self._outside(lanes, low, byte + SHARED_BASE, bad)
        return known

    def cores(
        self, lanes: Lanes, blocks: Array, low: Array, rows: Array | None
    ) -> list[Array]:  # fmt: skip
        """For each warp, the rows of core matrices that it reads: places in the arena, sorted; one
        array for the same places.

        Raises:
            SimulationError: they are not in shared memory.
        """
        arena = lanes.run.group.arena
        lows = low[:, 0].tolist()
        firsts = [None] * len(lows) if rows is None else rows.tolist()
        out: list[Array] = []
        for w, name in enumerate(zip(lows, firsts, blocks.tolist(), strict=True)):
            key = (*name, arena.size, arena.stride)
            part = self.parts.get(key)
            if part is None:
                if len(self.parts) >= _REMEMBERED_PARTS:
                    self.parts.clear()
                mine = low[w : w + 1], None if rows is None else rows[w : w + 1]
                places = self.places(lanes, blocks[w : w + 1], *mine)
                part = self.parts[key] = np.unique(places // CORE) * CORE
            out.append(part)
        return out

    def _known(self, low: Array, rows: Array | None) -> _Places:
        """Places for these descriptors, which come again in each turn of a loop."""
        key = (low.shape, low.tobytes(), None if rows is None else rows.tobytes())
        known = self.known.get(key)
        if known is None:
            if len(self.known) >= _REMEMBERED:
                self.known.clear()
            byte = self._addresses(low, rows) - SHARED_BASE
            known = self.known[key] = _Places(byte, int(byte.min()), int(byte.max()))
        return known

    def _addresses(self, low: Array, rows: Array | None) -> Array:
        """Shared addresses, (warps, uses * extent, products * steps * k)."""
        moved = low[:, None, :, None] + self.units[:, None]
        bits = (moved.reshape(*moved.shape[:2], -1) & 0xFFFFFFFF) | self.high
        start = FIELDS["start"].get(bits)[..., None, None]
        extent = self.extent if rows is None else WARP_ROWS
        rest = bits >> FIELDS["leading"].low
        out: Any = None
        for value in np.unique(rest).tolist():
            field = decode(value << FIELDS["leading"].low)
            pattern = _pattern(
                self.extent, self.k, self.bits, self.mn_major, field["leading"], field["stride"],
                field["swizzle"],
            )  # fmt: skip
            if rows is not None:
                pattern = pattern.reshape(-1, WARP_ROWS, self.k)[rows][:, None, None]
            address = swizzled(start + pattern, field["swizzle"], field["base_offset"])
            mine = (rest == value)[..., None, None]
            out = address if out is None else np.where(mine, address, out)
        assert out is not None
        return out.transpose(0, 1, 3, 2, 4).reshape(low.shape[0], self.uses * extent, -1)

    def _outside(self, lanes: Lanes, low: Array, address: Array, bad: Array) -> None:
        w, _, column = (int(i) for i in np.argwhere(bad)[0])
        first = int(low[w, column // (self.steps * self.k)])
        field = decode(first & 0xFFFFFFFF | self.high)
        found = int(address[bad][0]) - SHARED_BASE
        raise SimulationError(
            f"operand {self.which} of a product leaves shared memory: its descriptor leads to "
            f"byte {found}", code="OC3042", loc=self.op.loc,
            expected=f"0 to {lanes.run.group.arena.size - 1}, for the launch",
            found=", ".join(f"{name} {value}" for name, value in field.items()),
            hint="the tensor that the descriptor was made from may be larger than its allocation",
        )  # fmt: skip
