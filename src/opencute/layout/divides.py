# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Divides split a layout into tiles; partitions pick one tile, or one element of each.

In: a layout or composed layout and a tiler. Out: layouts with the tile's modes first::

    a = Layout((9, (4, 8)), (59, (13, 1)))
    logical_divide(a, (3, 8))       # ((3,3),((4,2),4)):((59,177),((13,1),2))
    zipped_divide(a, (3, 8))        # ((3,(4,2)),(3,4)):((59,(13,1)),(177,2))
    local_tile(a, (3, 8), (1, 2))   # ((3,(4,2)):(59,(13,1)), 181)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute.layout.algebra import (
    as_tiler,
    check_tiler,
    coalesce,
    complement,
    composition,
    concatenate,
)
from opencute.layout.arith import ceil_div as divide_up
from opencute.layout.arith import product_each
from opencute.layout.ints import Coord, Tiler, fail, is_int, is_tuple, normalize, to_str
from opencute.layout.layout import Layout, normalize_coord
from opencute.layout.modes import slice_and_offset
from opencute.layout.remembered import remembered
from opencute.layout.swizzle import ComposedLayout
from opencute.layout.tuples import dice_tuple, flatten_to_tuple, repeat, wrap, zip2_by

__all__ = [
    "ceil_div",
    "flat_divide",
    "local_partition",
    "local_tile",
    "logical_divide",
    "tiled_divide",
    "unzip_by",
    "zipped_divide",
]


@remembered
def logical_divide(target: Any, tiler: Tiler) -> Any:
    """Split every mode that `tiler` names into (tile, rest); a single layout splits the whole.

    The rest of a mode that the tile does not divide is rounded up. None keeps a mode; modes that a
    short tuple does not reach stay as well.

    Args:
        target: a layout or tensor.
        tiler: a layout of a tile; or a tuple with an extent, layout or None for each mode.

    Law: mode 0 is ``composition(target, tiler)``, and both modes together reach all of the target.

    Raises:
        LayoutError: the tiler has too many modes, or does not divide as it must.

    Example:
        >>> cute.logical_divide(cute.make_layout((8, 6)), (4, 3))
        Layout(((4,2),(3,2)):((1,4),(8,24)))
    """
    if isinstance(target, ComposedLayout):
        return target.with_outer(logical_divide(target.outer, tiler))
    tiler = as_tiler(tiler)
    if tiler is None:
        return target
    if is_tuple(tiler):
        return by_mode(target, tiler, logical_divide, "logical_divide")
    tile = tiler if isinstance(tiler, Layout) else Layout(tiler)
    rest = complement(tile, coalesce(target).shape)
    return composition(target, concatenate([tile, rest]))


def by_mode(
    target: Layout, tiler: tuple[Any, ...], f: Callable[[Any, Any], Any], what: str
) -> Layout:
    """Apply `f` to the modes that a tuple tiler names, keep the others."""
    check_tiler(target, tiler, what)
    modes = [f(target[i], t) for i, t in enumerate(tiler)]
    modes += [target[i] for i in range(len(tiler), target.rank)]
    return concatenate(modes)


def unzip_by(target: Layout, tiler: Tiler, split: Callable[[Any, Any], Any], what: str) -> Layout:
    """Split at the leaves of a tiler and gather the tiles in mode 0, the rests in mode 1.

    Where the tiler has None, the tile is ``1:0`` and the rest is the whole mode.
    """
    if tiler is None:
        return concatenate([Layout(1, 0), target])
    if not is_tuple(tiler):
        return split(target, tiler)
    halves = by_mode(target, tiler, lambda a, t: unzip_by(a, t, split, what), what)
    flat_guide = repeat(0, len(tiler))
    shape = zip2_by(wrap(halves.shape), flat_guide)
    stride = zip2_by(wrap(halves.stride), flat_guide)
    return Layout.trusted(shape, stride)


@remembered
def zipped_divide(target: Any, tiler: Tiler) -> Any:
    """Like `logical_divide`, with the tile in mode 0 and all rests in mode 1.

    ``(M,N,L)`` by ``(TileM,TileN)`` is ``((TileM,TileN),(RestM,RestN,L))``.

    Args:
        target: a layout or tensor.
        tiler: as for `logical_divide`.

    Law: the tile and rest modes of ``logical_divide``, regrouped.

    Example:
        >>> cute.zipped_divide(cute.make_layout((8, 6)), (4, 3))
        Layout(((4,3),(2,2)):((1,8),(4,24)))
    """
    if isinstance(target, ComposedLayout):
        return target.with_outer(zipped_divide(target.outer, tiler))
    return unzip_by(target, as_tiler(tiler), logical_divide, "zipped_divide")


def tiled_divide(target: Any, tiler: Tiler) -> Any:
    """Like `zipped_divide` with the rests unpacked: ``((TileM,TileN),RestM,RestN,L)``.

    Args:
        target: a layout or tensor.
        tiler: as for `logical_divide`.

    Law: mode 0 is that of ``zipped_divide``, the others are the modes of its mode 1.

    Example:
        >>> cute.tiled_divide(cute.make_layout((8, 6)), (4, 3))
        Layout(((4,3),2,2):((1,8),4,24))
    """
    if isinstance(target, ComposedLayout):
        return target.with_outer(tiled_divide(target.outer, tiler))
    tile, rest = zipped_divide(target, tiler)
    return concatenate([tile, *rest])


def flat_divide(target: Any, tiler: Tiler) -> Any:
    """Like `zipped_divide` with both modes unpacked: ``(TileM,TileN,RestM,RestN,L)``.

    Args:
        target: a layout or tensor.
        tiler: as for `logical_divide`.

    Law: the modes of both modes of ``zipped_divide``.

    Example:
        >>> cute.flat_divide(cute.make_layout((8, 6)), (4, 3))
        Layout((4,3,2,2):(1,8,4,24))
    """
    if isinstance(target, ComposedLayout):
        return target.with_outer(flat_divide(target.outer, tiler))
    tile, rest = zipped_divide(target, tiler)
    return concatenate([*tile, *rest])


def ceil_div(target: Any, tiler: Tiler) -> Any:
    """How many tiles cover a shape: division rounded up, the rest mode of `logical_divide`.

    A tuple by a tuple divides mode by mode (missing modes of the tiler and None keep a mode); a
    tuple by an integer consumes the integer from left to right; an integer by a tuple of integers
    divides by its product; a layout divides as in `logical_divide`, whose checks are not made.

    Law: for integers the least quotient with ``ceil_div(a, b) * b >= a``; a tuple by an integer
    covers the tuple as long as the integer divides the modes it walks, or they it.
    """
    target = normalize(getattr(target, "shape", target))
    return _rest(target, as_tiler(tiler))


def _rest(target: Any, tiler: Any) -> Any:
    if isinstance(tiler, Layout):
        return complement(tiler, target).shape
    if tiler is None:
        return target
    if not is_tuple(tiler):
        return divide_up(target, tiler)
    if not is_tuple(target):
        if not all(map(is_int, flatten_to_tuple(tiler))):
            fail("OC1309", f"ceil_div: the tiler {to_str(tiler)} does not fit {to_str(target)}")
        return divide_up(target, tiler)
    if len(tiler) > len(target):
        fail("OC1309", f"ceil_div: {to_str(tiler)} has more modes than {to_str(target)}")
    return tuple(map(_rest, target, tiler + (None,) * (len(target) - len(tiler))))


def _pick(tiled: Any, keep: int, crd: Coord) -> tuple[Any, Any]:
    """Slice mode `keep` whole and the other mode at a coordinate; short tuples get None."""
    shape = tiled.shape
    other = shape[1 - keep]
    kept = repeat(None, len(shape[keep])) if is_tuple(shape[keep]) else None
    if is_tuple(crd):
        if not is_tuple(other) or len(crd) > len(other):
            fail("OC1308", f"the coordinate {to_str(crd)} does not fit the tiles {to_str(other)}",
                 expected=f"at most {len(wrap(other))} entries", found=to_str(crd))  # fmt: skip
        crd = crd + (None,) * (len(other) - len(crd))
    return slice_and_offset((kept, crd) if keep == 0 else (crd, kept), tiled)


def local_tile(target: Any, tiler: Tiler, coord: Coord, proj: Any = None) -> tuple[Any, Any]:
    """One tile of a layout, and the offset at which it starts.

    Args:
        target: a layout or composed layout.
        tiler: the tile, as in `zipped_divide`.
        coord: which tile; None entries and missing ones keep all tiles along a mode, after the
            tile's own modes.
        proj: entries of `tiler` and `coord` whose partner here is None are left out; entries of
            `coord` past its end, such as that of a batch, are kept.

    Law: the layout is mode 0 of ``zipped_divide`` if ``coord`` names one tile, and the offset is
    that of the tile's first element.
    """
    tiler, coord = as_tiler(tiler), normalize_coord(coord)
    if proj is not None:
        proj = normalize_coord(proj)
        tiler = dice_tuple(proj, tiler)
        if is_tuple(coord) and is_tuple(proj):
            proj = (*proj, *(1,) * (len(coord) - len(proj)))
        coord = dice_tuple(proj, coord)
    return _pick(zipped_divide(target, tiler), 0, coord)


def local_partition(target: Any, tiler: Any, index: Any, proj: Any = None) -> tuple[Any, Any]:
    """The elements that one thread of a thread layout gets in every tile, and their offset.

    Args:
        target: a layout or composed layout.
        tiler: the thread layout; the tile is its shape.
        index: the thread, an offset of the thread layout.
        proj: modes of the thread layout whose partner here is None are left out.

    Law: over all threads, the partitions share out the elements of the target.
    """
    if not isinstance(tiler, Layout):
        fail("OC1301", "local_partition needs a layout of threads", found=to_str(tiler))
    tile: Any = product_each(tiler.shape)
    crd = wrap(tiler.get_flat_coord(index))
    if proj is not None:
        proj = normalize_coord(proj)
        tile, crd = dice_tuple(proj, tile), dice_tuple(proj, crd)
    return _pick(zipped_divide(target, tile), 1, crd)
