# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which elements a tile stands for: offsets from a layout attribute and its dynamic integers."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.dialects.cute import CopyOp, Dyn, LayoutAttr
from opencute.ir.attributes import IntAttr
from opencute.ir.core import Op, Value
from opencute.sim.values import Array

__all__ = ["Tile", "covers", "int_attr"]


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, tuple):
        for item in tree:
            yield from _leaves(item)
    else:
        yield tree


def _offsets(shape: Sequence[int], stride: Sequence[Any]) -> Any:
    """Offsets of all elements, first mode fastest; strides may be arrays over lanes."""
    size = 1
    for extent in shape:
        size *= extent
    rest = np.arange(size, dtype=np.int64)
    out: Any = np.zeros(size, np.int64)
    for extent, step in zip(shape, stride, strict=True):
        if extent > 1:
            rest, c = np.divmod(rest, extent)
            out = out + c * step
    return out


_Mode = tuple[Any, Any, "int | None", "int | None"]


@lru_cache(maxsize=4096)
def _geometry(
    layout: LayoutAttr,
) -> tuple[int | None, int | None, int, tuple[_Mode, ...], Array | None]:
    """Of a layout: all elements, those of the first mode, neighbours, the other modes with the
    places of their dynamic integers, and the offsets if there are none of these."""
    shape, stride = list(_leaves(layout.shape)), list(_leaves(layout.stride))
    position = 0
    places: list[int | None] = []
    for leaf in (*shape, *stride):
        places.append(position if isinstance(leaf, Dyn) else None)
        position += isinstance(leaf, Dyn)
    # Modes of one element never move, whatever their stride is.
    modes = [
        (s, d, places[i], places[len(shape) + i])
        for i, (s, d) in enumerate(zip(shape, stride, strict=True))
        if s != 1
    ]
    run = 1
    while modes and modes[0][:2] == (modes[0][0], run) and modes[0][2] is None:
        run *= modes[0][0]
        modes = modes[1:]
    fixed: Array | None = None
    if all(a is None and b is None for _, _, a, b in modes):
        offsets = _offsets([m[0] for m in modes], [m[1] for m in modes])
        offsets.flags.writeable = False  # shared by all tiles of this layout
        fixed = offsets
    return layout.static_size(), _first(layout), run, tuple(modes), fixed


def _first(layout: LayoutAttr) -> int | None:
    size = 1
    for leaf in _leaves(layout.shape[0] if isinstance(layout.shape, tuple) else layout.shape):
        if isinstance(leaf, Dyn):
            return None
        size *= leaf
    return size


class Tile:
    """The elements of a layout as runs of neighbours.

    Args:
        op: the operation it belongs to, for messages.
        layout: shape and stride, with dynamic leaves.

    `run` elements lie next to each other from each of the offsets that `starts` gives; `length` is
    the number of all elements (None if dynamic) and `first` the size of the first mode.
    """

    def __init__(self, op: Op, layout: LayoutAttr) -> None:
        self.op = op
        self.length, self.first, self.run, self._modes, self.fixed = _geometry(layout)

    @property
    def step(self) -> int:
        """What is known to divide the distances between runs, in elements; 0 for a single run."""
        return math.gcd(*(d.div if isinstance(d, Dyn) else d for _, d, _, _ in self._modes))

    def starts(self, dyns: Sequence[Any]) -> Array:
        """Offsets of the runs, counted in elements: one axis, or three where lanes differ."""
        if self.fixed is not None:
            return self.fixed
        shape = [s if a is None else self._agreed(dyns[a]) for s, _, a, _ in self._modes]
        stride: list[Any] = []
        for _, d, _, b in self._modes:
            step = d if b is None else dyns[b]
            stride.append(step.astype(np.int64)[..., None] if type(step) is np.ndarray else step)
        return _offsets(shape, stride)

    def _agreed(self, size: Any) -> int:
        if type(size) is not np.ndarray:
            return int(size)
        first = int(size.flat[0])
        if (size != first).any():
            raise SimulationError(
                f"{self.op.name}: threads disagree on the shape of the tile",
                code="OC3008",
                loc=self.op.loc,
            )
        return first


def covers(op: Op, pointer: Value, count: int) -> bool:
    """Whether an operation writes all `count` elements at `pointer`, and nothing but that."""
    if op.name == "cute.tile_store" and op.operands[1] is pointer:
        layout, others = op.attributes["layout"], [op.operands[0]]
    elif isinstance(op, CopyOp) and op.dst is pointer and op.pred is None:
        layout, others = op.dst_layout, [op.src]
    else:
        return False
    assert isinstance(layout, LayoutAttr)
    tile = Tile(op, layout)
    if tile.fixed is None or pointer in others:
        return False
    every = (tile.fixed[:, None] + np.arange(tile.run)).ravel()
    return np.unique(every[(every >= 0) & (every < count)]).size == count


def int_attr(op: Op, key: str) -> int:
    """The value of an integer attribute."""
    value = op.attributes[key]
    assert isinstance(value, IntAttr)
    return value.value
