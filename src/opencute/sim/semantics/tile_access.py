# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How an operation accesses a tile: the layout's runs, and the access of one run."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opencute.base.errors import MisalignedError
from opencute.dialects.cute import LayoutAttr, PtrType, storage_bits
from opencute.ir.core import Op, Value
from opencute.sim.access import Access
from opencute.sim.tiles import Tile

__all__ = ["TileAccess", "tile_pointer"]


def tile_pointer(value: Value) -> PtrType:
    """The type of a pointer."""
    assert isinstance(value.type, PtrType)
    return value.type


class TileAccess:
    """A tile of memory: its layout, and how its runs are accessed.

    Args:
        op: the operation.
        pointer: where the tile begins.
        key: the attribute that holds its layout.
        bits: of the widest access; 0: as wide as there are.
        run: elements of one access at most; 0: no limit.
        exact: whether an instruction accesses `bits` at a time, whatever the pointer promises;
            other code is as wide as the pointer's type and the layout let it be.
    """

    def __init__(
        self, op: Op, pointer: Value, key: str, *, bits: int = 0, run: int = 0, exact: bool = False
    ) -> None:
        layout = op.attributes[key]
        assert isinstance(layout, LayoutAttr)
        type = tile_pointer(pointer)
        self.tile = Tile(op, layout)
        self.bits = storage_bits(type.element)
        if run and self.tile.run % run:
            run = 1
        self.run = run or self.tile.run
        widest = bits // 8 if bits else 16
        # The pointer's promise holds where the tile begins; the runs are as far apart as they are.
        promised = math.gcd(type.align, self.tile.step * self.bits // 8) or 1
        align = widest if exact else promised
        self.access = Access(
            op, type.element, vector=True, run=self.run, align=align, widest=widest,
            swizzle=type.swizzle,
        )  # fmt: skip
        self.access.joined = 0 if exact else min(type.align, widest)
        self.single = self.tile.length == self.run
        inner = np.arange(0, self.tile.run, self.run, dtype=np.int64)
        self._inner = inner
        self._fixed: Any = None
        if self.tile.fixed is not None and not self.single:
            self._fixed = self._spread(self.tile.fixed).copy()
            self._fixed.flags.writeable = False  # accesses remember what they know of it

    def _spread(self, starts: Any) -> Any:
        """Byte offsets of the runs of an access, from the starts of the tile's runs."""
        if self._inner.size > 1:
            starts = (starts[..., None] + self._inner).reshape(*starts.shape[:-1], -1)
        bits = starts * self.bits
        if self.bits % 8 and (bits & 7).any():
            raise MisalignedError(
                f"{self.access.op.name}: runs of the tile begin in the middle of a byte",
                code="OC3202",
                loc=self.access.op.loc,
                hint="let tiles of sub-byte elements begin and end at whole bytes",
            )
        return bits >> 3

    def starts(self, dyns: Any) -> Any:
        """Byte offsets of the runs; None for a single run at the pointer."""
        if self.single:
            return None
        if self._fixed is not None:
            return self._fixed
        return self._spread(self.tile.starts(dyns))
