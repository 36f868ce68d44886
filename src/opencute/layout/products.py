# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products repeat a layout, the block, over another one, the tiler.

In: two layouts (the block may be composed), or a block and a target shape. Out::

    block, tiler = Layout((2, 5), (5, 1)), Layout((3, 4), (1, 3))
    logical_product(block, tiler)   # ((2,5),(3,4)):((5,1),(10,30))
    blocked_product(block, tiler)   # ((2,3),(5,4)):((5,10),(1,30))
    raked_product(block, tiler)     # ((3,2),(4,5)):((10,5),(30,1))
"""

from __future__ import annotations

from typing import Any

from opencute.layout.algebra import as_tiler, complement, composition, concatenate
from opencute.layout.arith import ceil_div, product_each
from opencute.layout.divides import by_mode, unzip_by
from opencute.layout.ints import (
    IntTuple,
    Shape,
    Tiler,
    fail,
    is_tuple,
    mul,
    normalize,
    to_str,
)
from opencute.layout.layout import Layout, make_ordered_layout
from opencute.layout.modes import append_ones, cosize, size, zip_modes
from opencute.layout.remembered import remembered
from opencute.layout.swizzle import ComposedLayout

__all__ = [
    "blocked_product",
    "flat_product",
    "logical_product",
    "raked_product",
    "tile_to_shape",
    "tiled_product",
    "zipped_product",
]


@remembered
def logical_product(block: Any, tiler: Tiler) -> Any:
    """`block` in mode 0, and in mode 1 where its copies start, arranged as `tiler`.

    A tuple of tilers works mode by mode; None keeps a mode.

    Args:
        block: the layout, or a tensor.
        tiler: a layout of copies; or a tuple with an extent, layout or None for each mode.

    Law: mode 0 is ``block``, mode 1 has the shape of ``tiler``, and no two copies overlap.

    Example:
        >>> cute.logical_product(cute.make_layout((2, 2)), cute.make_layout(3))
        Layout(((2,2),3):((1,2),4))
    """
    if isinstance(block, ComposedLayout):
        return block.with_outer(logical_product(block.outer, tiler))
    if tiler is None:
        return block
    tiler = as_tiler(tiler)
    if is_tuple(tiler):
        return by_mode(block, tiler, logical_product, "logical_product")
    over = tiler if isinstance(tiler, Layout) else Layout(tiler)
    places = complement(block, mul(size(block), cosize(over)))
    return concatenate([block, composition(places, over)])


def zipped_product(block: Any, tiler: Tiler) -> Any:
    """Like `logical_product`, with the block's modes in mode 0 and the copies' in mode 1.

    Args:
        block: the layout, or a tensor.
        tiler: as for `logical_product`.

    Law: the modes of ``logical_product``, regrouped.

    Example:
        >>> cute.zipped_product(cute.make_layout((2, 2)), cute.make_layout((3, 4)))
        Layout(((2,2),(3,4)):((1,2),(4,12)))
    """
    if isinstance(block, ComposedLayout):
        return block.with_outer(zipped_product(block.outer, tiler))
    return unzip_by(block, as_tiler(tiler), logical_product, "zipped_product")


def tiled_product(block: Any, tiler: Tiler) -> Any:
    """Like `zipped_product` with the copies unpacked: ``((M,N),TileM,TileN)``.

    Args:
        block: the layout, or a tensor.
        tiler: as for `logical_product`.

    Law: mode 0 is that of ``zipped_product``, the others are the modes of its mode 1.

    Example:
        >>> cute.tiled_product(cute.make_layout((2, 2)), cute.make_layout((3, 4)))
        Layout(((2,2),3,4):((1,2),4,12))
    """
    if isinstance(block, ComposedLayout):
        return block.with_outer(tiled_product(block.outer, tiler))
    first, copies = zipped_product(block, tiler)
    return concatenate([first, *copies])


def flat_product(block: Any, tiler: Tiler) -> Any:
    """Like `zipped_product` with both modes unpacked: ``(M,N,TileM,TileN)``.

    Args:
        block: the layout, or a tensor.
        tiler: as for `logical_product`.

    Law: the modes of both modes of ``zipped_product``.

    Example:
        >>> cute.flat_product(cute.make_layout((2, 2)), cute.make_layout((3, 4)))
        Layout((2,2,3,4):(1,2,4,12))
    """
    if isinstance(block, ComposedLayout):
        return block.with_outer(flat_product(block.outer, tiler))
    first, copies = zipped_product(block, tiler)
    return concatenate([*first, *copies])


def _paired(block: Layout, tiler: Any) -> tuple[Layout, Layout]:
    """The logical product of both at the same rank."""
    over = tiler if isinstance(tiler, Layout) else Layout(normalize(tiler))
    rank = max(block.rank, over.rank)
    first, copies = logical_product(append_ones(block, rank), append_ones(over, rank))
    return first, copies


@remembered
def blocked_product(block: Any, tiler: Any) -> Any:
    """Each element of `tiler` becomes a block: mode i is ``(block_i, tiler_i)``.

    Args:
        block: a layout.
        tiler: a layout of as many modes.

    Law: size is the product; the offsets are those of ``logical_product``.

    Example:
        >>> cute.blocked_product(cute.make_layout((2, 2)), cute.make_layout((3, 4)))
        Layout(((2,3),(2,4)):((1,4),(2,12)))
    """
    if isinstance(block, ComposedLayout):
        return block.with_outer(blocked_product(block.outer, tiler))
    first, copies = _paired(block, tiler)
    return zip_modes(concatenate([first, copies]))


def raked_product(block: Any, tiler: Any) -> Any:
    """Like `blocked_product` with the blocks interleaved: mode i is ``(tiler_i, block_i)``.

    Args:
        block: a layout.
        tiler: a layout of as many modes.

    Law: size is the product; the offsets are those of ``logical_product``.

    Example:
        >>> cute.raked_product(cute.make_layout((2, 2)), cute.make_layout((3, 4)))
        Layout(((3,2),(4,2)):((4,1),(12,2)))
    """
    if isinstance(block, ComposedLayout):
        return block.with_outer(raked_product(block.outer, tiler))
    first, copies = _paired(block, tiler)
    return zip_modes(concatenate([copies, first]))


def tile_to_shape(block: Any, target_shape: Shape, order: IntTuple = None) -> Any:
    """Repeat a block until it covers a shape.

    Args:
        block: a layout or composed layout.
        target_shape: the shape to cover; an extent that the block does not divide is rounded up.
        order: in which order the modes are repeated; the first fastest by default.

    Law: mode i has the size ``round_up(target_shape[i], block[i])`` and starts with the block's.

    Example:
        >>> cute.tile_to_shape(cute.make_layout((8, 8)), (16, 32), (0, 1))
        Layout(((8,2),(8,4)):((1,64),(8,128)))
    """
    if isinstance(block, ComposedLayout):
        return block.with_outer(tile_to_shape(block.outer, target_shape, order))
    target = product_each(normalize(target_shape))
    if block.rank > len(target):
        fail("OC1309", f"tile_to_shape: {block} has more modes than {to_str(target_shape)}")
    padded = append_ones(block, len(target))
    extents = product_each(padded.shape)
    copies = make_ordered_layout(ceil_div(target, extents), order)
    return blocked_product(padded, copies)
